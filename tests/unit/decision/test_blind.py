"""Rule 13: from the `blindAfter`-th failed tick in a row of a subject, one wake without entries per `realertAfter`."""

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import HOUR, LOST, MINUTE, UNIT, Claim, End, Story, Tick, failed, partly, see, tell
from vigil.model import ids, wakes

A, B = ids.SubjectId("a"), ids.SubjectId("b")
THIRD = story.policy(blind_after=3, coalesce_window=0.0)


def fails(*minutes: float, verdict: str = "quiet unreadable", read: story.Reading | None = None) -> list[story.Step]:
    """Ticks that fail."""
    return [Tick(at * MINUTE, failed() if read is None else read, verdict) for at in minutes]


STORIES = [
    Story("at exactly the threshold", [*fails(0, 1), Tick(120, failed(), "wake blind: ")], THIRD),
    Story(
        "beyond it: once per realertAfter, from the verdict",
        [
            *fails(0, 1),
            Tick(120, failed(), "wake blind: "),
            Claim(),
            *fails(3),
            End(),
            *fails(4, 6 * 60),
            Tick(120 + 6 * HOUR, failed(), "wake blind: "),
        ],
        THIRD,
    ),
    Story("0 switches it off", fails(*range(40)), story.policy(blind_after=0)),
    Story(
        "throttled, shared and non-healing failures neither count nor clear",
        [
            *fails(0, 1),
            *fails(2, verdict="quiet throttled", read=failed("throttled")),
            *fails(3, read=failed(shared=True)),
            *fails(4, read=failed("auth")),
            Tick(300, failed(), "wake blind: "),
        ],
        THIRD,
    ),
    Story(
        "any read clears row and stamp",
        [
            *fails(0, 1),
            Tick(120, failed(), "wake blind: "),
            End(),
            Tick(180, partly(), "quiet incomplete"),
            *fails(4, 5),
            Tick(360, failed(), "wake blind: "),
        ],
        THIRD,
    ),
    Story(
        "a lost one is told again in the next tick",
        [*fails(0, 1), Tick(120, failed(), "wake blind: "), Claim(), End(LOST), Tick(180, failed(), "wake blind: ")],
        THIRD,
    ),
    Story(
        "the row is a subject's own",
        [
            *fails(0, 1, read={"a": failed(), "b": see()}),
            Tick(120, {"a": see(), "b": failed()}, "quiet unreadable"),
            Tick(180, {"a": failed(), "b": failed()}, "quiet unreadable"),
            Tick(240, {"a": failed(), "b": failed()}, "wake blind: "),
        ],
        THIRD,
    ),
    Story(
        "news of another subject comes first",
        [
            *fails(0, 1, read={"a": failed(), "b": see()}),
            Tick(120, {"a": failed(), "b": see(UNIT)}, "wake undelayed: b#red:unit"),
            End(),
            Tick(180, {"a": failed(), "b": see(UNIT)}, "wake blind: "),
        ],
        THIRD,
    ),
    Story(
        "it is withdrawn when the subject can be read again before a claim",
        [*fails(0, 1), Tick(120, failed(), "wake blind: "), *fails(3), Tick(240, see(), "quiet nothing-open")],
        THIRD,
    ),
    Story(
        "news joins it while nobody has claimed it",
        [
            *fails(0, 1, read={"a": failed(), "b": see()}),
            Tick(120, {"a": failed(), "b": see()}, "wake blind: "),
            Tick(180, {"a": failed(), "b": see(UNIT)}, "quiet unreadable"),
            End(),
            Tick(240, {"a": failed(), "b": see(UNIT)}, "quiet unreadable"),
        ],
        THIRD,
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_blind(told: Story) -> None:
    tell(told)


BLIND: list[story.Step] = [*fails(0, 1), Tick(120, failed(), "wake blind: ")]


def test_the_stamp_is_the_subjects_and_has_the_time_of_the_verdict() -> None:
    both: story.Reading = {"a": failed(), "b": see()}
    state = tell(Story("blind", [*fails(0, 1, read=both), Tick(120, both, "wake blind: "), Claim(), End()], THIRD))
    assert (state.subject(A).blind, state.subject(B).blind) == (120, None)
    assert state.subject(A).failing == 0


def test_a_subject_that_was_read_while_the_wake_was_on_its_way_is_not_stamped() -> None:
    state = tell(Story("read", [*BLIND, Claim(), Tick(180, see(), "quiet in-flight"), End()], THIRD))
    assert state.subject(A).blind is None


def test_one_wake_tells_of_all_that_are_blind_and_costs_one_turn() -> None:
    both: story.Reading = {"a": failed(), "b": failed()}
    state = tell(Story("both", [*fails(0, 1, read=both), Tick(120, both, "wake blind: "), End()], THIRD))
    assert (state.subject(A).blind, state.subject(B).blind) == (120, 120)
    assert state.spent.turns == 1


def test_a_repeat_has_another_id() -> None:
    first = tell(Story("first", BLIND, THIRD))
    again: list[story.Step] = [End(), Tick(120 + 6 * HOUR, failed(), "wake blind: ")]
    second = tell(Story("second", again, THIRD), first)
    assert first.in_flight is not None
    assert second.in_flight is not None
    assert first.in_flight.id != second.in_flight.id


def test_a_clock_that_stepped_back_makes_the_stamp_stale() -> None:
    state = tell(Story("told", [*BLIND, End()], THIRD))
    tell(Story("back", [Tick(60, failed(), "wake blind: ")], THIRD), state)


def test_it_is_a_wake_and_no_notice() -> None:
    state = tell(Story("blind", BLIND, THIRD))
    assert state.in_flight is not None
    assert state.in_flight.current.type is wakes.WakeType.WAKE
