"""A story of one Watch: its ticks and what became of its wakes, each with what is decided, from memory to memory."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from vigil.decision import decide, outcomes, questions
from vigil.model import failures, ids, limits, observations, readings, states, verdicts, wakes
from vigil.state import codec

UID = ids.WatchUid("w1")
DEFAULTS = limits.Limits()
MINUTE = 60.0
HOUR = 3600.0

WAKE = observations.Severity.WAKE
IMMEDIATE = observations.Severity.IMMEDIATE
TERMINAL = observations.Severity.TERMINAL
REVISION = observations.ResetsOn.REVISION
NEVER = observations.ResetsOn.NEVER
SUCCEEDED = observations.Outcome.SUCCEEDED
FAILED = observations.Outcome.FAILED

DELIVERED = wakes.WakeState.DELIVERED
NOTIFIED = wakes.WakeState.NOTIFIED
RECORDED = wakes.WakeState.RECORDED
WITHDRAWN = wakes.WakeState.WITHDRAWN
LOST = wakes.WakeState.LOST

UNIT = observations.Observation("red:unit", WAKE, REVISION)
E2E = observations.Observation("red:e2e", WAKE, REVISION)
COMMENT = observations.Observation("comment:7", WAKE, NEVER)
CONFLICT = observations.Observation("conflict", IMMEDIATE, REVISION)
READY = observations.Observation("ready", WAKE, REVISION, outcome=SUCCEEDED, claim=True)
MERGED = observations.Observation("merged", TERMINAL, NEVER, "it was merged", outcome=SUCCEEDED)
CLOSED = observations.Observation("closed", TERMINAL, NEVER, outcome=FAILED)

Reading: TypeAlias = observations.ReadingOf | Mapping[str, observations.ReadingOf]


def see(*seen: observations.Observation, **more: object) -> observations.ProbeResult:
    """A complete read of revision r1 with nothing pending, unless told otherwise."""
    return dataclasses.replace(observations.ProbeResult(seen, "r1"), **more)  # type: ignore[arg-type] # any field


def partly(*seen: observations.Observation, **more: object) -> observations.ProbeResult:
    """A read that is not complete."""
    return see(*seen, complete=False, **more)


def failed(category: str = "transient", **more: object) -> failures.Failure:
    """A read that failed."""
    failure = failures.Failure(failures.Category(category), "no answer")
    return dataclasses.replace(failure, **more)  # type: ignore[arg-type] # any field


def said(key: str, disposition: str, subject: str = "", question: str = "") -> wakes.DispositionOf:
    """What an agent says of an entry."""
    return wakes.DispositionOf(key, wakes.Disposition(disposition), subject, question=question)


def parked(*keys: str, question: str = "q1") -> tuple[wakes.DispositionOf, ...]:
    """An agent puts entries under one question."""
    return tuple(said(key, "parked", question=question) for key in keys)


def policy(**changes: object) -> limits.Limits:
    """The default limits with some fields of the policy changed."""
    return limits.Limits(policy=dataclasses.replace(limits.Policy(), **changes))  # type: ignore[arg-type] # any field


def budgets(**changes: object) -> limits.Limits:
    """The default limits with some budgets changed."""
    return limits.Limits(budgets=dataclasses.replace(limits.Budgets(), **changes))  # type: ignore[arg-type] # any field


@dataclasses.dataclass(frozen=True)
class Tick:
    """One tick: when it is, what was read, and the verdict in words."""

    at: float
    reading: Reading
    verdict: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """A session takes a version of the wake in flight, by default the newest."""

    sequence: int | None = None


@dataclasses.dataclass(frozen=True)
class End:
    """The outcome of the wake in flight, by default of its newest version."""

    state: wakes.WakeState = DELIVERED
    said: tuple[wakes.DispositionOf, ...] = ()
    tokens: int = 0
    sequence: int | None = None


@dataclasses.dataclass(frozen=True)
class Answer:
    """A person answers a question."""

    question: str = "q1"
    text: str = "do it"


@dataclasses.dataclass(frozen=True)
class Silence:
    """Somebody wants nothing to be told until then, or lifts that."""

    until: float | None


Happening: TypeAlias = Claim | End | Answer | Silence
Step: TypeAlias = Tick | Happening


@dataclasses.dataclass(frozen=True)
class Story:
    """A row of a table: what is claimed, and the steps that show it."""

    sentence: str
    steps: Sequence[Step]
    under: limits.Limits = DEFAULTS

    def __str__(self) -> str:
        return self.sentence


def tell(story: Story, state: states.State | None = None) -> states.State:
    """Play a story and give the memory at its end.

    Every memory on the way must survive its document, and every decision must come out the same a second time.
    """
    state = state or states.State(UID)
    latest: dict[ids.SubjectId, observations.ReadingOf] = {}
    for number, step in enumerate(story.steps):
        before = state
        if isinstance(step, Tick):
            reading = {ids.SubjectId(name): of for name, of in by_subject(step.reading).items()}
            made = decide.decide(reading, before, story.under, step.at)
            assert words(made.verdict) == step.verdict, f"step {number}, at {step.at / MINUTE:g} minutes"
            assert decide.decide(reading, before, story.under, step.at) == made
            state = made.state
            latest = reading
        else:
            state = happen(before, step, story.under, latest)
        assert codec.decode(codec.encode(state), UID) == state, f"step {number} does not survive its document"
    return state


def happen(
    state: states.State,
    step: Happening,
    limits_: limits.Limits,
    latest: Mapping[ids.SubjectId, observations.ReadingOf] = states.EMPTY,
) -> states.State:
    """The memory after what people do, or a claim or an outcome of the wake in flight."""
    if isinstance(step, Answer):
        return questions.answer(state, step.question, step.text, state.last_tick or 0.0)
    if isinstance(step, Silence):
        return dataclasses.replace(state, silence_until=step.until)
    flown = state.in_flight
    assert flown is not None, "no wake is in flight"
    sequence = flown.sequence if step.sequence is None else step.sequence
    if isinstance(step, Claim):
        return outcomes.claimed(state, flown.id, sequence)
    return outcomes.ended(state, outcome_of(flown, step, sequence), limits_, readings.shown(latest))


def outcome_of(flown: states.InFlight, end: End, sequence: int) -> wakes.OutcomeEvent:
    """What the sidecar says of the wake."""
    return wakes.OutcomeEvent(1, flown.id, UID, end.state, sequence, flown.decided_at, end.tokens, end.said)


def by_subject(reading: Reading) -> Mapping[str, observations.ReadingOf]:
    """The reading of a Watch of one subject, which is called `a`, or of several."""
    return reading if isinstance(reading, Mapping) else {"a": reading}


def words(verdict: verdicts.Verdict) -> str:
    """A verdict as a table says it: `quiet coalescing`, `wake converged: red:unit b#red:e2e`, `stop turns`."""
    if isinstance(verdict, verdicts.Quiet):
        return f"quiet {verdict.reason}"
    if isinstance(verdict, verdicts.Stop):
        return f"stop {verdict.reason}"
    keys = [_key(entry.identity) for entry in verdict.entries]
    kind = "wake" if isinstance(verdict, verdicts.Wake) else "terminal"
    return f"{kind} {verdict.reason}: {' '.join(keys)}"


def _key(identity: verdicts.Identity) -> str:
    return identity.key if identity.subject == "a" else f"{identity.subject}#{identity.key}"


def window(state: states.State) -> dict[str, float]:
    """What waits in the window, and since when."""
    return {_key(identity): member.since for identity, member in state.window.items()}


def present(state: states.State) -> set[str]:
    """What the wake in flight holds."""
    assert state.in_flight is not None
    return {_key(one.identity) for one in state.in_flight.present}


def stamps(state: states.State) -> dict[str, float]:
    """What was told, and when."""
    return {
        _key(identity): stamp.at for memory in state.subjects.values() for identity, stamp in memory.alerted.items()
    }


def dispositions(state: states.State) -> dict[str, str]:
    """What an agent said of entries."""
    return {
        _key(identity): one.disposition.value
        for memory in state.subjects.values()
        for identity, one in memory.dispositions.items()
    }
