"""The values hold what they say and nothing else."""

import dataclasses

import pytest

from vigil.model import failures, ids, limits, observations, states, verdicts, wakes

A = ids.SubjectId("a")
WAKE = observations.Severity.WAKE
REVISION = observations.ResetsOn.REVISION

# category, whether trying again can help, whether it counts as a provider error
CATEGORIES = [
    ("throttled", True, False),
    ("transient", True, True),
    ("timeout", True, True),
    ("auth", False, False),
    ("auth_sso", False, False),
    ("forbidden", False, False),
    ("not_found", False, False),
    ("moved", False, False),
    ("malformed", True, True),
    ("too_large", True, True),
    ("blocked_address", True, True),
    ("tls", True, True),
    ("config", False, False),
    ("unknown", True, True),
]


@pytest.mark.parametrize(("category", "heals", "counts"), CATEGORIES)
def test_a_failure_heals_and_counts_by_its_category(category: str, heals: bool, counts: bool) -> None:
    failure = failures.Failure(failures.Category(category), "no answer")
    assert (failure.heals, failure.counts) == (heals, counts)
    assert not dataclasses.replace(failure, shared=True).counts


def test_the_table_has_every_category() -> None:
    assert [row[0] for row in CATEGORIES] == list(failures.Category)


def test_a_message_is_cut_to_its_limit() -> None:
    assert failures.Failure(failures.Category.UNKNOWN, "x" * 500).message == "x" * 500
    cut = failures.Failure(failures.Category.UNKNOWN, "x" * 501).message
    assert (len(cut), cut[-1]) == (500, "…")


@pytest.mark.parametrize("key", ["r", "red:ci/build", "comment:é", "a b", "k" * 200])
def test_a_key_that_can_be_one(key: str) -> None:
    assert observations.Observation(key, WAKE, REVISION).key == key


@pytest.mark.parametrize("key", ["", " ", " red", "red ", "a\nb", "a\x00b", "a\x7fb", "\tred", "k" * 201])
def test_a_key_that_can_be_none(key: str) -> None:
    with pytest.raises(ValueError, match="a key is 1 to 200 printable characters"):
        observations.Observation(key, WAKE, REVISION)


@pytest.mark.parametrize(
    ("severity", "claim", "outcome", "allowed"),
    [
        (WAKE, False, None, True),
        (WAKE, False, observations.Outcome.FAILED, False),
        (WAKE, True, None, False),
        (WAKE, True, observations.Outcome.SUCCEEDED, True),
        (observations.Severity.TERMINAL, False, None, False),
        (observations.Severity.TERMINAL, False, observations.Outcome.FAILED, True),
        (observations.Severity.TERMINAL, True, observations.Outcome.FAILED, True),
        (observations.Severity.IMMEDIATE, False, observations.Outcome.FAILED, False),
    ],
)
def test_an_outcome_is_set_if_and_only_if_an_entry_is_an_end_or_a_claim(
    severity: observations.Severity, claim: bool, outcome: observations.Outcome | None, allowed: bool
) -> None:
    if allowed:
        assert observations.Observation("k", severity, REVISION, outcome=outcome, claim=claim).outcome is outcome
    else:
        with pytest.raises(ValueError, match="k: an outcome is set if and only if"):
            observations.Observation("k", severity, REVISION, outcome=outcome, claim=claim)


@pytest.mark.parametrize("hold", [0, 0.5, 3600, observations.SETTLE])
def test_a_hold_that_can_be_one(hold: observations.Hold) -> None:
    assert observations.Observation("k", WAKE, REVISION, hold=hold).hold == hold


@pytest.mark.parametrize("hold", [-1, float("inf"), float("nan")])
def test_a_hold_that_can_be_none(hold: float) -> None:
    with pytest.raises(ValueError, match="k: a hold is a finite number of seconds"):
        observations.Observation("k", WAKE, REVISION, hold=hold)


def test_an_identity_has_a_revision_if_and_only_if_a_revision_clears_it() -> None:
    result = observations.ProbeResult((), "r1")
    seen = observations.Observation("k", WAKE, REVISION, "text", hold=5, episode="2", detail="d")
    lasting = dataclasses.replace(seen, resets_on=observations.ResetsOn.NEVER)
    assert verdicts.identify(A, result, seen) == verdicts.Identity(A, "k", "r1", "2")
    assert verdicts.identify(A, result, lasting) == verdicts.Identity(A, "k", None, "2")


