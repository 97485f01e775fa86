"""Rule 12: the same open identities for so many settled ticks and so long."""

import dataclasses
from collections.abc import Sequence

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    HOUR,
    LOST,
    MERGED,
    MINUTE,
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
from vigil.model import limits, observations, states, verdicts

HELD = dataclasses.replace(UNIT, key="missing:lint", hold=HOUR)
DAY = 24 * HOUR
THREE = {"stall_ticks": 3, "stall_min_duration": 0.0, "coalesce_window": 0.0}
LIMITS = story.policy(**THREE)
NOTIFY = story.policy(**THREE, stall_action=limits.StallAction.NOTIFY)
WAKE = "wake undelayed: red:unit"
TOLD: list[story.Step] = [Tick(0, see(UNIT), WAKE), Claim(), End()]


def quiet(*minutes: float, reason: str = "handled", read: story.Reading | None = None) -> list[story.Step]:
    """Ticks in which nothing happens."""
    return [Tick(at * MINUTE, see(UNIT) if read is None else read, f"quiet {reason}") for at in minutes]


def ticks(at: Sequence[float], verdict: str, *, read: story.Reading) -> list[story.Step]:
    """The same read at several hours."""
    return [Tick(hour * HOUR, read, verdict) for hour in at]


def told_again(at: float) -> list[story.Step]:
    """A day that an unchanged red job fills: it is seen to be told, comes back to the window, and is told again."""
    return [
        Tick(at - HOUR, see(UNIT), "quiet handled"),
        Tick(at - 4 * MINUTE, see(UNIT), "quiet coalescing"),
        Tick(at, see(UNIT), "wake converged: red:unit"),
        End(),
    ]


