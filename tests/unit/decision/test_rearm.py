"""What a new generation of a Watch means for its memory."""

import dataclasses
from collections.abc import Sequence

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import CLOSED, COMMENT, HOUR, MERGED, MINUTE, UNIT, Claim, End, Story, Tick, failed, see
from vigil.decision import rearm
from vigil.model import ids, limits, observations, states, verdicts

WEEK = 168 * HOUR


def armed(
    state: states.State, generation: int = 2, purpose: str = "p", subjects: Sequence[str] = ("a",), now: float = WEEK
) -> states.State:
    return rearm.rearm(state, generation, purpose, [ids.SubjectId(name) for name in subjects], now)


def running(*steps: story.Step, under: limits.Limits = story.DEFAULTS) -> states.State:
    first = armed(states.State(story.UID), generation=1, subjects=("a", "b"), now=0)
    return story.tell(Story("a Watch", steps, under), first)


TOLD: list[story.Step] = [
    Tick(0, see(UNIT, COMMENT), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT, COMMENT), "wake converged: comment:7 red:unit"),
    End(tokens=5, said=(story.said("comment:7", "dispatched"),)),
]


def test_the_generation_that_is_known_changes_nothing() -> None:
    state = running(*TOLD)
    assert armed(state, generation=1) is state


def test_a_new_generation_keeps_the_memory_of_its_subjects_and_what_was_spent() -> None:
    before = running(*TOLD)
    after = armed(before)
    assert after == dataclasses.replace(before, generation=2)


@pytest.mark.parametrize("reason", list(verdicts.StopReason))
def test_a_new_generation_lifts_every_stop_and_begins_the_lifetime_again(reason: verdicts.StopReason) -> None:
    stopped = dataclasses.replace(running(*TOLD), ended=reason, owed_notice=True)
    after = armed(stopped)
    assert (after.ended, after.owed_notice, after.started) == (None, False, WEEK)
    assert after.spent == stopped.spent
    assert story.stamps(after) == story.stamps(stopped)


def test_a_watch_that_is_exhausted_stops_again_until_its_budget_is_raised() -> None:
    tight, wide = story.budgets(turns=1), story.budgets(turns=2)
    stopped = running(*TOLD, Tick(5 * MINUTE, see(UNIT, COMMENT), "stop turns"), End(story.NOTIFIED), under=tight)
    again = armed(stopped)
    story.tell(Story("as before", [Tick(WEEK, see(UNIT), "stop turns")], tight), again)
    story.tell(Story("raised", [Tick(WEEK, see(UNIT), "quiet coalescing")], wide), again)


def test_a_new_generation_does_not_begin_the_lifetime_of_a_running_watch_again() -> None:
    assert armed(running(*TOLD)).started == 0


def test_a_subject_that_was_removed_is_pruned_everywhere() -> None:
    both = {"a": see(UNIT), "b": see(UNIT)}
    late = {"a": see(UNIT), "b": see(UNIT, COMMENT)}
    before = running(
        Tick(0, both, "quiet coalescing"),
        Tick(4 * MINUTE, both, "wake converged: red:unit b#red:unit"),
        End(),
        Tick(5 * MINUTE, late, "quiet coalescing"),
    )
    after = armed(before)
    assert set(after.subjects) == {"a"}
    assert story.window(after) == {}
    assert (before.forgotten, after.forgotten) == (0, 1)


@pytest.mark.parametrize("end", [MERGED, CLOSED])
def test_an_ended_watch_is_not_armed_by_a_generation_that_changes_nothing_of_it(
    end: observations.Observation,
) -> None:
    word = "succeeded" if end is MERGED else "failed"
    ended = running(Tick(0, see(end), f"terminal {word}: {end.key}"), End())
    after = armed(ended, subjects=("a",))
    assert after.ended is ended.ended
    assert after.subject(ids.SubjectId("a")).retired is end.outcome


def test_an_ended_watch_is_armed_by_another_objective_or_option() -> None:
    ended = running(Tick(0, see(MERGED), "terminal succeeded: merged"), End())
    after = armed(ended, purpose="another")
    assert after.ended is None
    assert after.subject(ids.SubjectId("a")).retired is None
    assert after.started == WEEK
    story.tell(Story("it ends again", [Tick(WEEK, see(MERGED), "terminal succeeded: merged")]), after)


def test_an_ended_watch_is_armed_by_another_subject_and_the_first_one_stays_retired() -> None:
    ended = running(Tick(0, see(MERGED), "terminal succeeded: merged"), End())
    after = armed(ended, subjects=("a", "c"))
    assert after.ended is None
    assert after.subject(ids.SubjectId("a")).retired is story.SUCCEEDED
    assert after.started == WEEK
    last = story.tell(Story("c", [Tick(WEEK, {"c": see(CLOSED)}, "terminal failed: c#closed")]), after)
    assert last.ended is story.FAILED


def test_a_watch_whose_last_live_subject_was_removed_has_ended() -> None:
    half = running(Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"), End())
    assert armed(half, subjects=("a",)).ended is story.SUCCEEDED


def test_a_watch_whose_subjects_were_all_replaced_starts_anew() -> None:
    ended = running(Tick(0, see(MERGED), "terminal succeeded: merged"), End())
    after = armed(ended, subjects=("c",))
    assert (after.ended, dict(after.subjects), after.started) == (None, {}, WEEK)


def test_an_end_that_nobody_was_told_yet_is_still_owed_while_its_subject_is_watched() -> None:
    lost = running(Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"), End(story.LOST))
    story.tell(
        Story("told", [Tick(WEEK - 1, {"b": see()}, "terminal succeeded: merged")]), armed(lost, subjects=("a", "b"))
    )
    assert armed(lost, subjects=("b",)).owed == ()
    assert armed(lost, purpose="another", subjects=("a", "b")).owed == ()


def test_a_wake_that_a_session_has_is_waited_for_over_a_new_generation() -> None:
    claimed = armed(running(*TOLD[:2], Claim()))
    story.tell(
        Story(
            "its outcome",
            [
                Tick(5 * MINUTE, see(UNIT, COMMENT), "quiet in-flight"),
                End(),
                Tick(6 * MINUTE, see(UNIT), "quiet handled"),
            ],
        ),
        claimed,
    )


def test_the_row_of_failures_outlives_a_new_generation_and_any_read_clears_it() -> None:
    tight = story.budgets(provider_errors=2)
    stopped = running(
        Tick(0, failed(), "quiet unreadable"),
        Tick(60, failed(), "stop provider-errors"),
        End(story.NOTIFIED),
        under=tight,
    )
    story.tell(
        Story("a read", [Tick(WEEK, see(), "quiet nothing-open"), Tick(WEEK + 1, failed(), "quiet unreadable")], tight),
        armed(stopped),
    )
