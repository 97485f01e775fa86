"""What the process remembers of one Watch, and what it makes of what an earlier one stored."""

import dataclasses

import pytest

from tests.unit import gauges
from tests.unit.clock import START
from tests.unit.tick.desk import Desk
from vigil.kind import api
from vigil.model import failures, limits, states, verdicts
from vigil.state import codec
from vigil.tick import memory

A, B = gauges.subject_id("a"), gauges.subject_id("b")
UNKNOWN = codec.Quarantined(codec.QuarantineReason.VERSION_UNKNOWN, "version 99", '{"version":99}')
BROKEN = codec.Quarantined(codec.QuarantineReason.UNREADABLE, "cut", "{")
TIGHT = limits.Limits(budgets=limits.Budgets(lifetime=60.0))


async def test_a_new_watch_is_armed_for_its_generation() -> None:
    known = memory.begin(gauges.watch(generation=4), memory.Stored(), START)
    assert known.state.generation == 4
    assert known.state.purpose == gauges.watch().purpose
    assert known.probed


async def test_what_was_stored_is_known_again() -> None:
    desk = Desk()
    await desk.read(0, {A: api.Snapshot({"shows": ["red:unit"]}, anchor="id-7")})
    before = desk.memory
    desk.crash()
    assert desk.memory.state == before.state
    assert desk.memory.current.anchors == {A: "id-7"}
    assert desk.memory.current.since == before.current.since
    assert desk.memory.saved is None


async def test_c142_a_document_of_an_unknown_version_is_held_and_nothing_is_decided_or_delivered() -> None:
    desk = Desk(stored=memory.Stored(UNKNOWN))
    assert not desk.memory.probed
    await desk.tick(0, "done")
    assert desk.memory.current.verdict is None
    assert desk.sidecar.wakes == {}
    assert desk.memory.current.quarantined == "StateVersionUnknown"
    assert desk.memory.current.quarantined_document == '{"version":99}'


async def test_c142_a_document_that_does_not_parse_is_kept_aside_and_a_fresh_one_begins() -> None:
    desk = Desk(stored=memory.Stored(BROKEN))
    assert await desk.tick(0, "now:conflict") == "immediate: now:conflict"
    assert (desk.memory.current.quarantined, desk.memory.current.quarantined_document) == ("StateUnreadable", "{")


async def test_a_new_generation_arms_a_watch_whose_document_did_not_parse_like_any_other() -> None:
    desk = Desk(gauges.watch(limits=TIGHT), stored=memory.Stored(BROKEN))
    await desk.tick(0)
    assert await desk.tick(1) == "lifetime"
    renewed = memory.renew(desk.memory, gauges.watch(generation=2), desk.now)
    assert renewed.state.ended is None
    assert renewed.state.generation == 2


async def test_a_new_generation_does_not_arm_a_watch_that_is_held() -> None:
    held = memory.begin(gauges.watch(), memory.Stored(UNKNOWN), START)
    renewed = memory.renew(held, gauges.watch(generation=2), START)
    assert renewed.state == states.State(held.watch.ref.uid)
    assert not renewed.probed


async def test_other_annotations_change_nothing_of_the_memory() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    renewed = memory.renew(desk.memory, gauges.watch(poke="now"), desk.now)
    assert renewed.state is desk.memory.state
    assert renewed.watch.poke == "now"


async def test_a_removed_subject_is_pruned_from_all_that_is_known_of_it() -> None:
    desk = Desk(gauges.watch("a", "b"))
    both = {A: api.Snapshot({}, anchor="id-a"), B: api.Snapshot({}, anchor="id-b")}
    await desk.read(0, both)
    renewed = memory.renew(desk.memory, gauges.watch("a", generation=2), desk.now)
    assert set(renewed.snapshots) == set(renewed.current.reading) == set(renewed.current.anchors) == {A}
    assert set(renewed.state.subjects) == {A}


@pytest.mark.parametrize(
    ("what", "changes", "probed"),
    [
        ("a running Watch is read", {}, True),
        ("a suspended one is not", {"watch": gauges.watch(suspend=True)}, False),
        (
            "one that stopped is not",
            {"state": states.State(gauges.watch().ref.uid, ended=verdicts.StopReason.TURNS)},
            False,
        ),
        ("one that is held is not", {"quarantined": "StateVersionUnknown"}, False),
        ("one that began a fresh document is", {"quarantined": "StateUnreadable"}, True),
        ("one that is Blocked is", {"blocked": failures.Failure(failures.Category.CONFIG, "pruned")}, True),
    ],
)
def test_whether_a_watch_is_read(what: str, changes: dict[str, object], probed: bool) -> None:
    known = memory.begin(gauges.watch(), memory.Stored(), START)
    assert known.with_current(**changes).probed is probed


def test_the_purpose_is_the_objective_and_the_options_and_nothing_else() -> None:
    watch = gauges.watch()
    assert dataclasses.replace(watch, objective="watched").purpose != watch.purpose
    assert gauges.watch("b", generation=9, poke="x", suspend=True).purpose == watch.purpose


async def test_a_new_value_of_the_reset_annotation_clears_memory_once() -> None:
    desk = Desk()
    await desk.tick(0, "now:conflict")
    cleared = memory.renew(desk.memory, gauges.watch(reset="1"), desk.now)
    assert cleared.state.reset == "1"
    assert cleared.state.subjects == {}
    assert memory.renew(cleared, gauges.watch(reset="1"), desk.now).state is cleared.state


async def test_a_reset_begins_afresh_what_was_held_for_its_version() -> None:
    held = memory.begin(gauges.watch(), memory.Stored(UNKNOWN), START)
    lifted = memory.renew(held, gauges.watch(reset="1"), START)
    assert lifted.probed
    assert (lifted.current.quarantined, lifted.current.quarantined_document) == ("", "")
    assert lifted.state.reset == "1"


async def test_a_reset_that_was_made_before_does_not_touch_the_document_of_another_version() -> None:
    later = dataclasses.replace(UNKNOWN, reset="1")
    assert not memory.begin(gauges.watch(reset="1"), memory.Stored(later), START).probed
    begun = memory.begin(gauges.watch(reset="2"), memory.Stored(later), START)
    assert begun.probed
    assert begun.current.quarantined == ""


async def test_the_silence_of_the_annotation_is_that_of_the_memory() -> None:
    desk = Desk()
    silent = memory.renew(desk.memory, gauges.watch(silence_until=START + 60), desk.now)
    assert silent.state.silence_until == START + 60
    assert memory.renew(silent, gauges.watch(), desk.now).state.silence_until is None
