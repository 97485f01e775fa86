"""What of a Watch is worth storing."""

import dataclasses
from typing import Any

import pytest

from tests.unit import gauges
from tests.unit.clock import START
from tests.unit.tick.desk import Desk
from vigil.model import failures, ids, limits, observations, states, verdicts, wakes
from vigil.tick import checkpoint, essence

A = gauges.subject_id("a")
RED = verdicts.Identity(A, "red:unit", "r1")
SEEN = observations.Observation("red:unit", observations.Severity.WAKE, observations.ResetsOn.REVISION, "red")
SENT = states.Sent(RED, START, START, 1)
FLOWN = states.InFlight(ids.WakeId("w"), START, (states.Version(1, wakes.WakeType.WAKE, "converged"),), (SENT,))
MEMORY = states.SubjectState(
    "r1",
    alerted={RED: states.Stamp(START, START)},
    dispositions={RED: states.Disposed(wakes.Disposition.CLAIMED, START)},
    errors=1,
)
STATE = states.State(ids.WatchUid("w1"), subjects={A: MEMORY}, in_flight=FLOWN, owed=(SENT,), last_tick=START)
READ = observations.ProbeResult((SEEN,), "r1", pending=2, activity="x")
LEFT = checkpoint.Checkpoint(
    gauges.watch(),
    STATE,
    verdicts.Wake((verdicts.Entry(RED, SEEN),), "red", verdicts.WakeReason.CONVERGED),
    {A: READ},
    trouble=checkpoint.DeliveryTrouble(wakes.QueuedReason.BUSY, "since 2 minutes"),
)


def state(**changes: Any) -> dict[str, Any]:
    return {"state": dataclasses.replace(STATE, **changes)}


def subject(**changes: Any) -> dict[str, Any]:
    return state(subjects={A: dataclasses.replace(MEMORY, **changes)})


def read(**changes: Any) -> dict[str, Any]:
    return {"reading": {A: dataclasses.replace(READ, **changes)}}


LATER = START + 60
NOTHING: list[tuple[str, dict[str, Any]]] = [
    ("the time of a tick", state(last_tick=LATER)),
    ("active time", state(spent=states.Spent(active_time=60.0))),
    ("a row of failures", subject(errors=2)),
    ("when a stamp was last shown", subject(alerted={RED: states.Stamp(START, LATER)})),
    (
        "when a disposition was last shown",
        subject(dispositions={RED: states.Disposed(wakes.Disposition.CLAIMED, LATER)}),
    ),
    (
        "when an entry in flight was last shown",
        state(in_flight=dataclasses.replace(FLOWN, sent=(dataclasses.replace(SENT, shown=LATER),))),
    ),
    ("when an end that is owed was last shown", state(owed=(dataclasses.replace(SENT, shown=LATER),))),
    ("a text", read(observations=(dataclasses.replace(SEEN, brief="redder", detail="d"),))),
    ("when a subject was last read", state(read_at={A: LATER})),
    ("how many ticks were quiet, and since when", state(floor=3, floor_since=LATER)),
    ("how much is pending", read(pending=1)),
    ("activity", read(activity="y")),
    ("what a subject waits for", read(waiting="the moon")),
    ("the text of a trouble", {"trouble": checkpoint.DeliveryTrouble(wakes.QueuedReason.BUSY, "since 4 minutes")}),
    (
        "the text of a verdict",
        {"verdict": verdicts.Wake((verdicts.Entry(RED, SEEN),), "redder", verdicts.WakeReason.CONVERGED)},
    ),
]
SOMETHING: list[tuple[str, dict[str, Any]]] = [
    ("a generation", {"watch": gauges.watch(generation=2)}),
    ("a suspension", {"watch": gauges.watch(suspend=True)}),
    ("a stamp", subject(alerted={RED: states.Stamp(LATER, LATER)})),
    ("a disposition", subject(dispositions={})),
    ("a hold", subject(held={RED: states.Held(START, "x")})),
    ("a turn", state(spent=states.Spent(turns=1))),
    ("the window", state(window={RED: states.Member(RED, START)})),
    ("a version of the wake in flight", state(in_flight=dataclasses.replace(FLOWN, sequence=2))),
    ("no wake in flight", state(in_flight=None)),
    ("an end", state(ended=observations.Outcome.FAILED)),
    ("a silence", state(silence_until=LATER)),
    ("a stall that begins", state(stall=states.Stall("d", START))),
    ("a block", state(blocked=states.Blocked(START))),
    ("a question", subject(parked={RED: states.Parked("q1", "")})),
    ("an answer", subject(answered={RED: states.Answered("", START, "use it")})),
    ("that a subject is blind", subject(blind=START)),
    ("a fact about churn", state(churn=states.Churn(stream="ci"))),
    ("a reset", state(reset="1")),
    ("a cadence that is stretched", {"paced": 600.0}),
    ("an entry", read(observations=())),
    ("a revision", read(revision="r2")),
    ("an incomplete read", read(complete=False)),
    ("the failure of a part", read(error=failures.Failure(failures.Category.TIMEOUT, "slow"))),
    ("a failure", {"reading": {A: failures.Failure(failures.Category.TIMEOUT, "slow")}}),
    ("a verdict", {"verdict": verdicts.Quiet(verdicts.QuietReason.HANDLED)}),
    (
        "another reason of a verdict",
        {"verdict": verdicts.Wake((verdicts.Entry(RED, SEEN),), "red", verdicts.WakeReason.UNDELAYED)},
    ),
    ("a reason of a trouble", {"trouble": checkpoint.DeliveryTrouble(wakes.QueuedReason.NO_RECIPIENT, "")}),
    ("no trouble", {"trouble": None}),
    ("a wake", {"wakes": (checkpoint.WakeRecord(FLOWN.id, wakes.WakeType.WAKE, "", wakes.WakeState.LOST, (), START),)}),
    ("an anchor", {"anchors": {A: "id-7"}}),
    ("a quarantine", {"quarantined": "StateUnreadable"}),
    ("a Watch that is Blocked", {"blocked": failures.Failure(failures.Category.CONFIG, "pruned")}),
]


