"""Why a Watch is quiet, and when that changes: what is said of an entry is what the decision does with it."""

import dataclasses

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.unit.decision import histories, story
from tests.unit.decision.story import (
    COMMENT,
    HOUR,
    MERGED,
    MINUTE,
    READY,
    UNIT,
    Claim,
    End,
    Silence,
    Story,
    Tick,
    failed,
    parked,
    partly,
    said,
    see,
    tell,
)
from vigil.decision import decide
from vigil.model import ids, limits, observations, readings, states
from vigil.tick import explain

A = ids.SubjectId("a")
NEWS = story.policy(coalesce_window=0.0)
HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)
TOLD: list[story.Step] = [Tick(0, see(UNIT, COMMENT), "wake undelayed: comment:7 red:unit"), Claim()]


def why(
    steps: list[story.Step], reading: observations.ReadingOf, now: float, under: limits.Limits = story.DEFAULTS
) -> dict[str, explain.Why]:
    """What keeps each entry back after a story."""
    state = tell(Story("so far", steps, under))
    opened = explain.opened_by({A: reading}, state, under.policy)
    return {one.identity.key: one for one in explain.explain(state, opened, under, now).entries}


ROWS = [
    ("a hold", [Tick(0, see(HELD), "quiet holding")], see(HELD), 60, "missing:lint", "holding", 0, 300),
    (
        "a hold in an incomplete read",
        [Tick(0, see(HELD), "quiet holding")],
        partly(HELD),
        60,
        "missing:lint",
        "holding",
        0,
        None,
    ),
    ("a window", [Tick(0, see(UNIT), "quiet coalescing")], see(UNIT), 60, "red:unit", "coalescing", 0, 240),
    (
        "a window that is pending",
        [Tick(0, see(UNIT, pending=1), "quiet coalescing")],
        see(UNIT, pending=1),
        60,
        "red:unit",
        "coalescing",
        0,
        1800,
    ),
    (
        "a NEVER entry in it",
        [Tick(0, see(COMMENT, pending=1), "quiet coalescing")],
        see(COMMENT, pending=1),
        60,
        "comment:7",
        "coalescing",
        0,
        240,
    ),
    (
        "a member that cannot be read",
        [Tick(0, see(UNIT), "quiet coalescing")],
        failed(),
        60,
        "red:unit",
        "unreadable",
        0,
        None,
    ),
    (
        "a member that is not shown",
        [Tick(0, see(COMMENT), "quiet coalescing")],
        see(),
        60,
        "comment:7",
        "coalescing",
        0,
        240,
    ),
    (
        "a silence",
        [Silence(HOUR), Tick(0, see(UNIT), "quiet silenced")],
        see(UNIT),
        60,
        "red:unit",
        "silenced",
        None,
        HOUR,
    ),
    ("a claim", [Tick(0, see(UNIT, READY), "quiet withheld")], see(UNIT, READY), 60, "ready", "withheld", None, None),
    (
        "a claim in an incomplete read",
        [Tick(0, see(READY), "quiet coalescing")],
        partly(READY),
        60,
        "ready",
        "withheld",
        None,
        None,
    ),
    ("nothing yet", [], see(UNIT), 60, "red:unit", "news", None, None),
]


@pytest.mark.parametrize(
    ("_sentence", "steps", "reading", "now", "key", "because", "since", "until"), ROWS, ids=[row[0] for row in ROWS]
)
def test_what_keeps_an_entry_back(
    _sentence: str,
    steps: list[story.Step],
    reading: observations.ReadingOf,
    now: float,
    key: str,
    because: str,
    since: float | None,
    until: float | None,
) -> None:
    found = why(steps, reading, now)[key]
    assert (found.because.value, found.fact.since, found.fact.until) == (because, since, until)


@pytest.mark.parametrize(
    ("then", "because", "text"),
    [
        ([], "in-flight", "in the wake in flight"),
        ([End()], "told", "told, and nobody has disposed of it"),
        ([End(said=(said("red:unit", "dispatched"),))], "handled", "dispatched, until it is about something else"),
        ([End(said=(said("red:unit", "claimed"),))], "handled", "claimed: somebody is at work on it"),
        ([End(said=parked("red:unit"))], "parked", "under the question q1"),
    ],
)
def test_what_became_of_an_entry(then: list[story.Step], because: str, text: str) -> None:
    found = why([*TOLD, *then], see(UNIT, COMMENT), 60, NEWS)["red:unit"]
    assert (found.because.value, found.fact.text) == (because, text)


def test_what_was_told_says_when_it_is_told_again() -> None:
    found = why([*TOLD, End()], see(UNIT, COMMENT), 60, NEWS)["red:unit"]
    assert (found.fact.since, found.fact.until) == (0, 6 * HOUR)


def test_a_claim_names_what_it_waits_for() -> None:
    steps: list[story.Step] = [*TOLD, End(said=(*parked("comment:7"), said("red:unit", "dispatched")))]
    found = why(steps, see(UNIT, COMMENT, READY), 60, NEWS)["ready"]
    assert found.fact.text == "a claim, and still open: comment:7, the question q1"


def test_after_the_end_nothing_is_told() -> None:
    steps: list[story.Step] = [Tick(0, {"a": see(UNIT), "b": see()}, "quiet coalescing")]
    state = dataclasses.replace(tell(Story("so far", steps)), ended=observations.Outcome.FAILED)
    opened = explain.opened_by({A: see(UNIT)}, state, limits.Policy())
    told = explain.explain(state, opened, story.DEFAULTS, 60)
    assert [one.because.value for one in told.entries] == ["ended"]
    assert told.facts[0].text == "ended: failed"


