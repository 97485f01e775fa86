"""Rule 8: what was told within `realertAfter`, and what is dispatched or claimed, is no news."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import COMMENT, HOUR, MINUTE, UNIT, Claim, End, Story, Tick, failed, partly, see, tell
from vigil.model import ids, limits, observations, states, verdicts

LIMITS = story.policy(coalesce_window=0.0, stall_action=limits.StallAction.OFF)
WAKE = "wake undelayed: red:unit"
COMMENTED = "wake undelayed: comment:7"

STORIES = [
    Story(
        "an entry that was told is told again after realertAfter, counted from the verdict",
        [
            Tick(0, see(UNIT), WAKE),
            Claim(),
            End(),
            Tick(6 * HOUR - 1, see(UNIT), "quiet handled"),
            Tick(6 * HOUR, see(UNIT), WAKE),
        ],
        LIMITS,
    ),
    Story(
        "a realertAfter of nothing tells it in every tick",
        [Tick(0, see(UNIT), WAKE), End(), Tick(1, see(UNIT), WAKE)],
        story.policy(coalesce_window=0.0, realert_after=0.0),
    ),
    Story(
        "an entry that went away and comes back is masked by its stamp",
        [Tick(0, see(UNIT), WAKE), End(), Tick(60, see(), "quiet nothing-open"), Tick(120, see(UNIT), "quiet handled")],
        LIMITS,
    ),
    Story(
        "another episode is other news",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, see(COMMENT), "quiet handled"),
            Tick(120, see(dataclasses.replace(COMMENT, episode="2")), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "a change of brief or detail is no news",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(60, see(dataclasses.replace(UNIT, brief="it failed 2 minutes ago", detail="d2")), "quiet handled"),
        ],
        LIMITS,
    ),
    Story(
        "a dispatched entry is no news until its identity changes",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            *(Tick(n * 5 * HOUR, see(COMMENT), "quiet handled") for n in range(1, 30)),
        ],
        LIMITS,
    ),
    Story(
        "a claimed entry is no news until its identity changes",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "claimed"),)),
            Tick(7 * HOUR, see(COMMENT), "quiet handled"),
        ],
        LIMITS,
    ),
    Story(
        "an entry that was opened again comes back after realertAfter",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"), story.said("comment:7", "open"))),
            Tick(HOUR, see(COMMENT), "quiet handled"),
            Tick(6 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "what was dispatched, went, and comes back realertAfter after it was last shown is news, with no tick between",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, see(), "quiet nothing-open"),
            Tick(6 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "such an entry contradicts a claim again",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, see(), "quiet nothing-open"),
            Tick(6 * HOUR, see(COMMENT, story.READY), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "what was dispatched, went, and comes back before is not",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, see(), "quiet nothing-open"),
            Tick(6 * HOUR - 1, see(COMMENT), "quiet handled"),
        ],
        LIMITS,
    ),
    Story(
        "what was dispatched and shown by two reads was never gone, whatever failed and however long it was between",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, failed(), "quiet unreadable"),
            Tick(30 * HOUR, see(COMMENT), "quiet handled"),
        ],
        LIMITS,
    ),
    Story(
        "nor after an outage with a tick an hour",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            *(Tick(hour * HOUR, failed("throttled"), "quiet throttled") for hour in range(1, 30)),
            Tick(30 * HOUR, see(COMMENT), "quiet handled"),
            Tick(31 * HOUR, see(), "quiet nothing-open"),
            Tick(37 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "what was gone before an outage is forgotten in it all the same",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(60, see(), "quiet nothing-open"),
            *(Tick(hour * HOUR, failed("throttled"), "quiet throttled") for hour in range(1, 7)),
            Tick(7 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "incomplete reads that do not show it are reads: after realertAfter of them it is forgotten",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            *(Tick(hour * HOUR, partly(), "quiet incomplete") for hour in range(1, 7)),
            Tick(7 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "a clock that steps back does not make the memory of what is gone last longer",
        [
            Tick(24 * HOUR, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(24 * HOUR + 60, see(), "quiet nothing-open"),
            Tick(0, see(), "quiet nothing-open"),
            Tick(6 * HOUR - 1, see(), "quiet nothing-open"),
            Tick(6 * HOUR, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "memory is kept until realertAfter after the last read that showed the entry",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(4 * HOUR, see(COMMENT), "quiet handled"),
            Tick(5 * HOUR, see(), "quiet nothing-open"),
            Tick(10 * HOUR - 1, see(), "quiet nothing-open"),
            Tick(10 * HOUR - 0.5, see(COMMENT), "quiet handled"),
        ],
        LIMITS,
    ),
    Story(
        "and no longer",
        [
            Tick(0, see(COMMENT), COMMENTED),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(4 * HOUR, see(COMMENT), "quiet handled"),
            Tick(10 * HOUR, see(), "quiet nothing-open"),
            Tick(10 * HOUR + 1, see(COMMENT), COMMENTED),
        ],
        LIMITS,
    ),
    Story(
        "a session that took its time dispatches an entry that was shown all the while",
        [
            Tick(0, see(COMMENT), COMMENTED),
            Claim(),
            Tick(2 * MINUTE, see(COMMENT), "quiet in-flight"),
            Tick(9 * MINUTE, see(COMMENT), "quiet in-flight"),
            End(said=(story.said("comment:7", "dispatched"),)),
            Tick(10 * MINUTE, failed(), "quiet unreadable"),
            Tick(11 * MINUTE, see(COMMENT), "quiet handled"),
        ],
        story.policy(coalesce_window=0.0, realert_after=5 * MINUTE),
    ),
    Story(
        "an incomplete read that does not show an entry clears nothing",
        [
            Tick(0, see(UNIT), WAKE),
            End(),
            Tick(60, partly(), "quiet incomplete"),
            Tick(120, see(UNIT), "quiet handled"),
        ],
        LIMITS,
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_mask(told: Story) -> None:
    tell(told)


def test_memory_that_is_pruned_is_gone_from_the_state() -> None:
    state = tell(
        Story(
            "gone",
            [
                Tick(0, see(UNIT), WAKE),
                End(said=(story.said("red:unit", "dispatched"),)),
                Tick(6 * HOUR, see(), "quiet nothing-open"),
            ],
            LIMITS,
        )
    )
    assert (story.stamps(state), story.dispositions(state), state.forgotten) == ({}, {}, 1)


def test_the_memory_of_an_entry_that_is_shown_is_never_cut() -> None:
    state = tell(
        Story(
            "shown for a week",
            [
                Tick(0, see(COMMENT), COMMENTED),
                End(said=(story.said("comment:7", "dispatched"),)),
                *(Tick(n * 5 * HOUR, see(COMMENT), "quiet handled") for n in range(1, 20)),
            ],
            LIMITS,
        )
    )
    assert story.dispositions(state) == {"comment:7": "dispatched"}
    assert story.stamps(state) == {"comment:7": 0}


def test_a_stamp_in_the_future_is_stale_and_masks_nothing() -> None:
    identity = verdicts.Identity(ids.SubjectId("a"), "red:unit", "r1")
    memory = states.SubjectState("r1", alerted={identity: states.Stamp(HOUR, HOUR)})
    state = states.State(story.UID, subjects={identity.subject: memory}, started=0)
    tell(Story("the clock stepped back", [Tick(HOUR - 1, see(UNIT), WAKE)], LIMITS), state)
    tell(Story("it did not", [Tick(HOUR, see(UNIT), "quiet handled")], LIMITS), state)


def test_a_severity_that_changes_is_no_news() -> None:
    urgent = dataclasses.replace(UNIT, severity=observations.Severity.IMMEDIATE)
    tell(Story("urgent", [Tick(0, see(UNIT), WAKE), End(), Tick(60, see(urgent), "quiet handled")], LIMITS))