def test_the_defaults_are_those_of_the_contract() -> None:
    policy, budgets = limits.Policy(), limits.Budgets()
    assert (policy.realert_after, policy.coalesce_window, policy.coalesce_max) == (6 * 3600, 240, 1800)
    assert (policy.settle, policy.floor_ticks, policy.blind_after) == (300, 0, 6)
    assert (policy.stall_ticks, policy.stall_min_duration, policy.stall_action) == (12, 72 * 3600, "Stop")
    assert (policy.on_first_observation, policy.confirm) == ("Wake", "Explicit")
    assert (budgets.turns, budgets.tokens, budgets.provider_errors) == (8, 250_000, 50)
    assert (budgets.active_time, budgets.lifetime) == (None, 168 * 3600)


def test_the_prompt_of_a_reason_takes_the_place_of_the_prompt() -> None:
    deliver = wakes.Deliver(prompt="act", prompts=(("failed", "mend"),))
    assert (deliver.prompt_for("failed"), deliver.prompt_for("converged")) == ("mend", "act")


def test_an_outcome_is_final_and_either_stamps_or_does_not() -> None:
    assert set(wakes.WakeState) - wakes.OUTCOMES == {wakes.WakeState.QUEUED, wakes.WakeState.CLAIMED}
    assert {wakes.WakeState.WITHDRAWN, wakes.WakeState.LOST} == wakes.OUTCOMES - wakes.STAMPING
    assert wakes.OUTCOMES >= wakes.CHARGED


def _sent(key: str, joined: int, left: int | None = None) -> states.Sent:
    return states.Sent(verdicts.Identity(A, key, None), 0.0, 0.0, joined, left)


FLOWN = states.InFlight(
    ids.WakeId("w"),
    0.0,
    (states.Version(1, wakes.WakeType.WAKE, "converged"), states.Version(3, wakes.WakeType.TERMINAL, "failed")),
    (_sent("from the first", 1, 3), _sent("only in the second", 2, 3), _sent("from the third", 3)),
    sequence=3,
)


@pytest.mark.parametrize(
    ("claimed", "type_", "held"),
    [
        (None, "Terminal", ["from the third"]),
        (1, "Wake", ["from the first"]),
        (2, "Wake", ["from the first", "only in the second"]),
        (3, "Terminal", ["from the third"]),
        (0, "Wake", []),
    ],
)
def test_a_wake_is_what_it_was_in_the_claimed_version_else_in_the_newest(
    claimed: int | None, type_: str, held: list[str]
) -> None:
    wake = dataclasses.replace(FLOWN, claimed=claimed)
    assert wake.current.type == type_
    assert [one.identity.key for one in wake.present] == held


def test_an_entry_was_last_shown_by_its_verdict_unless_a_later_read_did() -> None:
    sent = dataclasses.replace(_sent("k", 1), at=5.0)
    assert (sent.last_shown, dataclasses.replace(sent, shown=9.0).last_shown) == (5.0, 9.0)


def test_a_subject_that_was_never_read_has_an_empty_memory() -> None:
    assert states.State(ids.WatchUid("w1")).subject(A) == states.SubjectState()


@pytest.mark.parametrize(
    ("changes", "done"),
    [
        ({"ended": None}, False),
        ({}, True),
        ({"in_flight": FLOWN}, False),
        ({"owed": (_sent("k", 1),)}, False),
        ({"owed_notice": True}, False),
    ],
)
def test_a_watch_is_quiet_for_good_once_it_has_ended_and_all_of_that_was_told(
    changes: dict[str, object], done: bool
) -> None:
    ended = states.State(ids.WatchUid("w1"), ended=verdicts.StopReason.TURNS)
    assert dataclasses.replace(ended, **changes).quiet_for_good is done  # type: ignore[arg-type] # fields by their names


def test_an_end_is_named_by_its_outcome() -> None:
    assert verdicts.Terminal((), observations.Outcome.SUCCEEDED).reason == "succeeded"
    assert verdicts.Terminal((), observations.Outcome.FAILED).reason == "failed"


def test_the_empty_mapping_is_equal_to_any_other_and_holds_nothing() -> None:
    assert states.EMPTY == {}
    assert {**states.EMPTY} == {}
    assert len(states.EMPTY) == 0
    assert hash(states.EMPTY) == hash(states.SubjectState().alerted)
    with pytest.raises(KeyError):
        states.EMPTY["anything"]
