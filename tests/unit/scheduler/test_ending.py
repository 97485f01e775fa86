"""One round, and how the scheduler ends."""

import asyncio

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import failures, ids
from vigil.tick import memory

W1 = ids.WatchUid("w1")
A = gauges.subject_id("a")


async def test_one_round_reads_what_is_due_and_ends_once_it_is_told_and_not_later(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    office.scheduler.enrol(gauges.watch("a"), memory.Stored())
    office.scheduler.enrol(gauges.watch("b", uid="w2"), memory.Stored())
    await office.scheduler.round()
    assert len(office.sidecar.wakes) == 1
    assert office.known("w2").current.verdict is not None
    assert office.clock.monotonic() == 0


async def test_one_round_is_not_ended_by_a_tick_that_fails(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    async def trip(checkpoint: object) -> ports.SaveResult:
        raise RuntimeError("a disk on fire")

    office.store.save = trip  # type: ignore[method-assign] # this store of the test is on fire
    office.scheduler.enrol(gauges.watch("a"), memory.Stored())
    await asyncio.gather(office.scheduler.round(), office.clock.advance(2))
    assert "a tick failed" in caplog.text


async def test_a_drain_gives_up_what_is_being_read_and_begins_nothing_more(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drain()
        assert office.provider.open == 0
        office.provider.gate.set()
        office.asked()
        office.scheduler.poke(W1)
        await office.clock.advance(3600)
        assert office.asked() == []
        assert office.log == []


async def test_a_drain_lets_what_was_decided_through(office: Office) -> None:
    office.store.gate = asyncio.Event()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        draining = asyncio.create_task(office.scheduler.drain())
        await clock.idle()
        assert not draining.done()
        office.store.gate.set()
        await draining
        assert len(office.sidecar.wakes) == 1


async def test_a_drain_stores_what_could_not_be_stored_before(office: Office) -> None:
    office.store.answers = [ports.SaveResult.FAILED]
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drain()
        assert office.names("store") == [ports.SaveResult.FAILED, ports.SaveResult.SAVED]


async def test_the_scheduler_ends_with_all_that_it_began(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        assert office.provider.open == 1
    assert office.provider.open == 0


async def test_a_feed_that_ends_ends_the_scheduler(office: Office) -> None:
    async def trip(after: int, wait: float) -> ports.OutcomePage:
        raise RuntimeError("no such contract")

    office.sidecar.outcomes = trip  # type: ignore[method-assign] # this sidecar of the test breaks its contract
    with pytest.raises(RuntimeError, match="no such contract"):
        async with office.open():
            await office.clock.advance(60)


async def test_a_failure_of_a_credential_reaches_every_subject_of_its_watch_and_heals(office: Office) -> None:
    office.keys.refuses = failures.Failure(failures.Category.TRANSIENT, "the API server is away")
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        assert office.known().state.subject(A).errors == 1
        office.keys.refuses = None
        await office.clock.advance(120)
        assert office.known().state.subject(A).errors == 0
