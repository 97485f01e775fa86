"""The Quiet reason is the first of the list that is true of the Watch in this tick."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import MINUTE, READY, UNIT, Claim, End, Story, Tick, failed, partly, see
from vigil.model import observations

HELD = dataclasses.replace(UNIT, key="missing:lint", hold=observations.SETTLE)
WAKE: list[story.Step] = [
    Tick(0, see(UNIT), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
    Claim(),
]

STORIES = [
    Story("nothing is open", [Tick(0, see(), "quiet nothing-open")]),
    Story("nothing is open, and something still runs", [Tick(0, see(pending=1), "quiet pending")]),
    Story("of any subject", [Tick(0, {"a": see(), "b": see(pending=1)}, "quiet pending")]),
    Story(
        "all that is open was told: handled, before pending",
        [*WAKE, End(), Tick(5 * MINUTE, see(UNIT, pending=1), "quiet handled")],
    ),
    Story("what waits in the window: coalescing, before pending", [Tick(0, see(UNIT, pending=1), "quiet coalescing")]),
    Story(
        "a claim that waits: withheld, before coalescing",
        [Tick(0, see(UNIT, READY, pending=1), "quiet withheld")],
    ),
    Story("a hold that runs: holding, before withheld", [Tick(0, see(HELD, READY, UNIT), "quiet holding")]),
    Story("a wake in flight: before holding", [*WAKE, Tick(5 * MINUTE, see(UNIT, HELD), "quiet in-flight")]),
    Story("incomplete: before in-flight", [*WAKE, Tick(5 * MINUTE, partly(UNIT), "quiet incomplete")]),
    Story("incomplete of any subject", [Tick(0, {"a": see(UNIT), "b": partly()}, "quiet incomplete")]),
    Story("unreadable: before incomplete", [Tick(0, {"a": partly(), "b": failed()}, "quiet unreadable")]),
    Story(
        "throttled: before unreadable",
        [Tick(0, {"a": failed(), "b": failed("throttled"), "c": partly()}, "quiet throttled")],
    ),
    Story(
        "a partial read whose rest was throttled was read",
        [Tick(0, partly(error=failed("throttled")), "quiet incomplete")],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_quiet(told: Story) -> None:
    story.tell(told)
