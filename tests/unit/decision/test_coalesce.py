"""Rule 10: a fresh entry waits in the window until its subject has converged and the window has passed, or its cap."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    E2E,
    MINUTE,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    failed,
    partly,
    see,
)
from vigil.decision import decide
from vigil.model import ids, verdicts

LATE = dataclasses.replace(COMMENT, key="comment:8")

STORIES = [
    Story(
        "two staggered failures and a drain: one wake that names both",
        [
            Tick(0, see(UNIT, pending=2), "quiet coalescing"),
            Tick(3 * MINUTE, see(UNIT, E2E, pending=1), "quiet coalescing"),
            Tick(5 * MINUTE, see(UNIT, E2E, pending=0), "wake converged: red:e2e red:unit"),
        ],
    ),
    Story(
        "converged in the opening tick still waits for the window",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE - 1, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "pending that never drains: the window is flushed at its cap",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT, pending=1), "quiet coalescing"),
            Tick(30 * MINUTE - 1, see(UNIT, pending=1), "quiet coalescing"),
            Tick(30 * MINUTE, see(UNIT, pending=1), "wake window-cap: red:unit"),
        ],
    ),
    Story(
        "a late joiner rides along",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e red:unit"),
        ],
    ),
    Story(
        "the oldest member makes the cap",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(29 * MINUTE, see(UNIT, E2E, pending=1), "quiet coalescing"),
            Tick(30 * MINUTE, see(UNIT, E2E, pending=1), "wake window-cap: red:e2e red:unit"),
        ],
    ),
    Story(
        "what clears in the window is not reported",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(2 * MINUTE, see(), "quiet nothing-open"),
            Tick(4 * MINUTE, see(), "quiet nothing-open"),
        ],
    ),
    Story(
        "what clears and comes back waits anew",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(2 * MINUTE, see(), "quiet nothing-open"),
            Tick(3 * MINUTE, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "quiet coalescing"),
            Tick(7 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "a NEVER entry stays in the window when it is no longer shown",
        [Tick(0, see(COMMENT), "quiet coalescing"), Tick(4 * MINUTE, see(), "wake converged: comment:7")],
    ),
    Story(
        "a NEVER entry goes with checks pending",
        [
            Tick(0, see(COMMENT, pending=5), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT, pending=5), "wake converged: comment:7"),
        ],
    ),
    Story(
        "a NEVER entry goes in an incomplete read",
        [
            Tick(0, see(COMMENT), "quiet coalescing"),
            Tick(4 * MINUTE, partly(COMMENT), "wake converged: comment:7"),
        ],
    ),
    Story(
        "a REVISION entry has not converged in an incomplete read, but its cap counts",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, partly(UNIT), "quiet incomplete"),
            Tick(29 * MINUTE, partly(), "quiet incomplete"),
            Tick(30 * MINUTE, partly(), "wake window-cap: red:unit"),
        ],
    ),
    Story(
        "one member that is ready takes the whole window along",
        [
            Tick(0, {"a": see(UNIT), "b": see(pending=1)}, "quiet coalescing"),
            Tick(3 * MINUTE, {"a": see(UNIT), "b": see(E2E, pending=1)}, "quiet coalescing"),
            Tick(4 * MINUTE, {"a": see(UNIT), "b": see(E2E, pending=1)}, "wake converged: red:unit b#red:e2e"),
        ],
    ),
    Story(
        "pending of another subject keeps nothing back",
        [
            Tick(0, {"a": see(UNIT), "b": see(pending=1)}, "quiet coalescing"),
            Tick(4 * MINUTE, {"a": see(UNIT), "b": see(pending=1)}, "wake converged: red:unit"),
        ],
    ),
    Story(
        "converged is named before the cap",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(30 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "the window is not flushed in a tick in which a member's subject was not read",
        [
            Tick(0, {"a": see(UNIT), "b": see(E2E)}, "quiet coalescing"),
            Tick(31 * MINUTE, {"a": see(UNIT), "b": failed()}, "quiet unreadable"),
            Tick(32 * MINUTE, {"a": see(UNIT), "b": failed("throttled")}, "quiet throttled"),
            Tick(33 * MINUTE, {"a": see(UNIT), "b": see(E2E)}, "wake converged: red:unit b#red:e2e"),
        ],
    ),
    Story(
        "a subject that was not read and has no member keeps nothing back",
        [
            Tick(0, {"a": see(UNIT), "b": failed()}, "quiet unreadable"),
            Tick(4 * MINUTE, {"a": see(UNIT), "b": failed()}, "wake converged: red:unit"),
        ],
    ),
    Story(
        "a window of nothing delivers at once",
        [Tick(0, see(UNIT, pending=1), "wake undelayed: red:unit")],
        story.policy(coalesce_window=0.0),
    ),
    Story(
        "a window of nothing waits for a subject that was not read",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            Claim(),
            End(story.LOST),
            Tick(60, failed(), "quiet unreadable"),
            Tick(120, see(COMMENT), "wake undelayed: comment:7"),
        ],
        story.policy(coalesce_window=0.0),
    ),
    Story(
        "a cap that is shorter than the window counts",
        [Tick(0, see(UNIT), "quiet coalescing"), Tick(60, see(UNIT), "wake window-cap: red:unit")],
        story.policy(coalesce_max=60.0),
    ),
    Story(
        "a stamp of the window in the future becomes now",
        [
            Tick(10 * MINUTE, see(UNIT), "quiet coalescing"),
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "a wake that was lost goes back to the window at its old stamps, and is repeated at once",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(story.LOST),
            Tick(5 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e red:unit"),
        ],
    ),
    Story(
        "what cleared while its wake was lost is not repeated",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(story.LOST),
            Tick(5 * MINUTE, see(), "quiet nothing-open"),
        ],
    ),
    Story(
        "what was lost after a new revision is not repeated, not even in an incomplete read",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            Tick(5 * MINUTE, see(revision="r2"), "quiet in-flight"),
            End(story.LOST),
            Tick(40 * MINUTE, partly(revision="r2"), "quiet incomplete"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_coalesce(told: Story) -> None:
    story.tell(told)


def test_each_member_has_its_own_stamp() -> None:
    state = story.tell(
        Story(
            "two",
            [Tick(0, see(UNIT), "quiet coalescing"), Tick(60, see(UNIT, COMMENT), "quiet coalescing")],
        )
    )
    assert story.window(state) == {"red:unit": 0, "comment:7": 60}


def test_a_wake_says_what_it_is_about_in_one_line() -> None:
    seen = [dataclasses.replace(UNIT, key=f"red:{n}", brief=f"job {n} failed" if n else "") for n in range(50)]
    state = story.tell(Story("many", [Tick(0, see(*seen), "quiet coalescing")]))
    made = decide.decide({ids.SubjectId("a"): see(*seen)}, state, story.DEFAULTS, 4 * MINUTE)
    assert isinstance(made.verdict, verdicts.Wake)
    assert made.verdict.brief.startswith("red:0; job 1 failed; job 10 failed")
    assert len(made.verdict.brief) == 300
    assert made.verdict.brief.endswith("…")
