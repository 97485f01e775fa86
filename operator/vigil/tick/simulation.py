"""A policy tried on a made-up course of events, with the delivery that it tells. Pure.

1. A step first says what became of the wake in flight, then what was answered, then until when nothing may be told.
2. A wake of which no step said anything was claimed at once, and has an outcome just before the next tick.
3. Only a step with readings is a tick. After the end nothing is read, and a last wake has its outcome in any next step.
"""

import dataclasses
import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias, assert_never

from vigil.decision import decide, flight, outcomes, questions
from vigil.model import failures, ids, limits, observations, readings, states, verdicts, wakes
from vigil.tick import phase as phases

_UID: Final = ids.WatchUid("scenario")


class Delivered(enum.StrEnum):
    """What becomes of the wake in flight; the first two last until a later step, the others are outcomes."""

    QUEUED = "Queued"
    CLAIMED = "Claimed"
    COMPLETED = "Completed"
    NOTIFIED = "Notified"
    LOST = "Lost"


_OUTCOMES: Final = {
    Delivered.COMPLETED: wakes.WakeState.DELIVERED,
    Delivered.NOTIFIED: wakes.WakeState.NOTIFIED,
    Delivered.LOST: wakes.WakeState.LOST,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Delivery:
    """What a step says of the wake in flight."""

    state: Delivered
    tokens: int = 0
    dispositions: tuple[wakes.DispositionOf, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """What a step shows of a subject; `revision` is None for the last one."""

    result: observations.ProbeResult
    revision: str | None = None


Shown: TypeAlias = Seen | failures.Failure


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """One step, `at` seconds after the start.

    `readings` are those of the subjects that it names, None where it reads nothing and decides nothing; a subject that
    it does not name repeats its last one. `answer` is a question and a text, `silence_until` in seconds from the start.
    """

    at: ids.Instant
    readings: Mapping[ids.SubjectId, Shown] | None = None
    delivery: Delivery | None = None
    answer: tuple[str, str] | None = None
    silence_until: ids.Instant | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """How the Watch stands after a step.

    `verdict` is None where nothing was decided, and after the end. `reading` is the latest one of each live subject
    that was ever read. `missed` says that the step tells of a wake and none was in flight.
    """

    at: ids.Instant
    verdict: verdicts.Verdict | None
    state: states.State
    reading: Mapping[ids.SubjectId, observations.ReadingOf]
    phase: phases.Phase
    missed: bool = False

    @property
    def provider_errors(self) -> int:
        """The longest row of failed ticks now."""
        return max((memory.errors for memory in self.state.subjects.values() if memory.retired is None), default=0)

    @property
    def identities(self) -> tuple[verdicts.Identity, ...]:
        """What the verdict sends."""
        if isinstance(self.verdict, verdicts.Wake | verdicts.Terminal):
            return tuple(entry.identity for entry in self.verdict.entries)
        return ()


def run(steps: Sequence[Step], subjects: Sequence[ids.SubjectId], under: limits.Limits) -> Iterator[Result]:
    """Play the steps of a scenario over these subjects."""
    course = _Course(subjects, under)
    for step in steps:
        yield course.play(step)


class _Course:
    """A scenario under way."""

    def __init__(self, subjects: Sequence[ids.SubjectId], under: limits.Limits) -> None:
        self._under = under
        # A subject that no step has shown yet is alive: the Watch does not end without it.
        self._state = states.State(_UID, subjects=dict.fromkeys(subjects, states.NEW), started=0.0)
        self._reading: dict[ids.SubjectId, observations.ReadingOf] = {}
        self._revisions: dict[ids.SubjectId, str] = {}
        self._verdict: verdicts.Verdict | None = None
        self._kept: ids.WakeId | None = None
        """The wake that a step put on hold as Queued or Claimed."""

    def play(self, step: Step) -> Result:
        missed = step.delivery is not None and self._wake is None
        if step.delivery is not None:
            self._deliver(step.delivery, step.at)
        if step.answer is not None:
            self._state = questions.answer(self._state, *step.answer, step.at)
        if step.silence_until is not None:
            self._state = dataclasses.replace(self._state, silence_until=step.silence_until)
        over = self._state.ended is not None
        if step.readings is not None or over:
            self._complete(step.at)
        decided = None if step.readings is None else self._decide(step.readings, step.at)
        verdict = None if over else decided
        self._verdict = verdict or self._verdict
        live = {name: of for name, of in self._reading.items() if self._lives(name)}
        return Result(step.at, verdict, self._state, live, phases.of(self._state, self._verdict, live), missed)

    @property
    def _wake(self) -> states.InFlight | None:
        """The wake in flight; that a Watch is Blocked is told beside all wakes, and no step is about it."""
        flown = self._state.in_flight
        return None if flown is None or flown.current.reason == flight.BLOCKED else flown

    def _lives(self, name: ids.SubjectId) -> bool:
        return self._state.subject(name).retired is None

    def _deliver(self, said: Delivery, at: ids.Instant) -> None:
        flown = self._wake
        if flown is None:
            return
        self._kept = flown.id
        match said.state:
            case Delivered.QUEUED:
                self._state = dataclasses.replace(self._state, in_flight=dataclasses.replace(flown, claimed=None))
            case Delivered.CLAIMED:
                self._state = outcomes.claimed(self._state, flown.id, flown.sequence)
            case Delivered.COMPLETED | Delivered.NOTIFIED | Delivered.LOST:
                self._end(flown, _OUTCOMES[said.state], at, said)
            case _:
                assert_never(said.state)

    def _complete(self, at: ids.Instant) -> None:
        """A wake of which no step said anything was claimed at once, and is completed just before the next tick."""
        flown = self._state.in_flight
        if flown is not None and flown.id != self._kept:
            self._end(flown, wakes.WakeState.DELIVERED, at, Delivery(Delivered.COMPLETED))

    def _end(self, flown: states.InFlight, state: wakes.WakeState, at: ids.Instant, said: Delivery) -> None:
        sequence = flown.sequence if flown.claimed is None else flown.claimed
        event = wakes.OutcomeEvent(0, flown.id, _UID, state, sequence, at, said.tokens, said.dispositions)
        self._state = outcomes.ended(self._state, event, self._under, readings.shown(self._reading))
        self._kept = None

    def _decide(self, shown: Mapping[ids.SubjectId, Shown], at: ids.Instant) -> verdicts.Verdict:
        self._reading |= {name: self._read(name, of) for name, of in shown.items() if self._lives(name)}
        reading: dict[ids.SubjectId, observations.ReadingOf] = {}
        for name, of in self._reading.items():
            # An error that repeats leaves the subject unread and is no failed tick, as one of a whole group is none.
            reading[name] = of if name in shown else _shared(of)
        # A Watch that has ended is read no more; an end of which nobody was told is offered again all the same.
        made = decide.decide(reading if self._state.ended is None else {}, self._state, self._under, at)
        self._state = made.state
        return made.verdict

    def _read(self, name: ids.SubjectId, shown: Shown) -> observations.ReadingOf:
        if isinstance(shown, failures.Failure):
            return shown
        revision = self._revisions.get(name, "") if shown.revision is None else shown.revision
        self._revisions[name] = revision
        return dataclasses.replace(shown.result, revision=revision)


def _shared(of: observations.ReadingOf) -> observations.ReadingOf:
    return dataclasses.replace(of, shared=True) if isinstance(of, failures.Failure) else of
