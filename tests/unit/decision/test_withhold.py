"""Rule 3: a claim waits while anything else of its subject is open and not dispatched."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import COMMENT, MINUTE, READY, SUCCEEDED, UNIT, Claim, End, Story, Tick, partly, see
from vigil.model import observations

NEVER_READY = dataclasses.replace(READY, key="done", resets_on=story.NEVER)
ENDED = dataclasses.replace(READY, key="over", severity=story.TERMINAL)
HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)

STORIES = [
    Story(
        "a claim is news like any other entry",
        [Tick(0, see(READY), "quiet coalescing"), Tick(4 * MINUTE, see(READY), "wake converged: ready")],
    ),
    Story(
        "a claim waits while another entry is open",
        [
            Tick(0, see(READY, UNIT), "quiet withheld"),
            Tick(4 * MINUTE, see(READY, UNIT), "wake converged: red:unit"),
            Claim(),
            End(),
            Tick(5 * MINUTE, see(READY, UNIT), "quiet withheld"),
            Tick(6 * MINUTE, see(READY), "quiet coalescing"),
            Tick(10 * MINUTE, see(READY), "wake converged: ready"),
        ],
    ),
    Story(
        "an entry that is only held withholds a claim too",
        [Tick(0, see(READY, HELD), "quiet holding"), Tick(1 * MINUTE, see(READY), "quiet coalescing")],
    ),
    Story(
        "what is dispatched does not withhold a claim",
        [
            Tick(0, see(COMMENT), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT), "wake converged: comment:7"),
            Claim(),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(5 * MINUTE, see(COMMENT, READY), "quiet coalescing"),
            Tick(9 * MINUTE, see(COMMENT, READY), "wake converged: ready"),
        ],
    ),
    Story(
        "what is claimed withholds a claim: its mutation is still under way",
        [
            Tick(0, see(COMMENT), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT), "wake converged: comment:7"),
            Claim(),
            End(said=(story.said("comment:7", "claimed"),)),
            Tick(5 * MINUTE, see(COMMENT, READY), "quiet withheld"),
        ],
    ),
    Story(
        "one claim does not withhold another",
        [
            Tick(0, see(READY, NEVER_READY), "quiet coalescing"),
            Tick(4 * MINUTE, see(READY, NEVER_READY), "wake converged: done ready"),
        ],
    ),
    Story(
        "an entry of another subject withholds nothing",
        [
            Tick(0, {"a": see(READY), "b": see(UNIT)}, "quiet coalescing"),
            Tick(4 * MINUTE, {"a": see(READY), "b": see(UNIT)}, "wake converged: ready b#red:unit"),
        ],
    ),
    Story(
        "a claim leaves the window when something else opens, and waits anew",
        [
            Tick(0, see(READY, pending=1), "quiet coalescing"),
            Tick(2 * MINUTE, see(READY, UNIT, pending=1), "quiet withheld"),
            Tick(3 * MINUTE, see(READY), "quiet coalescing"),
            Tick(6 * MINUTE, see(READY), "quiet coalescing"),
            Tick(7 * MINUTE, see(READY), "wake converged: ready"),
        ],
    ),
    Story(
        "a claim is not delivered in an incomplete read, and leaves the window",
        [
            Tick(0, see(READY, pending=1), "quiet coalescing"),
            Tick(3 * MINUTE, partly(READY), "quiet incomplete"),
            Tick(4 * MINUTE, see(READY), "quiet coalescing"),
            Tick(8 * MINUTE, see(READY), "wake converged: ready"),
        ],
    ),
    Story(
        "a claim that an incomplete read does not show leaves the window as well",
        [
            Tick(0, see(READY, pending=1), "quiet coalescing"),
            Tick(3 * MINUTE, partly(), "quiet incomplete"),
            Tick(31 * MINUTE, partly(), "quiet incomplete"),
        ],
    ),
    Story(
        "a NEVER claim that is not shown leaves the window when something else opens",
        [
            Tick(0, see(NEVER_READY, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, see(pending=1), "quiet coalescing"),
            Tick(2 * MINUTE, see(UNIT, pending=1), "quiet coalescing"),
            Tick(6 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "a claim leaves an unclaimed wake when something else opens",
        [
            Tick(0, see(READY), "quiet coalescing"),
            Tick(4 * MINUTE, see(READY), "wake converged: ready"),
            Tick(5 * MINUTE, see(READY, UNIT), "quiet in-flight"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(READY), "quiet coalescing"),
        ],
    ),
    Story(
        "a claim leaves an unclaimed wake in an incomplete read that does not show it",
        [
            Tick(0, see(READY), "quiet coalescing"),
            Tick(4 * MINUTE, see(READY), "wake converged: ready"),
            Tick(5 * MINUTE, partly(UNIT), "quiet incomplete"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(READY), "quiet coalescing"),
        ],
    ),
    Story(
        "a claim that was lost is still known to be one",
        [
            Tick(0, see(READY), "quiet coalescing"),
            Tick(4 * MINUTE, see(READY), "wake converged: ready"),
            Claim(),
            End(story.LOST),
            Tick(5 * MINUTE, partly(), "quiet incomplete"),
            Tick(6 * MINUTE, see(READY), "quiet coalescing"),
        ],
    ),
    Story(
        "a claim that ends its subject waits like any other",
        [Tick(0, see(ENDED, UNIT), "quiet withheld"), Tick(1 * MINUTE, see(ENDED), "terminal succeeded: over")],
    ),
    Story(
        "a claim is no reason to wait for a claim of another outcome",
        [Tick(0, see(ENDED, dataclasses.replace(READY, outcome=SUCCEEDED)), "terminal succeeded: over")],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_withhold(told: Story) -> None:
    story.tell(told)