def test_a_hold_of_which_only_the_memory_knows_has_no_end() -> None:
    state = tell(Story("held", [Tick(0, see(HELD), "quiet holding")]))
    (identity,) = state.subject(A).held
    (found,) = explain.explain(state, [explain.Open(identity)], story.DEFAULTS, 60).entries
    assert (found.because, found.fact.since, found.fact.until) == (explain.Because.HOLDING, 0, None)


def facts(state: states.State, under: limits.Limits, now: float) -> list[tuple[str, float | None, float | None]]:
    """What is so of the whole Watch."""
    return [(one.text, one.since, one.until) for one in explain.explain(state, [], under, now).facts]


def test_the_facts_about_the_watch() -> None:
    under = limits.Limits(
        limits.Policy(coalesce_window=0.0, floor_ticks=3, blind_after=1),
        limits.Budgets(turns=8, tokens=None, provider_errors=None, active_time=600.0, lifetime=HOUR),
    )
    both: story.Reading = {"a": see(UNIT), "b": failed()}
    steps: list[story.Step] = [
        Tick(0, both, "wake undelayed: red:unit"),
        Claim(),
        End(said=parked("red:unit"), tokens=5),
        Tick(MINUTE, both, "wake blind: "),
        End(),
        Silence(HOUR),
        Tick(2 * MINUTE, {"a": see(UNIT), "b": failed("auth")}, "quiet unreadable"),
    ]
    state = tell(Story("much", steps, under))
    assert facts(state, under, 2 * MINUTE) == [
        ("silenced", None, HOUR),
        ("the question q1 waits for an answer", None, None),
        ("1 of 3 quiet reads before the floor", 120, None),
        ("it cannot be read, and retrying does not heal that", 120, None),
        ("b: 2 reads in a row failed", 0, None),
        ("b: told that it is blind", 60, 60 + 6 * HOUR),
        ("2 of 8 turns and 5 tokens are spent", None, None),
        ("120 of 600 seconds of active time are spent", None, None),
        ("alive", 0, HOUR),
    ]


def test_the_stall_the_wake_in_flight_and_what_has_ended_are_facts() -> None:
    both: story.Reading = {"a": see(MERGED), "b": see()}
    state = tell(Story("ended", [Tick(0, both, "terminal succeeded: merged"), Claim()]))
    told = [text for text, _, _ in facts(state, story.DEFAULTS, 60)]
    assert told[0] == "the wake in flight (succeeded) is with a session, and nothing else leaves"
    assert "a has ended: succeeded" in told
    quiet = tell(Story("stall", [Tick(0, see(), "quiet nothing-open")]))
    assert facts(quiet, story.DEFAULTS, 60)[0] == (
        "1 of 12 settled reads showed the same open entries; no stall",
        0,
        72 * HOUR,
    )
    assert "is spent" not in " ".join(told)


one_entry = st.builds(
    lambda entry, revision, pending: observations.ProbeResult((entry,), revision, pending=pending),
    histories.entries(),
    st.sampled_from(histories.REVISIONS),
    st.sampled_from([0, 0, 2]),
)


@hypothesis.given(histories.anything, one_entry, histories.policies)
@hypothesis.settings(
    max_examples=150, deadline=None, phases=[one for one in hypothesis.Phase if one is not hypothesis.Phase.explain]
)
def test_what_keeps_an_entry_back_does_so_until_the_time_that_is_told_and_no_longer(
    history: list[histories.Round], result: observations.ProbeResult, policy: limits.Policy
) -> None:
    """Whatever happened before: from then on the same is read, and nobody does anything."""
    under = limits.Limits(
        dataclasses.replace(policy, stall_action=limits.StallAction.OFF, floor_ticks=0), histories.endless
    )
    *_, last = histories.play(history, under)
    subject, other = histories.SUBJECTS
    nothing = observations.ProbeResult((), last.made.state.subject(other).revision or "r1")
    now = last.now + 1
    made = decide.decide({subject: result, other: nothing}, last.made.state, under, now)
    reading = {
        name: of for name, of in ((subject, result), (other, nothing)) if made.state.subject(name).retired is None
    }
    hypothesis.assume(made.state.ended is None and subject in reading)
    before = {one.identity: one for one in _explained(made.state, reading, under, now).entries}
    for identity, found in before.items():
        until = found.fact.until
        if until is None:
            continue
        assert until > now or found.because is explain.Because.COALESCING
        early = {one.identity: one for one in _explained(made.state, reading, under, max(until - 0.5, now)).entries}
        assert early[identity].because is found.because
        later = decide.decide(reading, made.state, under, max(until, now))
        after = {one.identity: one for one in _explained(later.state, reading, under, max(until, now)).entries}
        told = identity in histories.delivered(later.verdict)
        if histories.delivered(later.verdict) and not told:
            # An end whose hold was served meanwhile goes alone.
            continue
        assert told or identity not in after or after[identity].because is not found.because


def _explained(state: states.State, reading: readings.Reading, under: limits.Limits, now: float) -> explain.Explanation:
    return explain.explain(state, explain.opened_by(reading, state, under.policy), under, now)
