"""What the rules of one tick work on: the reading, the memory as changed so far, and the verdict once there is one."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from vigil.model import failures, ids, limits, observations, readings, states, verdicts

ACTIVE_GAP: ids.Seconds = 15 * limits.MINUTE
"""A longer gap between two ticks is not charged to the active time: nobody was looking."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A tick between two rules.

    `results` are the readings of live subjects that were read; `entries` what they show, by identity. `unserved` and
    `withheld` name the entries that no rule may deliver yet, `contradicted` the subjects whose claims are withheld,
    `lapsed` the entries that are not shown and whose hold has to begin again. `closed` means that nothing may leave in
    this tick any more.
    """

    reading: readings.Reading
    limits: limits.Limits
    now: ids.Instant
    state: states.State
    results: Mapping[ids.SubjectId, observations.ProbeResult]
    entries: Mapping[verdicts.Identity, verdicts.Entry]
    unserved: frozenset[verdicts.Identity] = frozenset()
    lapsed: frozenset[verdicts.Identity] = frozenset()
    withheld: frozenset[verdicts.Identity] = frozenset()
    contradicted: frozenset[ids.SubjectId] = frozenset()
    news: Mapping[verdicts.Identity, verdicts.Entry] = states.EMPTY
    closed: bool = False
    verdict: verdicts.Verdict | None = None

    def with_state(self, **changes: Any) -> "Step":
        """The same step with some fields of the state changed."""
        return dataclasses.replace(self, state=dataclasses.replace(self.state, **changes))

    def with_subjects(self, changes: Mapping[ids.SubjectId, states.SubjectState]) -> "Step":
        """The same step with the memory of some subjects changed."""
        return self.with_state(subjects={**self.state.subjects, **changes}) if changes else self

    @property
    def open_for_wakes(self) -> bool:
        """Whether a rule may still send something."""
        return self.verdict is None and not self.closed

    def of_subject(self, subject: ids.SubjectId) -> Iterator[verdicts.Entry]:
        """The open entries of one subject."""
        return (entry for identity, entry in self.entries.items() if identity.subject == subject)


def begin(reading: readings.Reading, prior: states.State, limits_: limits.Limits, now: ids.Instant) -> Step:
    """Lay out one tick: what was read, and the counters that run whatever the verdict is."""
    live = {subject: of for subject, of in reading.items() if prior.subject(subject).retired is None}
    results = {subject: of for subject, of in live.items() if isinstance(of, observations.ProbeResult)}
    return Step(
        reading=live,
        limits=limits_,
        now=now,
        state=_counted(live, prior, now),
        results=results,
        entries={entry.identity: entry for subject, result in results.items() for entry in _entries(subject, result)},
    )


def _entries(subject: ids.SubjectId, result: observations.ProbeResult) -> Iterator[verdicts.Entry]:
    for seen in result.observations:
        yield verdicts.Entry(verdicts.identify(subject, result, seen), seen)


def _counted(live: readings.Reading, prior: states.State, now: ids.Instant) -> states.State:
    """The state with its counters moved on; stamps of the future become now, since a clock can step back."""
    gap = now - prior.last_tick if prior.last_tick is not None else 0.0
    active = gap if 0 < gap <= ACTIVE_GAP else 0.0
    rows = {subject: _row(prior.subject(subject), of) for subject, of in live.items()}
    changed = {subject: memory for subject, memory in rows.items() if memory is not prior.subject(subject)}
    window = {
        identity: member if member.since <= now else dataclasses.replace(member, since=now)
        for identity, member in prior.window.items()
    }
    return dataclasses.replace(
        prior,
        subjects={**prior.subjects, **changed},
        window=window,
        spent=dataclasses.replace(prior.spent, active_time=prior.spent.active_time + active),
        started=now if prior.started is None else min(prior.started, now),
        last_tick=now,
    )


def _row(memory: states.SubjectState, of: observations.ReadingOf) -> states.SubjectState:
    if not isinstance(of, failures.Failure):
        return dataclasses.replace(memory, errors=0) if memory.errors else memory
    return dataclasses.replace(memory, errors=memory.errors + 1) if of.counts else memory
