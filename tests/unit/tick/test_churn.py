"""Facts about how a Watch goes round in circles."""

import dataclasses

import pytest

from vigil.model import ids, observations, states, verdicts, wakes
from vigil.tick import churn

A = ids.SubjectId("a")
NOTHING = states.Churn()


def read(revision: str, *keys: str, complete: bool = True) -> dict[ids.SubjectId, observations.ReadingOf]:
    """What one read shows."""
    shown = tuple(
        observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.NEVER) for key in keys
    )
    return {A: observations.ProbeResult(shown, revision, complete)}


def after(*readings: dict[ids.SubjectId, observations.ReadingOf]) -> states.Churn:
    """The facts after some reads."""
    facts = NOTHING
    for reading in readings:
        facts = churn.of_reading(facts, reading)
    return facts


def told(facts: states.Churn) -> list[str]:
    """The lines."""
    return list(churn.told(facts, {A: "gauge/a"}))


def test_a_key_that_cleared_and_failed_again_on_another_revision_is_a_relapse() -> None:
    facts = after(read("r1", "red"), read("r1"), read("r2", "red"), read("r2"), read("r3", "red"))
    assert told(facts)[0] == "gauge/a: red cleared and came back on another revision 2 times"


@pytest.mark.parametrize(
    "readings",
    [
        [read("r1", "red"), read("r1"), read("r1", "red")],
        [read("r1", "red"), read("r2", "red")],
        [read("r1", "red"), read("r1", complete=False), read("r2", "red")],
    ],
    ids=["on the same revision", "without clearing", "not shown by an incomplete read"],
)
def test_what_is_no_relapse(readings: list[dict[ids.SubjectId, observations.ReadingOf]]) -> None:
    assert not any("came back" in line for line in told(after(*readings)))


def test_what_stays_open_on_another_revision_and_clears_there_is_counted_from_there() -> None:
    facts = after(read("r1", "red"), read("r2", "red"), read("r2"), read("r2", "red"), read("r2"), read("r3", "red"))
    assert facts.relapses[A, "red"].count == 1


def test_the_revisions_since_the_fewest_open_entries_are_told_with_the_series() -> None:
    facts = after(
        read("r1", "a", "b"),
        read("r2", "a"),
        read("r2", "a", "c"),
        read("r2", "a"),
        read("r3", "a", "d"),
        read("r4", "a", "e"),
    )
    assert facts.series == ((A, "r1", 2), (A, "r2", 1), (A, "r3", 2), (A, "r4", 2))
    assert told(facts) == ["gauge/a: 2 revisions since the fewest open entries (2, 1, 2, 2)"]


def test_wakes_that_change_between_streams_are_counted() -> None:
    facts = NOTHING
    for key in ["ci", "ci", "review", "ci"]:
        seen = observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.NEVER)
        entry = verdicts.Entry(verdicts.Identity(A, key, None), seen)
        wake = verdicts.Wake((entry,), "", verdicts.WakeReason.CONVERGED)
        facts = churn.of_wake(facts, wake, lambda key: key)
    assert facts.alternations == 2
    assert told(facts) == ["the wakes changed between streams 2 times"]


@pytest.mark.parametrize(
    "verdict", [verdicts.Quiet(verdicts.QuietReason.PENDING), verdicts.Wake((), "", verdicts.WakeReason.BLIND)]
)
def test_what_tells_no_entry_is_of_no_stream(verdict: verdicts.Verdict) -> None:
    assert churn.of_wake(NOTHING, verdict, lambda key: key) is NOTHING


def outcome(*invariants: str) -> wakes.OutcomeEvent:
    """A completed wake with dispositions."""
    said = tuple(
        wakes.DispositionOf(f"k{n}", wakes.Disposition.DISPATCHED, invariant=name) for n, name in enumerate(invariants)
    )
    return wakes.OutcomeEvent(1, ids.WakeId("w"), ids.WatchUid("u"), wakes.WakeState.DELIVERED, 1, 0, 0, said)


def test_the_rounds_of_an_invariant_are_counted() -> None:
    facts = churn.of_outcome(churn.of_outcome(NOTHING, outcome("lint", "unit")), outcome("lint"))
    assert facts.rounds == {"lint": 2, "unit": 1}
    assert told(facts) == ["round 2 of lint"]
    assert churn.of_outcome(NOTHING, outcome("")) is NOTHING


def test_of_a_long_invariant_the_beginning_is_counted() -> None:
    facts = churn.of_outcome(churn.of_outcome(NOTHING, outcome("x" * 64 + "y")), outcome("x" * 64 + "z"))
    assert facts.rounds == {"x" * 64: 2}


def test_which_of_many_keys_are_kept_does_not_depend_on_the_process() -> None:
    facts = churn.of_reading(NOTHING, read("r1", *(f"k{n:02}" for n in reversed(range(60)))))
    assert [key for _, key in facts.relapses] == [f"k{n:02}" for n in range(churn.MAX_RELAPSES)]


def test_everything_is_bounded() -> None:
    facts = NOTHING
    for number in range(60):
        facts = churn.of_reading(facts, read(f"r{number}", *(f"k{n}" for n in range(100))))
        facts = churn.of_outcome(facts, outcome(f"i{number}"))
    assert len(facts.relapses) == churn.MAX_RELAPSES
    assert len(facts.series) == churn.MAX_SERIES
    assert len(facts.rounds) == churn.MAX_ROUNDS


def test_claims_are_no_churn() -> None:
    claim = observations.Observation(
        "ready",
        observations.Severity.WAKE,
        observations.ResetsOn.REVISION,
        outcome=observations.Outcome.SUCCEEDED,
        claim=True,
    )
    facts = churn.of_reading(NOTHING, {A: observations.ProbeResult((claim,), "r1")})
    assert facts == dataclasses.replace(NOTHING, series=((A, "r1", 0),), relapses={})
