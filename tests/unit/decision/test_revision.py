"""Rule 1: a new revision drops REVISION memory, in every read, before anything is masked."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import COMMENT, MINUTE, UNIT, Claim, End, Story, Tick, partly, see
from vigil.model import ids, observations, states, verdicts

HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)

STORIES = [
    Story(
        "a new revision unmasks what was told on the old one",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(),
            Tick(5 * MINUTE, see(UNIT), "quiet handled"),
            Tick(6 * MINUTE, see(UNIT, revision="r2"), "quiet coalescing"),
            Tick(10 * MINUTE, see(UNIT, revision="r2"), "wake converged: red:unit"),
        ],
    ),
    Story(
        "an incomplete read moves the revision as well as a complete one",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(),
            Tick(5 * MINUTE, partly(revision="r2"), "quiet incomplete"),
            Tick(6 * MINUTE, see(UNIT), "quiet coalescing"),
        ],
    ),
    Story(
        "a new revision empties the window of REVISION entries and leaves the NEVER ones there",
        [
            Tick(0, see(UNIT, COMMENT, pending=1), "quiet coalescing"),
            Tick(2 * MINUTE, see(COMMENT, revision="r2", pending=1), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT, revision="r2", pending=1), "wake converged: comment:7"),
        ],
    ),
    Story(
        "a window member of an old revision does not wait for a complete read to go",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(2 * MINUTE, partly(revision="r2"), "quiet incomplete"),
            Tick(31 * MINUTE, partly(revision="r2"), "quiet incomplete"),
        ],
    ),
    Story(
        "a new revision drops what was dispatched on the old one",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(said=(story.said("red:unit", "dispatched"),)),
            Tick(7 * 60 * MINUTE, see(UNIT), "quiet handled"),
            Tick(7 * 60 * MINUTE + 1, see(UNIT, revision="r2"), "quiet coalescing"),
        ],
    ),
    Story(
        "a new revision begins a hold again",
        [
            Tick(0, see(HELD), "quiet holding"),
            Tick(4 * MINUTE, see(HELD, revision="r2"), "quiet holding"),
            Tick(8 * MINUTE, see(HELD, revision="r2"), "quiet holding"),
            Tick(9 * MINUTE, see(HELD, revision="r2"), "quiet coalescing"),
        ],
    ),
    Story(
        "a revision that comes back finds no memory of its own",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(revision="r2"), "quiet nothing-open"),
            Tick(8 * MINUTE, see(UNIT), "quiet coalescing"),
            Tick(12 * MINUTE, see(UNIT), "wake converged: red:unit"),
        ],
    ),
    Story(
        "a failed read says nothing about the revision",
        [
            Tick(0, see(UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
            Claim(),
            End(),
            Tick(5 * MINUTE, story.failed(), "quiet unreadable"),
            Tick(6 * MINUTE, see(UNIT), "quiet handled"),
        ],
    ),
    Story(
        "a REVISION and a NEVER entry with the same key are two",
        [
            Tick(0, see(UNIT, dataclasses.replace(COMMENT, key=UNIT.key)), "quiet coalescing"),
            Tick(
                4 * MINUTE,
                see(UNIT, dataclasses.replace(COMMENT, key=UNIT.key)),
                "wake converged: red:unit red:unit",
            ),
            Claim(),
            End(),
            Tick(5 * MINUTE, see(UNIT, dataclasses.replace(COMMENT, key=UNIT.key), revision="r2"), "quiet coalescing"),
            Tick(
                9 * MINUTE,
                see(UNIT, dataclasses.replace(COMMENT, key=UNIT.key), revision="r2"),
                "wake converged: red:unit",
            ),
        ],
    ),
    Story(
        "an entry of the wake that a session has is not stamped once its revision is gone",
        [
            Tick(0, see(UNIT, COMMENT), "quiet coalescing"),
            Tick(4 * MINUTE, see(UNIT, COMMENT), "wake converged: comment:7 red:unit"),
            Claim(),
            Tick(5 * MINUTE, see(UNIT, COMMENT, revision="r2"), "quiet in-flight"),
            End(),
            Tick(9 * MINUTE, see(UNIT, COMMENT, revision="r2"), "wake converged: red:unit"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_revision(told: Story) -> None:
    story.tell(told)


def test_each_never_entry_keeps_its_own_age_over_a_revision() -> None:
    later = dataclasses.replace(COMMENT, key="comment:8")
    state = story.tell(
        Story(
            "two comments",
            [
                Tick(0, see(COMMENT), "quiet coalescing"),
                Tick(1 * MINUTE, see(COMMENT, later), "quiet coalescing"),
                Tick(2 * MINUTE, see(COMMENT, later, revision="r2"), "quiet coalescing"),
            ],
        )
    )
    assert story.window(state) == {"comment:7": 0, "comment:8": 1 * MINUTE}


def test_the_drop_of_a_stamp_is_counted() -> None:
    identity = verdicts.Identity(ids.SubjectId("a"), "red:unit", "r1")
    told = states.State(
        story.UID,
        subjects={identity.subject: states.SubjectState("r1", alerted={identity: states.Stamp(0, 0)})},
        started=0,
    )
    state = story.tell(Story("a new revision", [Tick(0, see(revision="r2"), "quiet nothing-open")]), told)
    assert story.stamps(state) == {}
    assert state.forgotten == 1
