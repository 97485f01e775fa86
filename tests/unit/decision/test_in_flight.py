"""Rule 6: one wake per Watch, amended until it is claimed, then frozen."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    CONFLICT,
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
from vigil.decision import outcomes
from vigil.model import ids, wakes

LATE = dataclasses.replace(COMMENT, key="comment:8")
TOLD: list[story.Step] = [
    Tick(0, see(UNIT), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
]
BOTH: list[story.Step] = [
    Tick(0, see(UNIT, E2E), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e red:unit"),
]

STORIES = [
    Story(
        "what is news joins an unclaimed wake without a window",
        [
            *TOLD,
            Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(UNIT, E2E), "quiet handled"),
        ],
    ),
    Story(
        "an IMMEDIATE entry joins it too, and is no second wake",
        [
            *TOLD,
            Tick(5 * MINUTE, see(UNIT, CONFLICT), "quiet in-flight"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(UNIT, CONFLICT), "quiet handled"),
        ],
    ),
    Story(
        "what has cleared leaves an unclaimed wake, and is not stamped",
        [
            *BOTH,
            Tick(5 * MINUTE, see(UNIT), "quiet in-flight"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(UNIT, E2E), "quiet coalescing"),
        ],
    ),
    Story(
        "a NEVER entry that is no longer shown stays in it",
        [
            Tick(0, see(COMMENT), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT), "wake converged: comment:7"),
            Tick(5 * MINUTE, see(), "quiet in-flight"),
            Claim(),
            End(),
            Tick(6 * MINUTE, see(COMMENT), "quiet handled"),
        ],
    ),
    Story(
        "an incomplete and a failed read take nothing out of it",
        [
            *TOLD,
            Tick(5 * MINUTE, partly(), "quiet incomplete"),
            Tick(6 * MINUTE, failed(), "quiet unreadable"),
            Claim(),
            End(),
            Tick(7 * MINUTE, see(UNIT), "quiet handled"),
        ],
    ),
    Story(
        "a new revision takes REVISION entries out of it even in an incomplete read",
        [
            *TOLD,
            Tick(5 * MINUTE, partly(revision="r2"), "quiet incomplete"),
            Tick(6 * MINUTE, see(UNIT), "quiet coalescing"),
        ],
    ),
    Story(
        "an emptied wake is taken back, and the chain goes on in the same tick",
        [
            *TOLD,
            Tick(5 * MINUTE, see(CONFLICT, revision="r2"), "quiet in-flight"),
            Tick(6 * MINUTE, see(revision="r2"), "quiet nothing-open"),
            Tick(7 * MINUTE, see(CONFLICT, revision="r2"), "wake immediate: conflict"),
        ],
    ),
    Story(
        "an emptied wake leaves what waits in the window to the window",
        [
            Tick(0, {"a": see(), "b": see(COMMENT)}, "quiet coalescing"),
            Tick(1 * MINUTE, {"a": see(CONFLICT), "b": failed()}, "wake immediate: conflict"),
            Tick(4 * MINUTE, {"a": see(), "b": see(COMMENT)}, "quiet in-flight"),
            Tick(5 * MINUTE, {"a": see(), "b": see(COMMENT)}, "quiet in-flight"),
        ],
    ),
    Story(
        "an emptied wake gives way to a window that is old enough",
        [
            Tick(0, {"a": see(), "b": see(COMMENT)}, "quiet coalescing"),
            Tick(1 * MINUTE, {"a": see(CONFLICT), "b": failed()}, "wake immediate: conflict"),
            Tick(4 * MINUTE, {"a": see(), "b": see()}, "wake converged: b#comment:7"),
        ],
    ),
    Story(
        "a claimed wake is frozen: what is fresh joins the window with its stamp, IMMEDIATE too",
        [
            *TOLD,
            Claim(),
            Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight"),
            Tick(6 * MINUTE, see(UNIT, E2E, CONFLICT), "quiet in-flight"),
            Tick(9 * MINUTE, see(UNIT, E2E, CONFLICT), "quiet in-flight"),
            End(),
            Tick(10 * MINUTE, see(UNIT, E2E, CONFLICT), "wake immediate: conflict red:e2e"),
        ],
    ),
    Story(
        "what is in a claimed wake is told although it has cleared",
        [
            *TOLD,
            Claim(),
            Tick(5 * MINUTE, see(), "quiet in-flight"),
            End(),
            Tick(6 * MINUTE, see(UNIT), "quiet handled"),
        ],
    ),
    Story(
        "a claim of an older version leaves what joined later to the window, at its own stamp",
        [
            *TOLD,
            Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight"),
            Claim(sequence=1),
            End(sequence=1),
            Tick(8 * MINUTE, see(UNIT, E2E), "quiet coalescing"),
            Tick(9 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e"),
        ],
    ),
    Story(
        "a claim of an older version tells what had left since",
        [
            *BOTH,
            Tick(5 * MINUTE, see(UNIT), "quiet in-flight"),
            End(sequence=1),
            Tick(6 * MINUTE, see(UNIT, E2E), "quiet handled"),
        ],
    ),
    Story(
        "a claim of an older version tells an entry that left and came back, once",
        [
            Tick(0, see(COMMENT, UNIT), "quiet coalescing"),
            Tick(4 * MINUTE, see(COMMENT, UNIT), "wake converged: comment:7 red:unit"),
            Tick(5 * MINUTE, see(COMMENT), "quiet in-flight"),
            Tick(6 * MINUTE, see(COMMENT, UNIT), "quiet in-flight"),
            End(sequence=1),
            Tick(7 * MINUTE, partly(), "quiet incomplete"),
            Tick(60 * MINUTE, partly(), "quiet incomplete"),
            Tick(61 * MINUTE, see(COMMENT, UNIT), "quiet handled"),
        ],
    ),
    Story(
        "an entry that is dispatched meanwhile leaves an unclaimed wake",
        [
            *TOLD,
            Claim(),
            Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight"),
            End(said=(story.said("red:unit", "dispatched"),)),
            Tick(9 * MINUTE, see(UNIT, E2E), "wake converged: red:e2e"),
            Tick(10 * MINUTE, see(UNIT), "quiet handled"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_in_flight(told: Story) -> None:
    story.tell(told)


def test_a_wake_keeps_its_id_and_counts_its_versions() -> None:
    state = story.tell(Story("a wake", TOLD))
    assert state.in_flight is not None
    first = state.in_flight
    state = story.tell(Story("joined", [Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight")]), state)
    assert state.in_flight is not None
    assert (state.in_flight.id, state.in_flight.sequence) == (first.id, 2)
    state = story.tell(Story("nothing new", [Tick(6 * MINUTE, see(UNIT, E2E), "quiet in-flight")]), state)
    assert state.in_flight is not None
    assert state.in_flight.sequence == 2
    state = story.tell(Story("left", [Tick(7 * MINUTE, see(E2E), "quiet in-flight")]), state)
    assert state.in_flight is not None
    assert state.in_flight.sequence == 3
    assert story.present(state) == {"red:e2e"}


def test_a_late_joiner_keeps_its_place_in_the_window_when_an_older_version_was_claimed() -> None:
    state = story.tell(Story("joined", [*TOLD, Tick(5 * MINUTE, see(UNIT, E2E), "quiet in-flight"), Claim(sequence=1)]))
    assert story.window(state) == {"red:e2e": 5 * MINUTE}
    assert story.present(state) == {"red:unit"}


def test_an_entry_of_a_removed_subject_leaves_an_unclaimed_wake() -> None:
    state = story.tell(
        Story(
            "two subjects",
            [
                Tick(0, {"a": see(UNIT), "b": see(COMMENT)}, "quiet coalescing"),
                Tick(4 * MINUTE, {"a": see(UNIT), "b": see(COMMENT)}, "wake converged: red:unit b#comment:7"),
            ],
        )
    )
    removed = dataclasses.replace(state, subjects={ids.SubjectId("a"): state.subject(ids.SubjectId("a"))})
    left = story.tell(Story("b is removed", [Tick(5 * MINUTE, {"a": see(UNIT)}, "quiet in-flight")]), removed)
    assert story.present(left) == {"red:unit"}


def test_an_entry_of_a_removed_subject_does_not_hold_up_the_window_once_its_wake_is_lost() -> None:
    state = story.tell(
        Story(
            "two subjects",
            [
                Tick(0, {"a": see(UNIT), "b": see(COMMENT)}, "quiet coalescing"),
                Tick(4 * MINUTE, {"a": see(UNIT), "b": see(COMMENT)}, "wake converged: red:unit b#comment:7"),
                Claim(),
            ],
        )
    )
    removed = dataclasses.replace(state, subjects={ids.SubjectId("a"): state.subject(ids.SubjectId("a"))})
    again = Story("lost", [End(story.LOST), Tick(5 * MINUTE, {"a": see(UNIT)}, "wake converged: red:unit")])
    assert story.window(story.tell(again, removed)) == {}


def test_what_left_before_the_version_that_the_sidecar_holds_is_forgotten() -> None:
    flapping: list[story.Step] = [
        step
        for n in range(3)
        for step in (
            Tick((10 + 2 * n) * MINUTE, see(UNIT), "quiet in-flight"),
            Tick((11 + 2 * n) * MINUTE, see(UNIT, E2E), "quiet in-flight"),
        )
    ]
    state = story.tell(Story("an entry comes and goes", [*TOLD, *flapping]))
    assert state.in_flight is not None
    wake = state.in_flight.id
    assert len(state.in_flight.sent) == 4
    held = outcomes.held(state, wake, state.in_flight.sequence)
    assert held.in_flight is not None
    assert len(held.in_flight.sent) == 2
    assert story.present(held) == story.present(state)
    assert outcomes.held(held, wake, state.in_flight.sequence) is held
    assert outcomes.held(state, ids.WakeId("another"), 99) is state
    claimed = outcomes.claimed(state, wake, 1)
    assert outcomes.held(claimed, wake, 99) is claimed


def test_a_version_that_the_sidecar_does_not_hold_yet_is_kept_for_a_claim_in_a_race() -> None:
    state = story.tell(Story("left", [*BOTH, Tick(5 * MINUTE, see(UNIT), "quiet in-flight")]))
    assert state.in_flight is not None
    held = outcomes.held(state, state.in_flight.id, 1)
    assert story.present(outcomes.claimed(held, state.in_flight.id, 1)) == {"red:unit", "red:e2e"}


def test_the_notice_of_a_stop_that_was_lifted_is_taken_back() -> None:
    state = story.tell(
        Story("a Stop", [Tick(0, see(), "quiet nothing-open"), Tick(168 * story.HOUR, see(), "stop lifetime")])
    )
    lifted = dataclasses.replace(state, ended=None, started=168 * story.HOUR)
    again = story.tell(
        Story("armed again", [Tick(168 * story.HOUR + 60, see(CONFLICT), "wake immediate: conflict")]), lifted
    )
    assert again.unstamped == 1


def test_the_notice_of_a_stop_that_was_lifted_is_waited_for_once_it_is_claimed() -> None:
    state = story.tell(
        Story("a Stop", [Tick(0, see(), "quiet nothing-open"), Tick(168 * story.HOUR, see(), "stop lifetime"), Claim()])
    )
    lifted = dataclasses.replace(state, ended=None, started=168 * story.HOUR)
    story.tell(Story("armed again", [Tick(168 * story.HOUR + 60, see(CONFLICT), "quiet in-flight")]), lifted)


@pytest.mark.parametrize("state", [wakes.WakeState.QUEUED, wakes.WakeState.CLAIMED])
def test_what_is_no_outcome_ends_no_wake(state: wakes.WakeState) -> None:
    flying = story.tell(Story("a wake", TOLD))
    assert story.happen(flying, End(state), story.DEFAULTS) is flying
