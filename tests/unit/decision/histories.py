"""Any history of a Watch: reads of two subjects over time, and what sessions make of its wakes."""

import dataclasses
from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from tests.unit.decision import story
from vigil.decision import decide
from vigil.model import failures, ids, limits, observations, states, verdicts, wakes

SUBJECTS = (ids.SubjectId("a"), ids.SubjectId("b"))
REVISIONS = ("r1", "r2")

_HOLDS: st.SearchStrategy[observations.Hold] = st.sampled_from([0, 0, 0, 120.0, observations.SETTLE])


@dataclasses.dataclass(frozen=True)
class Round:
    """Time passes, the subjects are read, and something may become of the wake in flight."""

    passes: float
    reading: dict[ids.SubjectId, observations.ReadingOf]
    then: story.Happening | None = None


@dataclasses.dataclass(frozen=True)
class Moment:
    """One tick as it was decided."""

    now: float
    before: states.State
    reading: dict[ids.SubjectId, observations.ReadingOf]
    made: decide.Decision


@st.composite
def entries(draw: st.DrawFn) -> observations.Observation:
    """An entry of any kind, of few names."""
    severity = draw(st.sampled_from([story.WAKE] * 6 + [story.IMMEDIATE] * 2 + [story.TERMINAL]))
    claim = draw(st.sampled_from([False, False, False, True]))
    ends = claim or severity is story.TERMINAL
    return observations.Observation(
        key=draw(st.sampled_from(["k1", "k2", "k3"])),
        severity=severity,
        resets_on=draw(st.sampled_from(list(observations.ResetsOn))),
        brief=draw(st.sampled_from(["", "so it is"])),
        outcome=draw(st.sampled_from(list(observations.Outcome))) if ends else None,
        claim=claim,
        hold=draw(_HOLDS),
        episode=draw(st.sampled_from(["", "", "2"])),
        detail=draw(st.sampled_from(["", "", "d2"])),
    )


@st.composite
def results(draw: st.DrawFn) -> observations.ProbeResult:
    """A read that shows each identity once."""
    shown = draw(st.lists(entries(), max_size=4, unique_by=lambda one: (one.key, one.resets_on, one.episode)))
    return observations.ProbeResult(
        tuple(shown),
        revision=draw(st.sampled_from(REVISIONS)),
        complete=draw(st.sampled_from([True, True, True, False])),
        pending=draw(st.sampled_from([0, 0, 2])),
        activity=draw(st.sampled_from(["", "", "x"])),
    )


failed = st.builds(
    failures.Failure,
    st.sampled_from(list(failures.Category)),
    st.just("no answer"),
    st.none() | st.just(60.0),
    st.booleans(),
)
readings_of = st.one_of(results(), results(), results(), failed)

said = st.builds(
    wakes.DispositionOf,
    st.sampled_from(["k1", "k2", "k3"]),
    st.sampled_from(list(wakes.Disposition)),
    st.sampled_from(["", "a"]),
    question=st.sampled_from(["q1", "q2"]),
)

claims = st.builds(story.Claim, st.none() | st.integers(0, 3))
ends = st.builds(
    story.End,
    st.sampled_from(sorted(wakes.OUTCOMES)),
    st.lists(said, max_size=2).map(tuple),
    st.integers(0, 100),
    st.none() | st.integers(0, 3),
)
told = st.just(story.End())
answers = st.builds(story.Answer, st.sampled_from(["q1", "q2", "none"]))
silences = st.builds(story.Silence, st.sampled_from([None, 1e9 + 600, 1e9 + 7 * story.HOUR]))

policies = st.builds(
    limits.Policy,
    realert_after=st.sampled_from([0.0, 600.0, 6 * story.HOUR]),
    coalesce_window=st.sampled_from([0.0, 240.0]),
    coalesce_max=st.sampled_from([60.0, 1800.0]),
    settle=st.sampled_from([0.0, 300.0]),
    floor_ticks=st.sampled_from([0, 0, 1, 3]),
    blind_after=st.sampled_from([0, 1, 2, 6]),
    stall_ticks=st.sampled_from([1, 2, 12]),
    stall_min_duration=st.sampled_from([0.0, 600.0, 72 * story.HOUR]),
    stall_action=st.sampled_from(list(limits.StallAction)),
    on_first_observation=st.sampled_from(list(limits.FirstObservation)),
    confirm=st.sampled_from(list(limits.Confirm)),
)
budgets = st.builds(
    limits.Budgets,
    turns=st.none() | st.integers(0, 4),
    tokens=st.none() | st.integers(0, 200),
    provider_errors=st.none() | st.integers(1, 4),
    active_time=st.none() | st.just(3600.0),
    lifetime=st.none() | st.sampled_from([600.0, 168 * story.HOUR]),
)
endless = limits.Budgets(turns=None, tokens=None, provider_errors=None, lifetime=None)
all_limits = st.builds(limits.Limits, policies, budgets, st.booleans())

forward = st.sampled_from([1.0, 60.0, 120.0, 240.0, 301.0, 1800.0, 7 * story.HOUR])
any_way = st.one_of(forward, st.sampled_from([0.0, -1.0, -600.0, -8 * story.HOUR]))


def rounds(
    passes: st.SearchStrategy[float], then: st.SearchStrategy[story.Happening | None]
) -> st.SearchStrategy[list[Round]]:
    """Histories of some rounds."""
    reading = st.fixed_dictionaries(dict.fromkeys(SUBJECTS, readings_of))
    return st.lists(st.builds(Round, passes, reading, then), min_size=1, max_size=14)


anything = rounds(any_way, st.one_of(st.none(), st.none(), claims, ends, told, answers, silences))


def play(history: Sequence[Round], under: limits.Limits, start: float = 1e9) -> Iterator[Moment]:
    """Every tick of a history; a Watch that has ended is read no more, and a retired subject neither."""
    state, now = states.State(story.UID), start
    for one in history:
        now += one.passes
        live = {name: of for name, of in one.reading.items() if state.subject(name).retired is None}
        reading = live if state.ended is None else {}
        made = decide.decide(reading, state, under, now)
        yield Moment(now, state, reading, made)
        state = made.state
        of_a_wake = isinstance(one.then, story.Claim | story.End)
        if one.then is not None and not (of_a_wake and state.in_flight is None):
            state = story.happen(state, one.then, under, reading)


def delivered(verdict: verdicts.Verdict) -> set[verdicts.Identity]:
    """What a verdict sends."""
    if isinstance(verdict, verdicts.Wake | verdicts.Terminal):
        return {entry.identity for entry in verdict.entries}
    return set()
