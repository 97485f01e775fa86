"""Pokes, newer generations and Watches that go, also while a read or a tick is under way."""

import asyncio

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids, wakes
from vigil.tick import memory

W1 = ids.WatchUid("w1")


async def test_a_poke_brings_the_next_read_forward(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        office.asked()
        office.scheduler.poke(W1)
        await clock.idle()
        assert len(office.asked()) == 1
        await office.enrol(gauges.watch(poke="1"))
        assert len(office.asked()) == 1
        await office.enrol(gauges.watch(poke="1", silence_until=clock.START))
        assert office.asked() == []
        office.scheduler.poke(ids.WatchUid("nobody"))


async def test_the_same_watch_once_more_changes_nothing(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        before = office.known()
        office.asked()
        await office.enrol(gauges.watch())
        assert office.known() is before
        assert office.asked() == []


async def test_a_poke_during_a_read_is_followed_by_another_read(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        assert len(office.asked()) == 1
        office.provider.show("a", "now:conflict")
        office.scheduler.poke(W1)
        await clock.idle()
        assert office.asked() == []
        office.provider.gate.set()
        await clock.idle()
        assert len(office.asked()) == 1
        assert len(office.sidecar.wakes) == 1


async def test_a_new_generation_drops_a_result_in_flight_and_is_read_at_once(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    office.provider.show("a", "done")
    async with office.open():
        await office.enrol(gauges.watch("a"))
        office.scheduler.enrol(gauges.watch("b", generation=2), memory.Stored())
        await clock.idle()
        office.provider.gate.set()
        await clock.idle()
        assert office.asked() == [["a"], ["b"]]
        assert office.known().state.ended is None
        assert set(office.known().current.reading) == {gauges.subject_id("b")}
        assert office.names("submit") == []


@pytest.mark.parametrize("gate", ["store", "sidecar"])
async def test_a_new_generation_that_comes_while_a_tick_is_stored_or_sent_is_not_lost(
    office: Office, gate: str
) -> None:
    office.provider.show("a", "now:conflict")
    opened = asyncio.Event()
    newer = gauges.watch("a", "b", generation=2)
    async with office.open():
        if gate == "store":
            office.store.gate = opened
        else:
            office.sidecar.meanwhile = lambda: office.scheduler.enrol(newer, memory.Stored())
        await office.enrol(gauges.watch("a"))
        if gate == "store":
            office.scheduler.enrol(newer, memory.Stored())
            opened.set()
            await clock.idle()
        assert office.known().watch.ref.generation == 2
        assert office.known().state.generation == 2
        assert office.asked() == [["a"], ["a", "b"]]
        assert len(office.sidecar.wakes) == 1
        assert office.known().state.in_flight is not None


async def test_a_result_for_an_older_generation_than_the_stored_one_is_dropped_and_decided_again(
    office: Office,
) -> None:
    office.provider.show("a", "now:conflict")
    office.store.answers = [ports.SaveResult.STALE]
    async with office.open():
        await office.enrol(gauges.watch())
        assert office.known().current.verdict is None
        assert office.names("submit") == []
        await office.clock.advance(2)
        assert len(office.names("submit")) == 1


async def test_a_watch_that_is_dropped_is_read_no_more_and_its_queued_wake_is_withdrawn(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drop(W1)
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN
        office.asked()
        await office.clock.advance(3600)
        assert office.asked() == []
        assert W1 not in office.scheduler
        assert office.scheduler.uids() == frozenset()
        assert office.scheduler.memory_of(W1) is None
        await office.scheduler.drop(W1)


async def test_a_wake_that_a_session_has_is_not_withdrawn(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.sidecar.claim()
        await office.clock.advance(120)
        await office.scheduler.drop(W1)
        assert office.names("withdraw") == []


async def test_a_drop_does_not_wait_for_a_sidecar_that_is_unreachable(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.sidecar.down = True
        await office.scheduler.drop(W1)
        assert len(office.names("withdraw")) == 1


async def test_c154_a_watch_that_is_deleted_while_it_is_read_delivers_and_stores_nothing(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    office.provider.show("a", "done")
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drop(W1)
        office.provider.gate.set()
        await office.clock.advance(3600)
        assert office.log == []
        assert len(office.asked()) == 1


async def test_c154_a_watch_that_is_deleted_while_it_is_stored_leaves_no_wake_behind(office: Office) -> None:
    office.store.gate = asyncio.Event()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        dropping = asyncio.create_task(office.scheduler.drop(W1))
        await clock.idle()
        office.store.gate.set()
        await dropping
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN


async def test_c154_a_watch_whose_store_says_that_it_is_gone_is_forgotten_quietly_and_for_good(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.store.answers = [ports.SaveResult.GONE]
        office.provider.show("a", "now:conflict", "red:unit")
        await office.clock.advance(120)
        assert W1 not in office.scheduler
        assert len(office.names("submit")) == 1
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN
        office.log.clear()
        await office.clock.advance(3600)
        assert office.log == []
        assert [one.new for one in office.records(ports.PhaseChanged)][-1] is None


async def test_a_watch_that_was_dropped_can_be_enrolled_again(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drop(W1)
        await office.enrol(gauges.watch())
        office.provider.gate.set()
        await clock.idle()
        assert office.known().current.verdict is not None


async def test_a_late_word_of_a_watch_that_was_enrolled_again_does_not_take_the_new_one_away(office: Office) -> None:
    office.store.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        dropping = asyncio.create_task(office.scheduler.drop(W1))
        await clock.idle()
        await office.enrol(gauges.watch())
        office.store.answers = [ports.SaveResult.GONE]
        office.store.gate.set()
        await dropping
        await clock.idle()
        assert office.known().current.verdict is not None


async def test_a_watch_that_is_dropped_while_a_retry_waits_for_it_is_not_tried_again(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.sidecar.claim()
        office.sidecar.down = True
        await office.clock.advance(120)
        office.sidecar.down = False
        office.store.gate = asyncio.Event()
        hearing = asyncio.create_task(office.scheduler.outcome(office.sidecar.finish()))
        await office.clock.advance(2)
        dropping = asyncio.create_task(office.scheduler.drop(W1))
        await clock.idle()
        office.log.clear()
        office.store.gate.set()
        await asyncio.gather(hearing, dropping)
        await clock.idle()
        assert office.log == [("store", ports.SaveResult.SAVED)], "the outcome, and nothing after it"


async def test_an_outcome_that_waited_for_a_tick_during_which_its_watch_went_stores_nothing(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.sidecar.claim()
        office.store.gate = asyncio.Event()
        office.store.answers = [ports.SaveResult.FAILED]
        office.provider.show("a", "now:conflict", "red:unit")
        await office.clock.advance(120)
        hearing = asyncio.create_task(office.scheduler.outcome(office.sidecar.finish()))
        await clock.idle()
        office.scheduler.release(W1)
        office.log.clear()
        office.store.gate.set()
        await hearing
        await office.clock.advance(3600)
        assert office.names("store") == [ports.SaveResult.FAILED]
        assert office.names("submit") == []
