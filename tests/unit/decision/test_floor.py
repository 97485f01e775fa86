"""Rule 11: the tick after `floorTicks` quiet ones in a row is a wake with every open entry."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    HOUR,
    LOST,
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
    partly,
    see,
    tell,
)
from vigil.model import limits, observations

LIMITS = story.policy(floor_ticks=2, coalesce_window=0.0)
HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)
WAKE = "wake undelayed: red:unit"

STORIES = [
    Story(
        "nothing open is told too",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(60, see(), "quiet nothing-open"),
            Tick(120, see(), "wake floor: "),
            End(),
            Tick(180, see(), "quiet nothing-open"),
            Tick(240, see(), "quiet nothing-open"),
            Tick(300, see(), "wake floor: "),
        ],
        LIMITS,
    ),
    Story(
        "masked entries are told with it",
        [
            Tick(0, see(UNIT), WAKE),
            End(said=(story.said("red:unit", "dispatched"),)),
            Tick(60, see(UNIT), "quiet handled"),
            Tick(120, see(UNIT), "quiet handled"),
            Tick(180, see(UNIT), "wake floor: red:unit"),
        ],
        LIMITS,
    ),
    Story(
        "every Quiet counts, whatever its reason",
        [
            Tick(0, failed(), "quiet unreadable"),
            Tick(60, partly(), "quiet incomplete"),
            Tick(120, see(), "wake floor: "),
        ],
        LIMITS,
    ),
    Story(
        "only a complete read is a wake",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(60, see(), "quiet nothing-open"),
            Tick(120, failed(), "quiet unreadable"),
            Tick(180, partly(), "quiet incomplete"),
            Tick(240, see(), "wake floor: "),
        ],
        LIMITS,
    ),
    Story(
        "of several subjects all must be read",
        [
            Tick(0, {"a": see(), "b": see()}, "quiet nothing-open"),
            Tick(60, {"a": see(), "b": see()}, "quiet nothing-open"),
            Tick(120, {"a": see(), "b": failed()}, "quiet unreadable"),
            Tick(180, {"a": see(), "b": see()}, "wake floor: "),
        ],
        LIMITS,
    ),
    Story(
        "a wake begins the row again",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(60, see(), "quiet nothing-open"),
            Tick(120, see(UNIT), WAKE),
            End(),
            Tick(180, see(UNIT), "quiet handled"),
            Tick(240, see(UNIT), "quiet handled"),
            Tick(300, see(UNIT), "wake floor: red:unit"),
        ],
        LIMITS,
    ),
    Story(
        "what is held or withheld is not told",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(60, see(UNIT, HELD, READY), "quiet holding"),
            Tick(120, see(UNIT, HELD, READY), "quiet holding"),
            Tick(180, see(UNIT, HELD, READY), "wake floor: red:unit"),
        ],
        LIMITS,
    ),
    Story(
        "a silence holds it back, and what is quiet in it counts",
        [
            Silence(10 * MINUTE),
            *(Tick(n * 60, see(), "quiet silenced") for n in range(10)),
            Tick(10 * MINUTE, see(), "wake floor: "),
        ],
        LIMITS,
    ),
    Story(
        "a wake in flight is waited for",
        [
            Tick(0, see(UNIT), WAKE),
            Claim(),
            *(Tick(n * 60, see(UNIT), "quiet in-flight") for n in range(1, 5)),
            End(),
            Tick(300, see(UNIT), "wake floor: red:unit"),
        ],
        LIMITS,
    ),
    Story(
        "an end and a spent budget come first",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(60, see(), "quiet nothing-open"),
            Tick(120, see(MERGED), "terminal succeeded: merged"),
        ],
        LIMITS,
    ),
    Story("0 switches it off", [Tick(n * 60, see(), "quiet nothing-open") for n in range(10)], story.policy()),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_floor(told: Story) -> None:
    tell(told)


MASKED: list[story.Step] = [
    Tick(0, see(UNIT), WAKE),
    End(),
    Tick(60, see(UNIT), "quiet handled"),
    Tick(120, see(UNIT), "quiet handled"),
    Tick(180, see(UNIT), "wake floor: red:unit"),
]


def test_what_was_masked_at_the_verdict_is_not_stamped_and_comes_back_at_its_own_time() -> None:
    under = story.policy(floor_ticks=2, coalesce_window=0.0, realert_after=HOUR)
    state = tell(Story("masked", [*MASKED, Claim(), End()], under))
    assert story.stamps(state) == {"red:unit": 0}
    tell(Story("its own time", [Tick(HOUR, see(UNIT), WAKE)], under), state)


def test_what_is_news_is_stamped() -> None:
    under = story.policy(floor_ticks=2)
    steps: list[story.Step] = [
        Tick(0, see(UNIT), "quiet coalescing"),
        Tick(60, see(UNIT), "quiet coalescing"),
        Tick(120, see(UNIT), "wake floor: red:unit"),
        End(),
    ]
    state = tell(Story("news", steps, under))
    assert story.stamps(state) == {"red:unit": 120}
    assert story.window(state) == {}


def test_two_floor_wakes_that_stamp_nothing_have_two_ids() -> None:
    first = tell(Story("first", list(MASKED), LIMITS))
    steps: list[story.Step] = [
        End(),
        Tick(240, see(UNIT), "quiet handled"),
        Tick(300, see(UNIT), "quiet handled"),
        Tick(360, see(UNIT), "wake floor: red:unit"),
    ]
    second = tell(Story("second", steps, LIMITS), first)
    assert first.in_flight is not None
    assert second.in_flight is not None
    assert first.in_flight.id != second.in_flight.id


def test_an_unclaimed_one_keeps_what_is_masked_and_loses_what_clears() -> None:
    steps: list[story.Step] = [*MASKED, Tick(240, see(UNIT, COMMENT), "quiet in-flight")]
    state = tell(Story("amended", steps, LIMITS))
    assert story.present(state) == {"red:unit", "comment:7"}
    state = tell(Story("cleared", [Tick(300, see(COMMENT), "quiet in-flight")], LIMITS), state)
    assert story.present(state) == {"comment:7"}


def test_one_that_told_of_nothing_waits_for_a_session_and_is_emptied_only_of_what_joined_it() -> None:
    steps: list[story.Step] = [
        Tick(0, see(), "quiet nothing-open"),
        Tick(60, see(), "quiet nothing-open"),
        Tick(120, see(), "wake floor: "),
        Tick(180, see(), "quiet in-flight"),
        Tick(240, see(UNIT), "quiet in-flight"),
    ]
    state = tell(Story("joined", steps, LIMITS))
    assert story.present(state) == {"red:unit"}
    emptied = tell(Story("emptied, and the quiet ticks go on", [Tick(300, see(), "wake floor: ")], LIMITS), state)
    assert story.present(emptied) == set()


def test_a_lost_one_puts_nothing_that_was_masked_into_the_window() -> None:
    state = tell(Story("lost", [*MASKED, Claim(), End(LOST)], LIMITS))
    assert story.window(state) == {}


def test_with_confirm_delivered_it_disposes_of_what_it_told() -> None:
    under = story.policy(floor_ticks=2, coalesce_window=0.0, confirm=limits.Confirm.DELIVERED)
    assert story.dispositions(tell(Story("told", [*MASKED, End()], under))) == {"red:unit": "dispatched"}
