"""What the rules of one tick work on: the reading, the memory as changed so far, and the verdict once there is one."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import Final

from vigil.decision import digests
from vigil.model import failures, ids, limits, observations, readings, states, verdicts

ACTIVE_GAP: Final[ids.Seconds] = 15 * limits.MINUTE
"""A longer gap between two ticks is not charged to the active time: nobody was looking."""

_TERMINAL: Final = observations.Severity.TERMINAL
_REVISION: Final = observations.ResetsOn.REVISION


@dataclasses.dataclass
class Step:
    """A tick between two rules: they change it in their order, and nobody outside of one decision ever sees it.

    `results` are the readings of live subjects that were read; `entries` what they show, by identity. `ends`, `claims`
    and `holds` are the entries that rules 4, 3 and 2 look at. `subjects` to `stall` are the memory, as in the state.

    `unserved` and `withheld` name the entries that no rule may deliver yet, `lapsed` the entries that are not shown and
    whose hold has to begin again, `news` what rule 8 leaves. `closed` means that nothing may leave in this tick.
    """

    prior: states.State
    reading: readings.Reading
    limits: limits.Limits
    now: ids.Instant
    results: dict[ids.SubjectId, observations.ProbeResult]
    subjects: dict[ids.SubjectId, states.SubjectState]
    window: dict[verdicts.Identity, states.Member]
    flown: states.InFlight | None
    owed: tuple[states.Sent, ...]
    owed_notice: bool
    ended: states.Ended | None
    unstamped: int
    forgotten: int
    blocked: states.Blocked | None
    stall: states.Stall | None
    floor: int
    floor_since: ids.Instant | None
    spent: states.Spent
    started: ids.Instant
    entries: dict[verdicts.Identity, observations.Observation] = dataclasses.field(
        default_factory=dict[verdicts.Identity, observations.Observation]
    )
    ends: list[verdicts.Identity] = dataclasses.field(default_factory=list[verdicts.Identity])
    claims: list[verdicts.Identity] = dataclasses.field(default_factory=list[verdicts.Identity])
    holds: dict[verdicts.Identity, ids.Seconds] = dataclasses.field(default_factory=dict[verdicts.Identity, float])
    unserved: set[verdicts.Identity] = dataclasses.field(default_factory=set[verdicts.Identity])
    lapsed: set[verdicts.Identity] = dataclasses.field(default_factory=set[verdicts.Identity])
    withheld: set[verdicts.Identity] = dataclasses.field(default_factory=set[verdicts.Identity])
    news: dict[verdicts.Identity, observations.Observation] = dataclasses.field(
        default_factory=dict[verdicts.Identity, observations.Observation]
    )
    closed: bool = False
    verdict: verdicts.Verdict | None = None

    def subject(self, subject: ids.SubjectId) -> states.SubjectState:
        """The memory of a subject as it is now, an empty one if it was never read."""
        return self.subjects.get(subject, states.NEW)

    @property
    def open_for_wakes(self) -> bool:
        """Whether a rule may still send something."""
        return self.verdict is None and not self.closed

    @property
    def silenced(self) -> bool:
        """Whether nothing but an end may leave."""
        return self.prior.silence_until is not None and self.now < self.prior.silence_until

    @functools.cached_property
    def complete(self) -> bool:
        """Whether all that lives was read, and wholly."""
        return len(self.results) == len(self.reading) and all(result.complete for result in self.results.values())

    @functools.cached_property
    def digest(self) -> str:
        """The digest of what is open in a complete read of all that lives: identities and revisions, no text, no time.

        A subject that rule 4 has just retired lives no longer.
        """
        live = {name: result for name, result in self.results.items() if self.subject(name).retired is None}
        revisions = frozenset((str(name), result.revision) for name, result in live.items())
        shown = self.entries if len(live) == len(self.results) else [one for one in self.entries if one.subject in live]
        return digests.open_digest(frozenset(shown), revisions)

    def of_subject(self, subject: ids.SubjectId) -> Iterator[verdicts.Entry]:
        """The open entries of one subject."""
        return (verdicts.Entry(one, seen) for one, seen in self.entries.items() if one.subject == subject)

    def deliverable(self) -> list[verdicts.Identity]:
        """Every open entry that rules 2 and 3 let pass, news or not."""
        return [one for one in self.entries if one not in self.unserved and one not in self.withheld]

    def keep(self, subject: ids.SubjectId, memory: states.SubjectState) -> None:
        """Change the memory of a subject, and count the stamps that it has no more: a repeat needs another id."""
        self.forgotten += len(self.subject(subject).alerted) - len(memory.alerted)
        self.subjects[subject] = memory

    def leave_window(self, gone: Iterable[verdicts.Identity]) -> None:
        """Take these out of the window."""
        for identity in gone:
            self.window.pop(identity, None)

    def state(self) -> states.State:
        """The memory for the next tick."""
        prior = self.prior
        return states.State(
            watch=prior.watch,
            subjects=self.subjects,
            window=self.window,
            spent=self.spent,
            in_flight=self.flown,
            unstamped=self.unstamped,
            forgotten=self.forgotten,
            owed=self.owed,
            owed_notice=self.owed_notice,
            started=self.started,
            last_tick=self.now,
            read_at={**prior.read_at, **dict.fromkeys(self.results, self.now)},
            ended=self.ended,
            silence_until=prior.silence_until,
            stall=self.stall,
            floor=self.floor,
            floor_since=self.floor_since,
            blocked=self.blocked,
            churn=prior.churn,
            generation=prior.generation,
            reset=prior.reset,
            purpose=prior.purpose,
        )


def begin(reading: readings.Reading, prior: states.State, limits_: limits.Limits, now: ids.Instant) -> Step:
    """Lay out one tick: what was read, and the counters that run whatever the verdict is.

    Starts in the future become now, since a clock can step back; a stamp in the future stays, and is stale.
    """
    live = {subject: of for subject, of in reading.items() if prior.subject(subject).retired is None}
    tick = Step(
        prior=prior,
        reading=live,
        limits=limits_,
        now=now,
        results={subject: of for subject, of in live.items() if isinstance(of, observations.ProbeResult)},
        subjects=dict(prior.subjects),
        window={
            one: member if member.since <= now else member._replace(since=now) for one, member in prior.window.items()
        },
        flown=prior.in_flight,
        owed=prior.owed,
        owed_notice=prior.owed_notice,
        ended=prior.ended,
        unstamped=prior.unstamped,
        forgotten=prior.forgotten,
        blocked=_blocked(live, prior.blocked, now),
        stall=_past_stall(prior.stall, now),
        floor=prior.floor,
        floor_since=prior.floor_since,
        spent=_active(prior, now),
        started=now if prior.started is None else min(prior.started, now),
    )
    for subject, of in live.items():
        _count(tick, subject, of)
    for subject, result in tick.results.items():
        _lay_out(tick, subject, result)
    _sort(tick)
    return tick


def _active(prior: states.State, now: ids.Instant) -> states.Spent:
    gap = now - prior.last_tick if prior.last_tick is not None else 0.0
    if not 0 < gap <= ACTIVE_GAP:
        return prior.spent
    return states.Spent(prior.spent.turns, prior.spent.tokens, prior.spent.active_time + gap)


def _past_stall(stall: states.Stall | None, now: ids.Instant) -> states.Stall | None:
    return stall if stall is None or stall.since <= now else dataclasses.replace(stall, since=now)


def _blocked(live: readings.Reading, before: states.Blocked | None, now: ids.Instant) -> states.Blocked | None:
    """Since when a failure stands that retrying does not heal; that is over once all can be read again."""
    errors = [of if isinstance(of, failures.Failure) else of.error for of in live.values()]
    troubles = [one for one in errors if one is not None]
    if not troubles or (before is None and all(one.heals for one in troubles)):
        return None
    return states.Blocked(now) if before is None else before


def _count(tick: Step, subject: ids.SubjectId, of: observations.ReadingOf) -> None:
    """Count a failed tick; any read ends the row of them."""
    memory = tick.subject(subject)
    if isinstance(of, failures.Failure):
        if of.counts:
            failing = tick.now if memory.failing is None else min(memory.failing, tick.now)
            tick.subjects[subject] = dataclasses.replace(memory, errors=memory.errors + 1, failing=failing)
    elif memory.errors or memory.failing is not None or memory.blind is not None:
        tick.subjects[subject] = dataclasses.replace(memory, errors=0, failing=None, blind=None)


def _lay_out(tick: Step, subject: ids.SubjectId, result: observations.ProbeResult) -> None:
    """Name the entries of a subject."""
    entries, revision = tick.entries, result.revision
    for seen in result.observations:
        identity = verdicts.Identity(subject, seen.key, revision if seen.resets_on is _REVISION else None, seen.episode)
        if identity in entries and _rank(entries[identity]) >= _rank(seen):
            continue
        entries[identity] = seen


def _sort(tick: Step) -> None:
    """Put the entries by for the rules that look at some of them only."""
    for identity, seen in tick.entries.items():
        if seen.severity is _TERMINAL:
            tick.ends.append(identity)
        if seen.claim:
            tick.claims.append(identity)
        if seen.hold:
            length = tick.limits.policy.settle if seen.hold == observations.SETTLE else seen.hold
            if length > 0:
                tick.holds[identity] = length


def _rank(seen: observations.Observation) -> tuple[bool, bool, bool, str]:
    """Which of two entries with one identity counts: the more urgent one, whatever the order they came in."""
    return (
        seen.severity is _TERMINAL,
        seen.severity is observations.Severity.IMMEDIATE,
        seen.outcome is observations.Outcome.FAILED,
        repr(seen),
    )
