"""One word for people, derived from what the tick left behind."""

from typing import Any

import pytest

from tests.unit import gauges
from tests.unit.clock import START
from vigil.model import failures, ids, observations, states, verdicts
from vigil.tick import checkpoint, phase

A = gauges.subject_id("a")
QUIET = verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
STOPS = {
    "lifetime": "Expired",
    "active-time": "Expired",
    "question-expired": "Expired",
    "turns": "Exhausted",
    "tokens": "Exhausted",
    "provider-errors": "Exhausted",
    "stalled": "Stalled",
    "superseded": "Superseded",
    "cannot-act": "Blocked",
}


def state(**changes: Any) -> states.State:
    return states.State(ids.WatchUid("w1"), started=START, **changes)


def failed(category: str) -> dict[str, Any]:
    return {"reading": {A: failures.Failure(failures.Category(category), "no answer")}, "verdict": QUIET}


ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("a Watch that was never read is Pending", {"state": states.State(ids.WatchUid("w1"))}, "Pending"),
    ("one that was read is Watching", {"verdict": QUIET}, "Watching"),
    ("a provider that is down blocks nothing", failed("transient"), "Watching"),
    ("nor does a throttle", failed("throttled"), "Watching"),
    ("a failure that does not heal does", failed("not_found"), "Blocked"),
    ("a suspended one is Suspended", {"watch": gauges.watch(suspend=True), "verdict": QUIET}, "Suspended"),
    ("a block from outside the reading", {"blocked": failures.Failure(failures.Category.CONFIG, "pruned")}, "Blocked"),
    ("a state of an unknown version is Stalled", {"quarantined": "StateVersionUnknown"}, "Stalled"),
    (
        "a fresh document after one that did not parse is none",
        {"quarantined": "StateUnreadable", "verdict": QUIET},
        "Watching",
    ),
    ("a good end", {"state": state(ended=observations.Outcome.SUCCEEDED)}, "Succeeded"),
    ("a bad end", {"state": state(ended=observations.Outcome.FAILED)}, "Failed"),
    (
        "a good end of a suspended Watch",
        {"state": state(ended=observations.Outcome.SUCCEEDED), "watch": gauges.watch(suspend=True)},
        "Succeeded",
    ),
    *(
        (f"a Stop for {reason}", {"state": state(ended=verdicts.StopReason(reason))}, word)
        for reason, word in STOPS.items()
    ),
]


@pytest.mark.parametrize(("what", "changes", "word"), ROWS, ids=[row[0] for row in ROWS])
def test_phase(what: str, changes: dict[str, Any], word: str) -> None:
    fields: dict[str, Any] = {"watch": gauges.watch(), "state": state(), **changes}
    assert phase.phase_of(checkpoint.Checkpoint(**fields)) == word


def test_the_table_has_every_stop() -> None:
    assert set(STOPS) == set(verdicts.StopReason)
