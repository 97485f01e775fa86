"""From what was read to the reading of the Watch: the kind's pure half, guarded."""

import dataclasses

from tests.unit import gauges
from tests.unit.clock import START
from tests.unit.tick.desk import MINUTE, Desk
from vigil.kind import api
from vigil.model import failures, observations

A, B = gauges.subject_id("a"), gauges.subject_id("b")


async def test_a_kind_that_raises_makes_its_subject_unreadable_and_no_other() -> None:
    desk = Desk(gauges.watch("a", "b"))
    await desk.read(0, {A: api.Snapshot({"unreadable": True}), B: api.Snapshot({"shows": ["now:conflict"]})})
    assert desk.verdict == "immediate: now:conflict"
    of = desk.memory.current.reading[A]
    assert isinstance(of, failures.Failure)
    assert of.category is failures.Category.UNKNOWN
    assert of.message == "the kind gauge cannot make sense of the answer: ZeroDivisionError: a gauge without a scale"
    assert desk.memory.state.subject(A).errors == 1


async def test_a_kind_can_say_that_what_was_read_is_a_failure() -> None:
    desk = Desk()
    assert await desk.tick(0, misread=True) == "unreadable"
    assert desk.memory.current.reading[A] == failures.Failure(failures.Category.MALFORMED, "no gauge")


async def test_a_subject_that_nobody_answered_for_is_unreadable() -> None:
    desk = Desk(gauges.watch("a", "b"))
    assert await desk.read(0, {A: api.Snapshot({})}) == "unreadable"
    of = desk.memory.current.reading[B]
    assert isinstance(of, failures.Failure)
    assert of.category is failures.Category.UNKNOWN


async def test_a_kind_that_takes_cpu_time_is_observed_off_the_loop() -> None:
    desk = Desk(gauges.watch(kind=dataclasses.replace(gauges.KIND, offload=True)))
    assert await desk.tick(0, "now:conflict") == "immediate: now:conflict"
    assert await desk.tick(2, unreadable=True) == "unreadable"


async def test_an_entry_is_open_since_it_was_first_shown_and_a_read_that_proves_nothing_changes_that() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit", "red:e2e")
    await desk.tick(2, complete=False)
    await desk.read(4, {A: failures.Failure(failures.Category.TIMEOUT, "no answer")})
    await desk.tick(6, "red:unit")
    assert {one.key: at for one, at in desk.memory.current.since.items()} == {"red:unit": START}
    await desk.tick(8, "red:unit", "red:e2e")
    since = {one.key: at for one, at in desk.memory.current.since.items()}
    assert since == {"red:unit": START, "red:e2e": START + 8 * MINUTE}


async def test_an_anchor_is_kept_while_reads_give_none() -> None:
    desk = Desk()
    await desk.read(0, {A: api.Snapshot({}, anchor="id-7"), B: api.Snapshot({}, anchor="of another Watch")})
    await desk.tick(2)
    assert desk.memory.current.anchors == {A: "id-7"}


async def test_a_retired_subject_is_read_no_more() -> None:
    desk = Desk(gauges.watch("a", "b"))
    await desk.read(0, {A: api.Snapshot({"shows": ["done"]}), B: api.Snapshot({})})
    assert [one.id for one in desk.memory.live] == [B]
    await desk.read(2, {B: api.Snapshot({})})
    assert set(desk.memory.current.reading) == {B}


async def test_what_a_read_shows_is_at_hand_by_its_identity() -> None:
    desk = Desk(gauges.watch("a", "b"))
    await desk.read(
        0, {A: api.Snapshot({"shows": ["red:unit"]}), B: failures.Failure(failures.Category.TLS, "expired")}
    )
    assert [(one.subject, one.key, seen.severity) for one, seen in desk.memory.shown.items()] == [
        (A, "red:unit", observations.Severity.WAKE)
    ]
