"""What a claim and an outcome of the wake in flight change in the memory."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    DELIVERED,
    E2E,
    LOST,
    MERGED,
    MINUTE,
    NOTIFIED,
    RECORDED,
    UNIT,
    WITHDRAWN,
    Claim,
    End,
    Story,
    Tick,
    failed,
    partly,
    said,
    see,
)
from vigil.decision import outcomes
from vigil.model import ids, limits, states, verdicts, wakes

A = ids.SubjectId("a")
WAKE: list[story.Step] = [
    Tick(0, see(UNIT, COMMENT), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT, COMMENT), "wake converged: comment:7 red:unit"),
]


def after(*steps: story.Step, under: limits.Limits = story.DEFAULTS) -> states.State:
    return story.tell(Story("a wake and what became of it", [*WAKE, *steps], under))


# outcome, whether it stamps, the turns and tokens that it costs, whether it makes the id of a repeat another
OUTCOMES = [
    (DELIVERED, True, 1, 70, 0),
    (NOTIFIED, True, 0, 0, 0),
    (RECORDED, True, 0, 0, 0),
    (WITHDRAWN, False, 0, 0, 1),
    (LOST, False, 1, 70, 1),
]


@pytest.mark.parametrize(("state", "stamps", "turns", "tokens", "unstamped"), OUTCOMES)
def test_an_outcome_stamps_and_costs_what_the_table_says(
    state: wakes.WakeState, stamps: bool, turns: int, tokens: int, unstamped: int
) -> None:
    left = after(Claim(), End(state, tokens=70))
    assert left.in_flight is None
    assert story.stamps(left) == ({"red:unit": 4 * MINUTE, "comment:7": 4 * MINUTE} if stamps else {})
    assert story.window(left) == ({} if stamps else {"red:unit": 0, "comment:7": 0})
    assert (left.spent.turns, left.spent.tokens, left.unstamped) == (turns, tokens, unstamped)


def test_the_table_has_every_outcome() -> None:
    assert {row[0] for row in OUTCOMES} == wakes.OUTCOMES


def test_the_outcome_of_another_wake_changes_nothing() -> None:
    state = after()
    event = wakes.OutcomeEvent(1, ids.WakeId("another"), story.UID, DELIVERED, 1, 0)
    assert outcomes.ended(state, event, story.DEFAULTS) is state
    assert outcomes.claimed(state, event.wake, 1) is state
    done = after(End())
    assert outcomes.ended(done, event, story.DEFAULTS) is done


def test_an_outcome_that_comes_twice_does_nothing_the_second_time() -> None:
    state = after()
    assert state.in_flight is not None
    event = story.outcome_of(state.in_flight, End(tokens=5), 1)
    once = outcomes.ended(state, event, story.DEFAULTS)
    assert outcomes.ended(once, event, story.DEFAULTS) is once


def test_a_second_claim_changes_nothing() -> None:
    state = after(Tick(5 * MINUTE, see(UNIT, COMMENT, E2E), "quiet in-flight"), Claim(sequence=1))
    assert state.in_flight is not None
    assert outcomes.claimed(state, state.in_flight.id, 2) is state


def test_a_claim_of_a_version_newer_than_the_restored_state_is_one_of_what_the_state_knows() -> None:
    state = after(Claim(sequence=9))
    assert state.in_flight is not None
    assert state.in_flight.claimed == 1
    assert story.present(state) == {"red:unit", "comment:7"}


def test_a_stamp_is_the_time_of_the_verdict_that_sent_the_entry_and_not_of_its_outcome() -> None:
    state = after(
        Tick(5 * MINUTE, see(UNIT, COMMENT, E2E), "quiet in-flight"),
        Claim(),
        Tick(3 * story.HOUR, see(UNIT, COMMENT, E2E), "quiet in-flight"),
        End(),
    )
    assert story.stamps(state) == {"red:unit": 4 * MINUTE, "comment:7": 4 * MINUTE, "red:e2e": 5 * MINUTE}


def test_a_stamp_remembers_the_last_read_that_showed_the_entry() -> None:
    state = after(
        Claim(), Tick(6 * MINUTE, see(UNIT), "quiet in-flight"), Tick(7 * MINUTE, see(), "quiet in-flight"), End()
    )
    shown = {identity.key: stamp.shown for identity, stamp in state.subject(A).alerted.items()}
    assert shown == {"red:unit": 6 * MINUTE, "comment:7": 4 * MINUTE}


def test_an_entry_whose_revision_is_gone_is_not_stamped() -> None:
    state = after(Claim(), Tick(5 * MINUTE, see(revision="r2"), "quiet in-flight"), End())
    assert story.stamps(state) == {"comment:7": 4 * MINUTE}


def test_an_entry_whose_subject_was_removed_is_not_stamped() -> None:
    removed = dataclasses.replace(after(Claim()), subjects={})
    assert story.tell(Story("delivered", [End(said=(said("red:unit", "dispatched"),))]), removed).subjects == {}


def test_a_stamping_outcome_begins_the_count_of_unstamped_wakes_again() -> None:
    state = after(Claim(), End(LOST), Tick(5 * MINUTE, see(UNIT, COMMENT), "wake converged: comment:7 red:unit"), End())
    assert state.unstamped == 0


def test_with_confirm_delivered_an_accepted_delivery_disposes_of_its_entries() -> None:
    accepted = story.policy(confirm=limits.Confirm.DELIVERED)
    for state in (DELIVERED, NOTIFIED, RECORDED):
        left = after(End(state), Tick(7 * story.HOUR, see(UNIT, COMMENT), "quiet handled"), under=accepted)
        assert story.dispositions(left) == {"red:unit": "dispatched", "comment:7": "dispatched"}
    assert story.dispositions(after(End(LOST), under=accepted)) == {}


def test_with_confirm_delivered_what_an_agent_says_goes_before() -> None:
    left = after(End(said=(said("red:unit", "open"),)), under=story.policy(confirm=limits.Confirm.DELIVERED))
    assert story.dispositions(left) == {"comment:7": "dispatched"}


def test_dispositions_bind_to_the_entries_of_the_wake() -> None:
    left = after(
        Claim(),
        End(said=(said("red:unit", "claimed"), said("comment:7", "dispatched"), said("red:unknown", "dispatched"))),
    )
    assert story.dispositions(left) == {"red:unit": "claimed", "comment:7": "dispatched"}


def test_what_is_said_of_an_entry_after_a_new_revision_is_dropped_with_the_old_one() -> None:
    both = see(UNIT, COMMENT, revision="r2")
    steps: list[story.Step] = [
        Tick(0, see(UNIT, COMMENT), "wake undelayed: comment:7 red:unit"),
        Claim(),
        Tick(60, both, "quiet in-flight"),
        End(said=(said("red:unit", "dispatched"), said("comment:7", "dispatched"))),
    ]
    under = story.policy(coalesce_window=0.0)
    left = story.tell(Story("late", steps, under))
    assert story.dispositions(left) == {"comment:7": "dispatched"}
    story.tell(Story("its own", [Tick(120, both, "wake undelayed: red:unit")], under), left)


def test_of_a_long_invariant_key_the_beginning_is_kept() -> None:
    left = after(End(said=(wakes.DispositionOf("red:unit", wakes.Disposition.DISPATCHED, invariant="x" * 300),)))
    assert [one.invariant for one in left.subject(A).dispositions.values()] == ["x" * outcomes.INVARIANT_LIMIT]


def test_a_disposition_carries_its_invariant_key() -> None:
    left = after(End(said=(wakes.DispositionOf("red:unit", wakes.Disposition.DISPATCHED, invariant="round-3"),)))
    assert [one.invariant for one in left.subject(A).dispositions.values()] == ["round-3"]


def test_a_later_disposition_takes_the_place_of_an_earlier_one() -> None:
    left = after(End(said=(said("red:unit", "claimed"), said("red:unit", "dispatched"), said("comment:7", "open"))))
    assert story.dispositions(left) == {"red:unit": "dispatched"}


def test_a_disposition_of_one_subject_leaves_the_same_key_of_another() -> None:
    both = {"a": see(UNIT), "b": see(UNIT)}
    told: list[story.Step] = [
        Tick(0, both, "quiet coalescing"),
        Tick(4 * MINUTE, both, "wake converged: red:unit b#red:unit"),
    ]
    left = story.tell(Story("of b", [*told, End(said=(said("red:unit", "dispatched", "b"),))]))
    assert story.dispositions(left) == {"b#red:unit": "dispatched"}
    left = story.tell(Story("of all", [*told, End(said=(said("red:unit", "dispatched"),))]))
    assert story.dispositions(left) == {"red:unit": "dispatched", "b#red:unit": "dispatched"}


def test_a_disposition_that_names_no_entry_of_the_wake_binds_to_the_latest_reading() -> None:
    state = after(Claim(), Tick(5 * MINUTE, see(UNIT, COMMENT, E2E), "quiet in-flight"))
    assert state.in_flight is not None
    event = story.outcome_of(state.in_flight, End(said=(said("red:e2e", "dispatched"), said("gone", "dispatched"))), 1)
    removed = verdicts.Identity(ids.SubjectId("removed"), "red:e2e", "r1")
    shown = {verdicts.Identity(A, "red:e2e", "r1"): E2E, removed: E2E}
    left = outcomes.ended(state, event, story.DEFAULTS, shown)
    assert story.dispositions(left) == {"red:e2e": "dispatched"}
    assert [one.shown for one in left.subject(A).dispositions.values()] == [5 * MINUTE]
    story.tell(Story("it is no news", [Tick(10 * MINUTE, see(UNIT, COMMENT, E2E), "quiet handled")]), left)


def test_what_was_disposed_of_by_the_latest_reading_leaves_the_window_although_it_is_not_shown() -> None:
    late = dataclasses.replace(COMMENT, key="comment:8")
    state = after(Claim(), Tick(5 * MINUTE, see(UNIT, COMMENT, late), "quiet in-flight"))
    assert state.in_flight is not None
    event = story.outcome_of(state.in_flight, End(said=(said("comment:8", "dispatched"),)), 1)
    left = outcomes.ended(state, event, story.DEFAULTS, {verdicts.Identity(A, "comment:8", None): late})
    assert story.window(left) == {"comment:8": 5 * MINUTE}
    story.tell(Story("it is not shown", [Tick(40 * MINUTE, see(UNIT), "quiet handled")]), left)


def test_a_disposition_without_a_tick_before_it_is_as_old_as_its_outcome() -> None:
    identity = verdicts.Identity(A, "red:unit", "r1")
    flown = states.InFlight(ids.WakeId("w"), 0, (states.Version(1, wakes.WakeType.WAKE, "converged"),), ())
    state = states.State(story.UID, subjects={A: states.SubjectState("r1")}, in_flight=flown)
    event = wakes.OutcomeEvent(1, flown.id, story.UID, DELIVERED, 1, 9, 0, (said("red:unit", "dispatched"),))
    left = outcomes.ended(state, event, story.DEFAULTS, {identity: UNIT})
    assert left.subject(A).dispositions[identity].shown == 9


def test_an_entry_that_was_lost_is_news_in_the_window_and_not_in_an_incomplete_read() -> None:
    after(Claim(), End(LOST), Tick(5 * MINUTE, partly(UNIT), "wake converged: comment:7 red:unit"))
    after(Claim(), End(LOST), Tick(5 * MINUTE, failed(), "quiet unreadable"))


def test_an_end_that_was_lost_after_its_subject_was_armed_again_is_not_owed() -> None:
    state = story.tell(Story("an end", [Tick(0, see(MERGED), "terminal succeeded: merged")]))
    memory = dataclasses.replace(state.subject(A), retired=None)
    armed = dataclasses.replace(state, subjects={A: memory}, ended=None)
    assert story.tell(Story("lost", [End(LOST)]), armed).owed == ()


def test_a_notice_that_was_lost_after_its_stop_was_lifted_is_not_owed() -> None:
    state = story.tell(Story("a Stop", [Tick(0, see(), "stop lifetime")], story.budgets(lifetime=0)))
    assert story.tell(Story("lost", [End(LOST)]), state).owed_notice
    lifted = dataclasses.replace(state, ended=None)
    assert not story.tell(Story("lost", [End(LOST)]), lifted).owed_notice


def test_a_notice_that_came_too_late_for_a_claim_is_not_owed_once_its_stop_was_lifted() -> None:
    state = after(Tick(168 * story.HOUR, see(UNIT, COMMENT), "stop lifetime"))
    assert story.tell(Story("claimed", [Claim(sequence=1)]), state).owed_notice
    lifted = dataclasses.replace(state, ended=None)
    assert not story.tell(Story("claimed", [Claim(sequence=1)]), lifted).owed_notice
