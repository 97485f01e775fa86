"""The conformance of the engine: each sentence of its contract's list is one story with that name."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    CONFLICT,
    E2E,
    HOUR,
    LOST,
    MERGED,
    MINUTE,
    READY,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    failed,
    parked,
    said,
    see,
    tell,
)
from vigil.decision import decide
from vigil.model import ids, limits, observations, states, verdicts

NOW = story.policy(coalesce_window=0.0)
SETTLED_READY = dataclasses.replace(READY, hold=observations.SETTLE)
EDITED = dataclasses.replace(COMMENT, detail="edited")
WAKE = "wake undelayed: red:unit"
THREE = story.policy(coalesce_window=0.0, stall_ticks=3, stall_min_duration=0.0)
A = ids.SubjectId("a")


def quiet(reason: str, *minutes: float, read: story.Reading | None = None) -> list[story.Step]:
    """Ticks in which nothing is sent."""
    return [Tick(at * MINUTE, see() if read is None else read, f"quiet {reason}") for at in minutes]


STORIES = [
    Story("a pending subject never costs a turn", quiet("pending", *range(0, 600, 10), read=see(pending=2))),
    Story(
        "actionable, then still true inside the window: none, after it: again",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(6 * HOUR - 1, see(UNIT), "quiet handled"),
            Tick(6 * HOUR, see(UNIT), WAKE),
        ],
        NOW,
    ),
    Story(
        "a push first seen as pending unmasks the new revision's first failure",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(60, see(revision="r2", pending=1), "quiet pending"),
            Tick(120, see(UNIT, revision="r2"), WAKE),
        ],
        NOW,
    ),
    Story(
        "the same key text as REVISION and NEVER is two entries",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(60, see(UNIT, dataclasses.replace(UNIT, resets_on=story.NEVER)), WAKE),
            End(),
            Tick(120, see(UNIT, dataclasses.replace(UNIT, resets_on=story.NEVER)), "quiet handled"),
        ],
        NOW,
    ),
    Story(
        "two staggered failures and a drain: one wake naming both",
        [
            Tick(0, see(UNIT, pending=2), "quiet coalescing"),
            Tick(3 * MINUTE, see(UNIT, E2E, pending=1), "quiet coalescing"),
            Tick(6 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e red:unit"),
        ],
    ),
    Story(
        "converged in the opening tick: still waits the window",
        [*quiet("coalescing", 0, 3.9, read=see(UNIT)), Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit")],
    ),
    Story(
        "pending that never drains: flush at `max`",
        [
            *quiet("coalescing", 0, 10, 20, 29, read=see(UNIT, pending=1)),
            Tick(30 * MINUTE, see(UNIT, pending=1), "wake window-cap: red:unit"),
        ],
    ),
    Story(
        "pending that never drains: flush at `max`, also when window > max",
        [
            *quiet("coalescing", 0, 1, read=see(UNIT, pending=1)),
            Tick(2 * MINUTE, see(UNIT, pending=1), "wake window-cap: red:unit"),
        ],
        story.policy(coalesce_max=120.0),
    ),
    Story(
        "a late joiner rides along with a flush",
        [
            *quiet("coalescing", 0, read=see(UNIT)),
            *quiet("coalescing", 3, read=see(UNIT, E2E)),
            Tick(4 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e red:unit"),
        ],
    ),
    Story(
        "a late joiner alone serves its own window",
        [
            *quiet("coalescing", 0, read=see(UNIT)),
            *quiet("coalescing", 3, read=see(E2E)),
            *quiet("coalescing", 4, 6.9, read=see(E2E)),
            Tick(7 * MINUTE, see(E2E), "wake converged: red:e2e"),
        ],
    ),
    Story(
        "cleared in the window: not reported",
        [*quiet("coalescing", 0, 3, read=see(UNIT)), *quiet("nothing-open", 4, 5, 60)],
    ),
    Story(
        "a NEVER entry in the window fires with checks still pending",
        [
            *quiet("coalescing", 0, 3, read=see(COMMENT, pending=1)),
            Tick(4 * MINUTE, see(COMMENT, pending=1), "wake converged: comment:7"),
        ],
    ),
    Story(
        "IMMEDIATE inside a window: now, then masked",
        [
            *quiet("coalescing", 0, read=see(UNIT, pending=1)),
            Tick(60, see(UNIT, CONFLICT, pending=1), "wake immediate: conflict red:unit"),
            End(),
            *quiet("handled", 2, 60, read=see(UNIT, CONFLICT, pending=1)),
        ],
    ),
    Story(
        "terminal with an open window: terminal only",
        [*quiet("coalescing", 0, read=see(UNIT)), Tick(4 * MINUTE, see(UNIT, MERGED), "terminal succeeded: merged")],
    ),
    Story(
        "merged in the tick in which the budget runs out: succeeded",
        [Tick(0, see(UNIT), WAKE), End(tokens=9), Tick(60, see(MERGED), "terminal succeeded: merged")],
        limits.Limits(NOW.policy, limits.Budgets(turns=1, tokens=9, lifetime=60.0)),
    ),
    Story(
        "runtime is judged before turns before tokens before errors: runtime",
        [Tick(0, see(UNIT), WAKE), End(tokens=9), Tick(60, failed(), "stop lifetime")],
        limits.Limits(NOW.policy, limits.Budgets(1, 9, 1, 60.0, 60.0)),
    ),
    Story(
        "runtime is judged before turns before tokens before errors: active time",
        [Tick(0, see(UNIT), WAKE), End(tokens=9), Tick(60, failed(), "stop active-time")],
        limits.Limits(NOW.policy, limits.Budgets(1, 9, 1, 60.0)),
    ),
    Story(
        "runtime is judged before turns before tokens before errors: turns",
        [Tick(0, see(UNIT), WAKE), End(tokens=9), Tick(60, failed(), "stop turns")],
        limits.Limits(NOW.policy, limits.Budgets(1, 9, 1)),
    ),
    Story(
        "runtime is judged before turns before tokens before errors: tokens",
        [Tick(0, see(UNIT), WAKE), End(tokens=9), Tick(60, failed(), "stop tokens")],
        limits.Limits(NOW.policy, limits.Budgets(2, 9, 1)),
    ),
    Story(
        "throttles at two of three errors: no charge",
        [
            *quiet("unreadable", 0, 1, read=failed()),
            *quiet("throttled", 2, 3, 4, read=failed("throttled")),
            Tick(5 * MINUTE, failed(), "stop provider-errors"),
        ],
        story.budgets(provider_errors=3),
    ),
    Story(
        "blind at exactly, and beyond, the threshold",
        [
            *quiet("unreadable", 0, 1, 2, 3, 4, read=failed()),
            Tick(5 * MINUTE, failed(), "wake blind: "),
            End(),
            *quiet("unreadable", 6, 7, 60, read=failed()),
        ],
    ),
    Story(
        "12 identical ticks inside `minDuration`: not yet a stall",
        [*quiet("nothing-open", *range(0, 4319, 60)), Tick(72 * HOUR, see(), "stop stalled")],
    ),
    Story(
        "a pending tick clears the count",
        [
            *quiet("nothing-open", 0, 1),
            *quiet("pending", 2, read=see(pending=1)),
            *quiet("nothing-open", 3, 4),
            Tick(300, see(), "stop stalled"),
        ],
        THREE,
    ),
    Story(
        "a hold clears the count",
        [*quiet("holding", *range(4), read=see(SETTLED_READY)), Tick(300, see(SETTLED_READY), "wake undelayed: ready")],
        THREE,
    ),
    Story(
        "a failure clears the count",
        [
            *quiet("nothing-open", 0, 1),
            *quiet("unreadable", 2, read=failed()),
            *quiet("nothing-open", 3, 4),
            Tick(300, see(), "stop stalled"),
        ],
        THREE,
    ),
    Story(
        "a window or a wake in flight neither counts nor clears",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            *quiet("handled", 1, 2, read=see(UNIT)),
            Tick(6 * HOUR, see(UNIT), WAKE),
            Claim(),
            *quiet("in-flight", 361, 362, read=see(UNIT)),
            End(),
            Tick(363 * MINUTE, see(UNIT), "stop stalled"),
        ],
        THREE,
    ),
    Story(
        "a standing objective never stalls",
        quiet("nothing-open", *range(0, 10000, 60)),
        limits.Limits(budgets=limits.Budgets(lifetime=None), finite=False),
    ),
    Story(
        "a stop by budget after a long quiet is not called a stall",
        [*quiet("nothing-open", *range(0, 4320, 60)), Tick(72 * HOUR, see(), "stop lifetime")],
        story.budgets(lifetime=72 * HOUR),
    ),
    Story(
        "`ready` held for its settle restarts when activity changes",
        [
            *quiet("holding", 0, read=see(SETTLED_READY, activity="a1")),
            *quiet("holding", 4, 6, 8, read=see(SETTLED_READY, activity="a2")),
            Tick(9 * MINUTE, see(SETTLED_READY, activity="a2"), "wake undelayed: ready"),
        ],
        NOW,
    ),
    Story(
        "`ready` held for its settle does not restart over a failed read",
        [
            *quiet("holding", 0, read=see(SETTLED_READY)),
            *quiet("unreadable", 2, 4, read=failed()),
            Tick(5 * MINUTE, see(SETTLED_READY), "wake undelayed: ready"),
        ],
        NOW,
    ),
    Story(
        "a TERMINAL with a hold waits for it",
        [
            *quiet("holding", 0, 2, read=see(dataclasses.replace(MERGED, hold=180.0))),
            Tick(180, see(dataclasses.replace(MERGED, hold=180.0)), "terminal succeeded: merged"),
        ],
    ),
    Story(
        "a claim is withheld while a comment is open, comes after it is dispatched",
        [
            Tick(0, see(COMMENT, READY), "wake undelayed: comment:7"),
            End(),
            *quiet("withheld", 1, 2, read=see(COMMENT, READY)),
            Tick(6 * HOUR, see(COMMENT, READY), "wake undelayed: comment:7"),
            End(said=(said("comment:7", "dispatched"),)),
            Tick(6 * HOUR + 60, see(COMMENT, READY), "wake undelayed: ready"),
        ],
        NOW,
    ),
    Story(
        "`merged` comes regardless of a comment",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(),
            Tick(60, see(COMMENT, MERGED), "terminal succeeded: merged"),
        ],
        NOW,
    ),
    Story(
        "an edit of what a question covers voids it",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            *quiet("parked", 1, 2, read=see(COMMENT)),
            Tick(180, see(EDITED), "wake undelayed: comment:7"),
        ],
        NOW,
    ),
    Story(
        "an edit by a bot restarts the hold and wakes nobody",
        [
            *quiet("holding", 0, read=see(SETTLED_READY, activity="bot said 1")),
            *quiet("holding", 4, 8, read=see(SETTLED_READY, activity="bot said 2")),
        ],
        NOW,
    ),
    Story(
        "a wake that was lost is brought back by level triggering",
        [
            Tick(0, see(UNIT), WAKE),
            Claim(),
            End(LOST),
            Tick(60, see(UNIT), WAKE),
            End(),
            *quiet("handled", 2, read=see(UNIT)),
        ],
        NOW,
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_conformance(told: Story) -> None:
    tell(told)


def test_an_alert_stamp_in_the_future_is_stale() -> None:
    identity = verdicts.Identity(A, "red:unit", "r1")
    memory = states.SubjectState("r1", alerted={identity: states.Stamp(HOUR, HOUR)}, read=True)
    state = states.State(story.UID, subjects={A: memory}, started=0)
    tell(Story("the clock stepped back", [Tick(60, see(UNIT), WAKE)], NOW), state)


def test_a_red_that_is_re_alerted_every_6_h_is_a_stall_after_72_h() -> None:
    steps: list[story.Step] = [Tick(0, see(UNIT), WAKE), End()]
    for hours in range(6, 72, 6):
        steps += [Tick(hours * HOUR - 60, see(UNIT), "quiet handled"), Tick(hours * HOUR, see(UNIT), WAKE), End()]
    steps += [Tick(72 * HOUR - 60, see(UNIT), "quiet handled"), Tick(72 * HOUR - 1, see(UNIT), "quiet handled")]
    under = limits.Limits(NOW.policy, limits.Budgets(turns=None))
    tell(
        Story(
            "told twelve times",
            [*steps, Tick(72 * HOUR, see(UNIT), WAKE), End(), Tick(72 * HOUR + 1, see(UNIT), "stop stalled")],
            under,
        )
    )


def test_two_watches_of_one_subject_keep_separate_memories() -> None:
    first = tell(Story("the first", [Tick(0, see(UNIT), WAKE), End(), Tick(60, see(UNIT), "quiet handled")], NOW))
    second = states.State(ids.WatchUid("w2"))
    made = decide.decide({A: see(UNIT)}, second, NOW, 60)
    assert story.words(made.verdict) == WAKE
    assert made.state.in_flight is not None
    assert first.in_flight is None
    assert story.stamps(first) == {"red:unit": 0}
