"""The decision of one tick: an ordered list of rules. The list is the contract."""

import dataclasses
from collections.abc import Callable
from typing import Final

from vigil.decision import memos, rules, step
from vigil.model import ids, limits, readings, states, verdicts

CHAIN: Final[tuple[Callable[[step.Step], None], ...]] = (
    rules.revision,  # 1
    rules.hold,  # 2
    rules.withhold,  # 3
    rules.terminal,  # 4
    rules.budget,  # 5
    rules.mask,  # 8: what is news, which rule 6 asks
    rules.in_flight,  # 6
    rules.silence,  # 7
    rules.immediate,  # 9
    rules.coalesce,  # 10
    rules.floor,  # 11
    rules.stall,  # 12
    rules.blind,  # 13
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
    memos.refresh(tick)
    for rule in CHAIN:
        rule(tick)
    verdict = rules.quiet(tick) if tick.verdict is None else tick.verdict
    _count_quiet(tick, verdict)
    return Decision(verdict, tick.state())


def _count_quiet(tick: step.Step, verdict: verdicts.Verdict) -> None:
    """Rule 11 counts the quiet ticks in a row, whatever made them quiet."""
    if not isinstance(verdict, verdicts.Quiet) or tick.limits.policy.floor_ticks <= 0:
        tick.floor, tick.floor_since = 0, None
    else:
        tick.floor += 1
        tick.floor_since = tick.now if tick.floor_since is None else min(tick.floor_since, tick.now)
