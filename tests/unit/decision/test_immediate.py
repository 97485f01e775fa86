"""Rule 9: a served IMMEDIATE entry that is news is delivered now, with every served entry that is news."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    CONFLICT,
    E2E,
    MINUTE,
    READY,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    failed,
    partly,
    see,
)
from vigil.model import observations

HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)

STORIES = [
    Story(
        "an IMMEDIATE entry does not wait for the window",
        [Tick(0, see(CONFLICT, pending=3), "wake immediate: conflict")],
    ),
    Story(
        "it takes along what is fresh in its tick",
        [Tick(0, see(CONFLICT, UNIT), "wake immediate: conflict red:unit")],
    ),
    Story(
        "inside a window it goes now, with the window, and is masked from then on",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, see(UNIT, CONFLICT, pending=1), "wake immediate: conflict red:unit"),
            Claim(),
            End(),
            Tick(2 * MINUTE, see(UNIT, CONFLICT), "quiet handled"),
            Tick(8 * MINUTE, see(UNIT, CONFLICT), "quiet handled"),
        ],
    ),
    Story(
        "it takes along a NEVER member that is no longer shown",
        [
            Tick(0, see(COMMENT, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, see(CONFLICT), "wake immediate: comment:7 conflict"),
        ],
    ),
    Story(
        "it takes along nothing that has cleared in its tick",
        [
            Tick(0, see(UNIT, E2E, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, see(E2E, CONFLICT), "wake immediate: conflict red:e2e"),
        ],
    ),
    Story(
        "it takes along what an incomplete read does not show",
        [
            Tick(0, see(UNIT, pending=1), "quiet coalescing"),
            Tick(1 * MINUTE, partly(CONFLICT), "wake immediate: conflict red:unit"),
        ],
    ),
    Story(
        "a member whose subject was not read stays in the window",
        [
            Tick(0, {"a": see(), "b": see(COMMENT)}, "quiet coalescing"),
            Tick(1 * MINUTE, {"a": see(CONFLICT), "b": failed()}, "wake immediate: conflict"),
            End(),
            Tick(4 * MINUTE, {"a": see(CONFLICT), "b": see(COMMENT)}, "wake converged: b#comment:7"),
        ],
    ),
    Story(
        "it takes neither a held entry nor a claim along",
        [Tick(0, see(CONFLICT, HELD, READY), "wake immediate: conflict")],
    ),
    Story(
        "a masked IMMEDIATE entry hurries nothing",
        [
            Tick(0, see(CONFLICT), "wake immediate: conflict"),
            End(),
            Tick(1 * MINUTE, see(CONFLICT, UNIT), "quiet coalescing"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_immediate(told: Story) -> None:
    story.tell(told)


def test_what_went_with_an_immediate_entry_is_no_longer_in_the_window() -> None:
    state = story.tell(
        Story(
            "in a window",
            [
                Tick(0, see(UNIT, COMMENT), "quiet coalescing"),
                Tick(60, see(COMMENT, CONFLICT), "wake immediate: comment:7 conflict"),
            ],
        )
    )
    assert story.window(state) == {}
    assert state.in_flight is not None
    assert [one.since for one in state.in_flight.present] == [0, 60]


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_entries_with_one_identity_the_more_urgent_one_counts_whatever_their_order(order: int) -> None:
    urgent = dataclasses.replace(UNIT, severity=story.IMMEDIATE)
    story.tell(Story("twice", [Tick(0, see(*[UNIT, urgent][::order]), "wake immediate: red:unit")]))