STORIES = [
    Story("so many settled ticks are a stall", [*TOLD, *quiet(1, 2), Tick(180, see(UNIT), "stop stalled")], LIMITS),
    Story(
        "nothing open is a stall too",
        [*quiet(0, 1, reason="nothing-open", read=see()), Tick(120, see(), "stop stalled")],
        LIMITS,
    ),
    Story(
        "12 identical ticks inside minDuration are not yet a stall",
        [
            *ticks(range(13), "quiet nothing-open", read=see()),
            Tick(72 * HOUR - 1, see(), "quiet nothing-open"),
            Tick(72 * HOUR, see(), "stop stalled"),
        ],
    ),
    Story(
        "the time alone is no stall either",
        [
            *(Tick(n * 36 * HOUR, see(), "quiet nothing-open") for n in range(3)),
            *(Tick(73 * HOUR + n, see(), "quiet nothing-open") for n in range(8)),
            Tick(74 * HOUR, see(), "stop stalled"),
        ],
    ),
    Story(
        "a red that is re-alerted every 6 h is a stall after 72 h",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            End(),
            *(step for n in range(1, 12) for step in told_again(n * (6 * HOUR + 4 * MINUTE) + 4 * MINUTE)),
            Tick(72 * HOUR - 1, see(UNIT), "quiet handled"),
            Tick(72 * HOUR, see(UNIT), "stop stalled"),
        ],
        limits.Limits(limits.Policy(), limits.Budgets(turns=None)),
    ),
    Story(
        "another entry clears start and count",
        [
            *TOLD,
            *quiet(1, 2),
            Tick(180, see(), "quiet nothing-open"),
            *quiet(4, 5),
            Tick(360, see(UNIT), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "another revision clears start and count",
        [
            *quiet(0, 1, reason="nothing-open", read=see()),
            *quiet(2, 3, reason="nothing-open", read=see(revision="r2")),
            Tick(240, see(revision="r2"), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a text, a time or a pending count that is gone again do not make it another",
        [
            *quiet(0, 1, reason="nothing-open", read=see(activity="x")),
            Tick(120, see(activity="y"), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a pending tick clears the count",
        [*TOLD, *quiet(1, 2), *quiet(3, read=see(UNIT, pending=1)), *quiet(4, 5), Tick(360, see(UNIT), "stop stalled")],
        LIMITS,
    ),
    Story(
        "a failure clears the count",
        [
            *TOLD,
            *quiet(1, 2),
            *quiet(3, reason="unreadable", read=failed()),
            *quiet(4, 5),
            Tick(360, see(UNIT), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a throttle clears the count",
        [
            *TOLD,
            *quiet(1, 2),
            *quiet(3, reason="throttled", read=failed("throttled")),
            *quiet(4, 5),
            Tick(360, see(UNIT), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "an incomplete read clears the count, and never the start",
        [
            *TOLD,
            *quiet(1, 2),
            *quiet(3, reason="incomplete", read=partly()),
            *quiet(4, 5),
            Tick(360, see(UNIT), "stop stalled"),
        ],
        story.policy(stall_ticks=3, stall_min_duration=360.0, coalesce_window=0.0),
    ),
    Story(
        "a hold clears the count",
        [
            *quiet(0, 1, reason="holding", read=see(HELD)),
            Tick(HOUR, see(HELD), "wake undelayed: missing:lint"),
            End(),
            *(Tick(HOUR + n * 60, see(HELD), "quiet handled") for n in (1, 2)),
            Tick(HOUR + 180, see(HELD), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a silence clears the count",
        [
            *quiet(0, 1, reason="nothing-open", read=see()),
            Silence(150),
            *quiet(2, reason="silenced", read=see()),
            *quiet(3, 4, reason="nothing-open", read=see()),
            Tick(300, see(), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a wake in flight neither counts nor clears",
        [
            *TOLD,
            *quiet(1, 2),
            Tick(6 * HOUR, see(UNIT), WAKE),
            Claim(),
            Tick(6 * HOUR + 60, see(UNIT), "quiet in-flight"),
            Tick(6 * HOUR + 120, failed(), "quiet unreadable"),
            End(),
            Tick(6 * HOUR + 180, see(UNIT), "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "a window neither counts nor clears",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(240, see(UNIT), "wake converged: red:unit"),
            End(),
            Tick(300, see(UNIT), "quiet handled"),
            Tick(600, see(UNIT), "quiet coalescing"),
            Tick(720, see(UNIT, pending=1), "quiet coalescing"),
            Tick(840, see(UNIT), "wake converged: red:unit"),
            End(),
            Tick(900, see(UNIT), "stop stalled"),
        ],
        story.policy(stall_ticks=2, stall_min_duration=0.0, realert_after=300.0),
    ),
    Story(
        "a question clears the count",
        [
            Tick(0, see(UNIT), WAKE),
            End(said=story.parked("red:unit")),
            *quiet(1, 2, 3, 4, reason="parked"),
        ],
        LIMITS,
    ),
    Story(
        "a standing objective never stalls",
        quiet(*range(20), reason="nothing-open", read=see()),
        dataclasses.replace(LIMITS, finite=False),
    ),
    Story(
        "Off never stalls",
        quiet(*range(20), reason="nothing-open", read=see()),
        story.policy(**THREE, stall_action=limits.StallAction.OFF),
    ),
    Story(
        "a stop by budget after a long quiet is not called a stall",
        [*quiet(0, 1, reason="nothing-open", read=see()), Tick(120, see(), "stop lifetime")],
        dataclasses.replace(LIMITS, budgets=limits.Budgets(lifetime=120.0)),
    ),
    Story(
        "all subjects that live make the digest",
        [
            *quiet(0, 1, reason="nothing-open", read={"a": see(), "b": see()}),
            *quiet(2, 3, reason="nothing-open", read={"a": see(), "b": see(revision="r2")}),
            Tick(240, {"a": see(), "b": see(revision="r2")}, "stop stalled"),
        ],
        LIMITS,
    ),
    Story(
        "what lives on after an end is another digest from that tick on",
        [
            *quiet(0, reason="nothing-open", read={"a": see(), "b": see()}),
            Tick(60, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            End(),
            *quiet(2, 3, reason="nothing-open", read={"b": see()}),
            Tick(240, {"b": see()}, "stop stalled"),
        ],
        story.policy(stall_ticks=3, stall_min_duration=180.0, coalesce_window=0.0),
    ),
    Story(
        "Notify wakes once per digest with every open entry",
        [
            *TOLD,
            *quiet(1, 2),
            Tick(180, see(UNIT), "wake stalled: red:unit"),
            Claim(),
            End(),
            *quiet(4, 5, 6, 7, 8),
            Tick(540, see(UNIT, revision="r2"), WAKE),
            End(),
            *quiet(10, 11, read=see(UNIT, revision="r2")),
            Tick(720, see(UNIT, revision="r2"), "wake stalled: red:unit"),
        ],
        NOTIFY,
    ),
    Story(
        "a lost one is told again",
        [
            *quiet(0, 1, reason="nothing-open", read=see()),
            Tick(120, see(), "wake stalled: "),
            Claim(),
            End(LOST),
            Tick(180, see(), "wake stalled: "),
        ],
        NOTIFY,
    ),
    Story(
        "an unclaimed one is taken back when something changes",
        [
            *quiet(0, 1, reason="nothing-open", read=see()),
            Tick(120, see(), "wake stalled: "),
            *quiet(3, reason="in-flight", read=see()),
            *quiet(4, reason="incomplete", read=partly()),
            *quiet(5, reason="nothing-open", read=see(revision="r2")),
        ],
        NOTIFY,
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_stall(told: Story) -> None:
    tell(told)


def test_a_stalled_watch_says_so_once_and_has_ended() -> None:
    state = tell(Story("stalled", [*TOLD, *quiet(1, 2), Tick(180, see(UNIT), "stop stalled"), Claim(), End()], LIMITS))
    assert state.ended is verdicts.StopReason.STALLED
    assert state.quiet_for_good
    assert state.spent.turns == 1


def test_what_was_masked_is_not_stamped_by_the_stalled_wake() -> None:
    state = tell(Story("told", [*TOLD, *quiet(1, 2), Tick(180, see(UNIT), "wake stalled: red:unit"), End()], NOTIFY))
    assert story.stamps(state) == {"red:unit": 0}


def test_a_start_in_the_future_becomes_now() -> None:
    first = tell(Story("seen", [Tick(HOUR, see(), "quiet nothing-open")]))
    assert first.stall is not None
    assert first.stall.since == HOUR
    back = tell(Story("back", [Tick(60, see(), "quiet nothing-open")]), first)
    assert back.stall is not None
    assert back.stall.since == 60


def test_the_same_digest_whatever_the_order_and_the_texts_are() -> None:
    worded = dataclasses.replace(UNIT, brief="since 2 minutes", detail="x")
    one = tell(Story("one", [Tick(0, see(UNIT, COMMENT), "quiet coalescing")]))
    other = tell(Story("other", [Tick(0, see(COMMENT, worded), "quiet coalescing")]))
    assert one.stall == other.stall
    assert isinstance(one.stall, states.Stall)


def test_a_read_that_never_was_complete_has_no_digest() -> None:
    state = tell(Story("partly", [Tick(0, partly(), "quiet incomplete"), Tick(60, failed(), "quiet unreadable")]))
    assert state.stall is None


def test_a_complete_read_with_an_error_of_a_part_is_not_settled() -> None:
    trouble = see(error=story.failed())
    assert isinstance(trouble, observations.ProbeResult)
    tell(Story("trouble", quiet(*range(6), reason="nothing-open", read=trouble), LIMITS))
