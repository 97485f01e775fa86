"""`onFirstObservation: Baseline`: what is already true is stamped up to the first complete read."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    CONFLICT,
    E2E,
    HOUR,
    MERGED,
    MINUTE,
    READY,
    UNIT,
    Silence,
    Story,
    Tick,
    failed,
    partly,
    see,
    tell,
)
from vigil.model import limits, observations

LIMITS = story.policy(on_first_observation=limits.FirstObservation.BASELINE, coalesce_window=0.0)
HELD = dataclasses.replace(UNIT, key="missing:lint", hold=MINUTE)

STORIES = [
    Story(
        "what is open in the first read wakes nobody, what comes later does",
        [
            Tick(0, see(UNIT), "quiet handled"),
            Tick(60, see(UNIT, E2E), "wake undelayed: red:e2e"),
        ],
        LIMITS,
    ),
    Story("an IMMEDIATE entry neither", [Tick(0, see(CONFLICT), "quiet handled")], LIMITS),
    Story("an end is told all the same", [Tick(0, see(UNIT, MERGED), "terminal succeeded: merged")], LIMITS),
    Story(
        "a REVISION entry comes back after realertAfter",
        [Tick(0, see(UNIT), "quiet handled"), Tick(6 * HOUR, see(UNIT), "wake undelayed: red:unit")],
        LIMITS,
    ),
    Story(
        "a NEVER entry is dispatched, and does not",
        [Tick(0, see(COMMENT), "quiet handled"), Tick(7 * HOUR, see(COMMENT), "quiet handled")],
        LIMITS,
    ),
    Story(
        "incomplete reads stamp up to the first complete one, and failed ones end nothing",
        [
            Tick(0, partly(UNIT), "quiet incomplete"),
            Tick(60, failed(), "quiet unreadable"),
            Tick(120, see(UNIT, E2E), "quiet handled"),
            Tick(180, see(UNIT, E2E, COMMENT), "wake undelayed: comment:7"),
        ],
        LIMITS,
    ),
    Story(
        "a held entry is stamped before its hold is served",
        [Tick(0, see(HELD), "quiet holding"), Tick(60, see(HELD), "quiet handled")],
        LIMITS,
    ),
    Story(
        "a withheld claim is stamped too",
        [Tick(0, see(UNIT, READY), "quiet withheld"), Tick(60, see(READY), "quiet handled")],
        LIMITS,
    ),
    Story(
        "a claim is not withheld by what was dispatched by it",
        [Tick(0, see(COMMENT), "quiet handled"), Tick(60, see(COMMENT, READY), "wake undelayed: ready")],
        LIMITS,
    ),
    Story(
        "a new revision is news",
        [Tick(0, see(UNIT), "quiet handled"), Tick(60, see(UNIT, revision="r2"), "wake undelayed: red:unit")],
        LIMITS,
    ),
    Story(
        "a silence does not keep it from stamping",
        [Silence(60), Tick(0, see(UNIT), "quiet silenced"), Tick(60, see(UNIT), "quiet handled")],
        LIMITS,
    ),
    Story(
        "each subject has its own first read",
        [
            Tick(0, {"a": see(UNIT), "b": failed()}, "quiet unreadable"),
            Tick(60, {"a": see(UNIT), "b": see(UNIT)}, "quiet handled"),
            Tick(120, {"a": see(UNIT, E2E), "b": see(UNIT)}, "wake undelayed: red:e2e"),
        ],
        LIMITS,
    ),
    Story(
        "Wake, the default, stamps nothing",
        [Tick(0, see(UNIT), "wake undelayed: red:unit")],
        story.policy(coalesce_window=0.0),
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_baseline(told: Story) -> None:
    tell(told)


def test_it_never_stamps_a_terminal() -> None:
    ending = dataclasses.replace(MERGED, hold=MINUTE)
    assert isinstance(ending, observations.Observation)
    state = tell(Story("held end", [Tick(0, see(UNIT, ending), "quiet holding")], LIMITS))
    assert story.stamps(state) == {"red:unit": 0}


def test_a_policy_that_becomes_baseline_later_stamps_nothing_of_what_was_read_before() -> None:
    state = tell(Story("read", [Tick(0, see(), "quiet nothing-open")]))
    tell(Story("later", [Tick(60, see(UNIT), "wake undelayed: red:unit")], LIMITS), state)
