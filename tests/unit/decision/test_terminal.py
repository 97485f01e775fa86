"""Rule 4: TERMINAL entries go alone, over everything but a claimed wake, and retire their subjects."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    CLOSED,
    COMMENT,
    FAILED,
    MERGED,
    MINUTE,
    SUCCEEDED,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    partly,
    see,
)
from vigil.model import ids, verdicts, wakes

CLOSED_TOO = dataclasses.replace(CLOSED, key="deleted")

STORIES = [
    Story("an end is delivered at once", [Tick(0, see(MERGED), "terminal succeeded: merged")]),
    Story(
        "an end goes alone, over the open window",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, see(UNIT, MERGED), "terminal succeeded: merged"),
            Tick(2 * MINUTE, {}, "quiet in-flight"),
            Claim(),
            End(),
            Tick(40 * MINUTE, {}, "quiet nothing-open"),
        ],
    ),
    Story("an end in an incomplete read is real", [Tick(0, partly(MERGED), "terminal succeeded: merged")]),
    Story(
        "all ends of a subject go together, and the worst is the reason",
        [Tick(0, see(MERGED, CLOSED), "terminal failed: closed merged")],
    ),
    Story(
        "a claimed wake comes first",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            Tick(5 * MINUTE, see(MERGED), "quiet in-flight"),
            End(),
            Tick(6 * MINUTE, see(MERGED), "terminal succeeded: merged"),
        ],
    ),
    Story(
        "an end takes an unclaimed wake over, whose entries wait again at their old stamps",
        [
            Tick(0, {"a": see(UNIT), "b": see()}, "quiet coalescing"),
            Tick(4 * MINUTE, {"a": see(UNIT), "b": see()}, "wake converged: red:unit"),
            Tick(5 * MINUTE, {"a": see(UNIT), "b": see(MERGED)}, "terminal succeeded: b#merged"),
            Claim(),
            End(),
            Tick(6 * MINUTE, {"a": see(UNIT)}, "wake converged: red:unit"),
        ],
    ),
    Story(
        "one subject is retired, and the others go on",
        [
            Tick(0, {"a": see(MERGED), "b": see(UNIT)}, "terminal succeeded: merged"),
            Claim(),
            End(),
            Tick(1 * MINUTE, {"b": see(UNIT)}, "quiet coalescing"),
            Tick(4 * MINUTE, {"b": see(UNIT)}, "wake converged: b#red:unit"),
        ],
    ),
    Story(
        "what a retired subject shows later is not read",
        [
            Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            Claim(),
            End(),
            Tick(1 * MINUTE, {"a": see(UNIT, CLOSED), "b": see()}, "quiet nothing-open"),
        ],
    ),
    Story(
        "a second end joins an end that nobody claimed, and the verdict names its own entries",
        [
            Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            Tick(1 * MINUTE, {"b": see(CLOSED)}, "terminal failed: b#closed"),
        ],
    ),
    Story(
        "an end that was lost is offered again until it is told, by the same name of the verdict",
        [
            Tick(0, see(MERGED), "terminal succeeded: merged"),
            Claim(),
            End(story.LOST),
            Tick(1 * MINUTE, {}, "terminal succeeded: merged"),
            End(story.WITHDRAWN),
            Tick(2 * MINUTE, {}, "terminal succeeded: merged"),
            End(story.NOTIFIED),
            Tick(3 * MINUTE, {}, "quiet nothing-open"),
        ],
    ),
    Story(
        "an end that was decided too late for a claim is owed, and offered after the outcome",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Tick(5 * MINUTE, see(MERGED), "terminal succeeded: merged"),
            Claim(sequence=1),
            Tick(6 * MINUTE, {}, "quiet in-flight"),
            End(sequence=1),
            Tick(7 * MINUTE, {}, "terminal succeeded: merged"),
            End(story.RECORDED),
            Tick(8 * MINUTE, {}, "quiet nothing-open"),
        ],
    ),
    Story(
        "an end that is owed goes with the ends of its tick",
        [
            Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            End(story.LOST),
            Tick(1 * MINUTE, {"b": see(CLOSED)}, "terminal failed: merged b#closed"),
        ],
    ),
    Story(
        "an end of one subject is offered again while the others go on",
        [
            Tick(0, {"a": see(MERGED), "b": see(UNIT)}, "terminal succeeded: merged"),
            End(story.LOST),
            Tick(1 * MINUTE, {"b": see(UNIT)}, "terminal succeeded: merged"),
        ],
    ),
    Story(
        "merged in the tick in which the budget runs out: succeeded",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(7 * 24 * story.HOUR, see(MERGED), "terminal succeeded: merged"),
        ],
    ),
    Story(
        "an end is told over a spent budget of turns and tokens",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(tokens=9),
            Tick(5 * MINUTE, see(UNIT, MERGED), "terminal succeeded: merged"),
        ],
        story.budgets(turns=1, tokens=9),
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_terminal(told: Story) -> None:
    story.tell(told)


def test_terminal_retires_its_subject_and_ends_the_watch_with_the_last_one() -> None:
    state = story.tell(Story("a ends", [Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged")]))
    assert state.subject(ids.SubjectId("a")).retired is SUCCEEDED
    assert state.ended is None
    state = story.tell(Story("b ends", [Tick(60, {"b": see(CLOSED)}, "terminal failed: b#closed")]), state)
    assert state.ended is FAILED


def test_the_watch_ends_with_the_worst_outcome_whichever_came_first() -> None:
    steps: list[story.Step] = [Tick(0, {"a": see(CLOSED), "b": see()}, "terminal failed: closed"), End()]
    state = story.tell(Story("a", [*steps, Tick(60, {"b": see(MERGED)}, "terminal succeeded: b#merged")]))
    assert state.ended is FAILED


def test_a_terminal_wake_costs_a_turn() -> None:
    state = story.tell(Story("an end", [Tick(0, see(MERGED), "terminal succeeded: merged"), Claim(), End(tokens=5)]))
    assert (state.spent.turns, state.spent.tokens) == (1, 5)
    assert state.quiet_for_good


def test_a_terminal_wake_is_one_wake_whatever_joins_it() -> None:
    state = story.tell(
        Story(
            "two ends",
            [
                Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
                Tick(60, {"b": see(CLOSED, CLOSED_TOO)}, "terminal failed: b#closed b#deleted"),
            ],
        )
    )
    assert state.in_flight is not None
    assert story.present(state) == {"merged", "b#closed", "b#deleted"}
    assert (state.in_flight.current.type, state.in_flight.current.reason) == (wakes.WakeType.TERMINAL, "failed")


def test_an_end_that_a_subject_armed_again_shows_again_is_in_its_wake_once() -> None:
    state = story.tell(Story("an end", [Tick(0, see(MERGED), "terminal succeeded: merged")]))
    memory = dataclasses.replace(state.subject(ids.SubjectId("a")), retired=None)
    armed = dataclasses.replace(state, subjects={ids.SubjectId("a"): memory}, ended=None)
    again = story.tell(Story("again", [Tick(60, see(MERGED), "terminal succeeded: merged")]), armed)
    assert again.in_flight is not None
    assert [one.identity.key for one in again.in_flight.present] == ["merged"]


def test_what_is_kept_of_an_end_is_enough_to_tell_of_it_when_nobody_reads_its_subject_any_more() -> None:
    state = story.tell(
        Story("lost", [Tick(0, see(MERGED), "terminal succeeded: merged"), End(story.LOST)]),
    )
    assert [(one.outcome, one.brief) for one in state.owed] == [(SUCCEEDED, "it was merged")]
    state = story.tell(Story("again", [Tick(60, {}, "terminal succeeded: merged")]), state)
    assert state.owed == ()
    assert state.in_flight is not None
    assert [one.brief for one in state.in_flight.present] == ["it was merged"]


def test_a_comment_that_waited_is_not_told_once_its_subject_has_ended() -> None:
    state = story.tell(
        Story(
            "an end over a comment",
            [Tick(0, see(COMMENT), "quiet coalescing"), Tick(60, see(COMMENT, MERGED), "terminal succeeded: merged")],
        )
    )
    assert story.window(state) == {}
    assert isinstance(state.ended, type(SUCCEEDED))
    assert not isinstance(state.ended, verdicts.StopReason)