@pytest.mark.parametrize(("what", "changes"), NOTHING, ids=[what for what, _ in NOTHING])
def test_a_change_that_stores_nothing(what: str, changes: dict[str, Any]) -> None:
    assert essence.essence(dataclasses.replace(LEFT, **changes)) == essence.essence(LEFT)


@pytest.mark.parametrize(("what", "changes"), SOMETHING, ids=[what for what, _ in SOMETHING])
def test_a_change_that_is_stored(what: str, changes: dict[str, Any]) -> None:
    assert essence.essence(dataclasses.replace(LEFT, **changes)) != essence.essence(LEFT)


def test_the_text_of_a_failure_stores_nothing() -> None:
    one, other = (
        dataclasses.replace(LEFT, reading={A: failures.Failure(failures.Category.TIMEOUT, text)})
        for text in ("7c", "8d")
    )
    assert essence.essence(one) == essence.essence(other)


def test_how_long_the_same_has_been_open_stores_nothing_and_that_it_was_told_does() -> None:
    one, other, told = (
        essence.essence(dataclasses.replace(LEFT, state=dataclasses.replace(STATE, stall=stall)))
        for stall in (states.Stall("d", START, 3), states.Stall("d", START, 4), states.Stall("d", START, 4, told=True))
    )
    assert one == other != told


def test_when_an_answered_entry_was_last_shown_stores_nothing() -> None:
    one, other = (
        essence.essence(dataclasses.replace(LEFT, **subject(answered={RED: states.Answered("", at, "use it")})))
        for at in (START, LATER)
    )
    assert one == other


async def test_quiet_ticks_that_count_for_a_floor_and_a_stall_write_nothing() -> None:
    policy = limits.Policy(floor_ticks=9, stall_ticks=9, stall_min_duration=0.0)
    desk = Desk(gauges.watch(limits=limits.Limits(policy)))
    await desk.tick(0, "red:unit")
    await desk.tick(4, "red:unit")
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish(wakes.WakeState.DELIVERED))
    await desk.tick(5, "red:unit")
    desk.did()
    for minute in range(6, 12):
        assert await desk.tick(minute, "red:unit") == "handled"
    assert desk.did() == []
    assert (desk.memory.state.floor, desk.memory.state.stall and desk.memory.state.stall.ticks) == (7, 7)
