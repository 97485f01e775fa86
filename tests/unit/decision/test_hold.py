"""Rule 2: an entry with a hold counts after it has stood for that time with the activity unmoved."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import COMMENT, CONFLICT, MERGED, MINUTE, UNIT, Claim, End, Story, Tick, partly, see
from vigil.model import observations

SETTLED = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)
TEN = dataclasses.replace(UNIT, key="stuck:lint", hold=10 * MINUTE)
NEVER_HELD = dataclasses.replace(COMMENT, key="above:100", hold=5 * MINUTE)

STORIES = [
    Story(
        "a hold of the settle time is served at its end and not before",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE - 1, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED), "quiet coalescing"),
        ],
    ),
    Story(
        "settle is the Watch's own",
        [Tick(0, see(SETTLED), "quiet holding"), Tick(60, see(SETTLED), "quiet coalescing")],
        story.policy(settle=60.0),
    ),
    Story(
        "a settle time of nothing holds nothing", [Tick(0, see(SETTLED), "quiet coalescing")], story.policy(settle=0)
    ),
    Story(
        "a hold of so many seconds is served by the clock, however few reads there are",
        [Tick(0, see(TEN), "quiet holding"), Tick(10 * MINUTE, see(TEN), "quiet coalescing")],
    ),
    Story(
        "activity begins a hold again",
        [
            Tick(0, see(SETTLED, activity="a"), "quiet holding"),
            Tick(3 * MINUTE, see(SETTLED, activity="b"), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, activity="b"), "quiet holding"),
            Tick(8 * MINUTE, see(SETTLED, activity="b"), "quiet coalescing"),
        ],
    ),
    Story(
        "activity begins a served hold again, and the entry leaves the window",
        [
            Tick(0, see(SETTLED, activity="a"), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, activity="a"), "quiet coalescing"),
            Tick(9 * MINUTE, see(SETTLED, activity="b"), "quiet holding"),
            Tick(14 * MINUTE, see(SETTLED, activity="b"), "quiet coalescing"),
            Tick(18 * MINUTE, see(SETTLED, activity="b"), "wake converged: missing:lint"),
        ],
    ),
    Story(
        "an entry that a complete read does not show begins its hold again",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(4 * MINUTE, see(), "quiet nothing-open"),
            Tick(5 * MINUTE, see(SETTLED), "quiet holding"),
            Tick(10 * MINUTE, see(SETTLED), "quiet coalescing"),
        ],
    ),
    Story(
        "a held NEVER entry that is no longer shown leaves the window: its hold has to begin again",
        [
            Tick(0, see(NEVER_HELD), "quiet holding"),
            Tick(5 * MINUTE, see(NEVER_HELD, pending=1), "quiet coalescing"),
            Tick(6 * MINUTE, see(), "quiet nothing-open"),
            Tick(9 * MINUTE, see(), "quiet nothing-open"),
        ],
    ),
    Story(
        "a held NEVER entry that is no longer shown leaves an unclaimed wake too",
        [
            Tick(0, see(NEVER_HELD), "quiet holding"),
            Tick(5 * MINUTE, see(NEVER_HELD, COMMENT), "quiet coalescing"),
            Tick(9 * MINUTE, see(NEVER_HELD, COMMENT), "wake converged: above:100 comment:7"),
            Tick(10 * MINUTE, see(COMMENT), "quiet in-flight"),
            Claim(),
            End(),
            Tick(11 * MINUTE, see(NEVER_HELD, COMMENT), "quiet holding"),
        ],
    ),
    Story(
        "a failed read does nothing to a hold",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(4 * MINUTE, story.failed(), "quiet unreadable"),
            Tick(5 * MINUTE, see(SETTLED), "quiet coalescing"),
        ],
    ),
    Story(
        "a hold begins with an incomplete read, is not served in one, and runs on through them",
        [
            Tick(0, partly(SETTLED), "quiet incomplete"),
            Tick(5 * MINUTE, partly(SETTLED), "quiet incomplete"),
            Tick(6 * MINUTE, see(SETTLED), "quiet coalescing"),
        ],
    ),
    Story(
        "an incomplete read that shows nothing, or other activity, begins no hold again",
        [
            Tick(0, see(SETTLED, activity="a"), "quiet holding"),
            Tick(2 * MINUTE, partly(activity="b"), "quiet incomplete"),
            Tick(4 * MINUTE, partly(SETTLED, activity="b"), "quiet incomplete"),
            Tick(5 * MINUTE, see(SETTLED, activity="a"), "quiet coalescing"),
        ],
    ),
    Story(
        "a held member stays in the window through an incomplete read, and is not delivered by it",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, pending=1), "quiet coalescing"),
            Tick(36 * MINUTE, partly(SETTLED), "quiet incomplete"),
            Tick(37 * MINUTE, partly(), "quiet incomplete"),
            Tick(38 * MINUTE, see(SETTLED, pending=1), "wake window-cap: missing:lint"),
        ],
    ),
    Story(
        "what is delivered in an incomplete read leaves the held member behind",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, UNIT, pending=1), "quiet coalescing"),
            Tick(35 * MINUTE, partly(SETTLED, UNIT), "wake window-cap: red:unit"),
        ],
    ),
    Story(
        "an IMMEDIATE entry in an incomplete read takes no held member along",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, pending=1), "quiet coalescing"),
            Tick(6 * MINUTE, partly(SETTLED, CONFLICT), "wake immediate: conflict"),
        ],
    ),
    Story(
        "an IMMEDIATE entry waits for its hold",
        [
            Tick(0, see(dataclasses.replace(CONFLICT, hold=60)), "quiet holding"),
            Tick(60, see(dataclasses.replace(CONFLICT, hold=60)), "wake immediate: conflict"),
        ],
    ),
    Story(
        "a TERMINAL entry waits for its hold",
        [
            Tick(0, see(dataclasses.replace(MERGED, hold=60)), "quiet holding"),
            Tick(60, see(dataclasses.replace(MERGED, hold=60)), "terminal succeeded: merged"),
        ],
    ),
    Story(
        "an alert stamp outlives a hold that begins again",
        [
            Tick(0, see(SETTLED, activity="a"), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED, activity="a"), "quiet coalescing"),
            Tick(9 * MINUTE, see(SETTLED, activity="a"), "wake converged: missing:lint"),
            Claim(),
            End(),
            Tick(10 * MINUTE, see(SETTLED, activity="b"), "quiet holding"),
            Tick(15 * MINUTE, see(SETTLED, activity="b"), "quiet handled"),
        ],
    ),
    Story(
        "a hold that begins again takes the entry out of an unclaimed wake",
        [
            Tick(0, see(SETTLED, UNIT), "quiet holding"),
            Tick(4 * MINUTE, see(SETTLED, UNIT), "wake converged: red:unit"),
            Tick(5 * MINUTE, see(SETTLED, UNIT), "quiet in-flight"),
            Tick(6 * MINUTE, see(SETTLED, UNIT, activity="b"), "quiet in-flight"),
            Claim(),
            End(),
            Tick(11 * MINUTE, see(SETTLED, UNIT, activity="b"), "quiet coalescing"),
        ],
    ),
    Story(
        "an unclaimed wake keeps its held entry through an incomplete read",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED), "quiet coalescing"),
            Tick(9 * MINUTE, see(SETTLED), "wake converged: missing:lint"),
            Tick(10 * MINUTE, partly(SETTLED), "quiet incomplete"),
            Claim(),
            End(),
            Tick(11 * MINUTE, see(SETTLED), "quiet handled"),
        ],
    ),
    Story(
        "an entry that needs no hold any more counts at once",
        [
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(1 * MINUTE, see(dataclasses.replace(SETTLED, hold=0)), "quiet coalescing"),
            Tick(2 * MINUTE, partly(dataclasses.replace(SETTLED, hold=0)), "quiet incomplete"),
        ],
    ),
    Story(
        "a hold that began in the future begins now",
        [
            Tick(10 * MINUTE, see(SETTLED), "quiet holding"),
            Tick(0, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE - 1, see(SETTLED), "quiet holding"),
            Tick(5 * MINUTE, see(SETTLED), "quiet coalescing"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_hold(told: Story) -> None:
    story.tell(told)
