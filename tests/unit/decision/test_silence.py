"""Rule 7: until `silenceUntil` nothing leaves but TERMINAL; what is fresh joins the window."""

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    CONFLICT,
    HOUR,
    MERGED,
    MINUTE,
    UNIT,
    Claim,
    End,
    Silence,
    Story,
    Tick,
    failed,
    see,
    tell,
)
from vigil.model import limits, verdicts, wakes

STORIES = [
    Story(
        "what is fresh waits in the window, and leaves with the silence",
        [
            Silence(HOUR),
            Tick(0, see(UNIT), "quiet silenced"),
            Tick(30 * MINUTE, see(UNIT), "quiet silenced"),
            Tick(HOUR, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "an IMMEDIATE entry waits too, and is told at once after it",
        [
            Silence(HOUR),
            Tick(0, see(CONFLICT), "quiet silenced"),
            Tick(HOUR, see(CONFLICT), "wake immediate: conflict"),
        ],
    ),
    Story(
        "what clears in the silence is not told",
        [Silence(HOUR), Tick(0, see(UNIT), "quiet silenced"), Tick(HOUR, see(), "quiet nothing-open")],
    ),
    Story(
        "an end goes over it",
        [Silence(HOUR), Tick(0, see(UNIT, MERGED), "terminal succeeded: merged")],
    ),
    Story(
        "nothing is stamped by it",
        [
            Silence(HOUR),
            Tick(0, see(COMMENT), "quiet silenced"),
            Silence(None),
            Tick(4 * MINUTE, see(COMMENT), "wake converged: comment:7"),
        ],
    ),
    Story(
        "a wake that is in flight is amended and not stopped by it",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Silence(HOUR),
            Tick(5 * MINUTE, see(UNIT, COMMENT), "quiet in-flight"),
            End(),
            Tick(6 * MINUTE, see(UNIT, COMMENT), "quiet silenced"),
        ],
    ),
    Story(
        "it is silenced also where nothing is open",
        [Silence(HOUR), Tick(0, see(), "quiet silenced"), Tick(HOUR, see(), "quiet nothing-open")],
    ),
    Story(
        "that it cannot be read comes first",
        [Silence(HOUR), Tick(0, failed(), "quiet unreadable")],
    ),
    Story(
        "nobody is told that it is blind, and then everybody is",
        [
            Silence(HOUR),
            Tick(0, failed(), "quiet unreadable"),
            Tick(60, failed(), "quiet unreadable"),
            Tick(HOUR, failed(), "wake blind: "),
        ],
        story.policy(blind_after=2),
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_silence(told: Story) -> None:
    tell(told)


def test_a_stop_is_decided_and_its_notice_waits() -> None:
    under = story.budgets(lifetime=HOUR)
    silent = tell(
        Story(
            "stopped", [Silence(2 * HOUR), Tick(0, see(), "quiet silenced"), Tick(HOUR, see(), "stop lifetime")], under
        )
    )
    assert silent.ended is verdicts.StopReason.LIFETIME
    assert silent.in_flight is None
    waiting = tell(Story("waits", [Tick(2 * HOUR - 1, {}, "quiet silenced")], under), silent)
    assert waiting.in_flight is None
    told = tell(Story("told", [Tick(2 * HOUR, {}, "stop lifetime")], under), waiting)
    assert told.in_flight is not None
    assert told.in_flight.current.type is wakes.WakeType.NOTICE
    assert tell(Story("done", [End()], under), told).quiet_for_good


def test_a_stop_in_a_silence_takes_an_unclaimed_wake_back() -> None:
    under = limits.Limits(limits.Policy(coalesce_window=0.0), limits.Budgets(lifetime=HOUR))
    steps: list[story.Step] = [
        Tick(0, see(UNIT), "wake undelayed: red:unit"),
        Silence(2 * HOUR),
        Tick(HOUR, see(UNIT), "stop lifetime"),
    ]
    state = tell(Story("unclaimed", steps, under))
    assert state.in_flight is None
    assert state.owed_notice


def test_a_stop_in_a_silence_waits_for_an_end_that_is_in_flight() -> None:
    both: story.Reading = {"a": see(MERGED), "b": see()}
    under = story.budgets(lifetime=HOUR)
    steps: list[story.Step] = [
        Tick(0, both, "terminal succeeded: merged"),
        Silence(2 * HOUR),
        Tick(HOUR, {"b": see()}, "stop lifetime"),
        Claim(),
        End(),
    ]
    state = tell(Story("an end first", steps, under))
    assert state.in_flight is None
    assert state.owed_notice
    assert story.stamps(state) == {"merged": 0}
