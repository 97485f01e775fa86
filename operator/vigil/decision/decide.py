"""The decision of one tick: an ordered list of rules. The list is the contract."""

import dataclasses
from collections.abc import Callable
from typing import Final

from vigil.decision import rules, step
from vigil.model import ids, limits, readings, states, verdicts

CHAIN: Final[tuple[Callable[[step.Step], step.Step], ...]] = (
    rules.revision,
    rules.hold,
    rules.withhold,
    rules.terminal,
    rules.budget,
    rules.mask,
    rules.in_flight,
    rules.immediate,
    rules.coalesce,
)


@dataclasses.dataclass(frozen=True, slots=True)
class Decision:
    """What to do now, and what to remember."""

    verdict: verdicts.Verdict
    state: states.State


def decide(entries: readings.Reading, prior_state: states.State, limits_: limits.Limits, now: ids.Instant) -> Decision:
    """Decide one tick of one Watch from its arguments alone.

    `entries` has a result or a failure for every live subject. The verdict is never None; the state is the memory for
    the next tick, with the wake that the verdict asks for in flight.
    """
    tick = step.begin(entries, prior_state, limits_, now)
    for rule in CHAIN:
        tick = rule(tick)
    return Decision(rules.quiet(tick) if tick.verdict is None else tick.verdict, tick.state)
