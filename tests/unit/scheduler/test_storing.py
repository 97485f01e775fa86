"""What is stored and when it is tried again."""

import asyncio

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids, wakes
from vigil.scheduler import due
from vigil.tick import enrolment

W1 = ids.WatchUid("w1")


async def test_a_first_read_within_two_seconds_is_the_first_write(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(60)
        assert [one.verdict is not None for one in office.store.saved] == [True]


async def test_a_first_read_that_takes_longer_is_shown_as_pending(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(1.9)
        assert office.store.saved == []
        await office.clock.advance(0.1)
        assert [one.verdict for one in office.store.saved] == [None]
        office.provider.gate.set()
        await office.clock.advance(60)
        assert [one.verdict is not None for one in office.store.saved] == [False, True]


async def test_a_pending_watch_that_is_gone_is_forgotten(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    office.store.answers = [ports.SaveResult.GONE]
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(2)
        assert W1 not in office.scheduler
        office.provider.gate.set()
        await office.clock.advance(3600)
        assert office.names("store") == [ports.SaveResult.GONE]


async def test_a_pending_write_that_fails_is_made_with_the_first_verdict(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    office.store.answers = [ports.SaveResult.FAILED]
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(2)
        office.provider.gate.set()
        await clock.idle()
        assert office.names("store") == [ports.SaveResult.FAILED, ports.SaveResult.SAVED]


async def test_a_watch_that_is_dropped_before_it_is_pending_is_never_stored(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.scheduler.drop(W1)
        await office.clock.advance(10)
        assert office.log == []


async def test_a_write_that_failed_is_tried_again_at_growing_pauses_without_a_read_and_nothing_is_sent_before(
    office: Office,
) -> None:
    office.provider.show("a", "now:conflict")
    office.store.answers = [ports.SaveResult.FAILED] * 4
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(3600, 3600)))
        times = []
        for second in range(1, 40):
            office.log.clear()
            await office.clock.advance(1)
            times += [second] * len(office.names("store"))
        assert times[:4] == [2, 6, 14, 30]
        assert len(office.asked()) == 1
        assert len(office.sidecar.wakes) == 1


async def test_a_sidecar_that_was_unreachable_is_tried_again_without_a_read(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    office.sidecar.down = True
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(3600, 3600)))
        office.sidecar.down = False
        await office.clock.advance(2)
        assert len(office.sidecar.wakes) == 1
        assert len(office.asked()) == 1
        queue = [(one.old, one.new) for one in office.records(ports.QueueChanged)]
        unreachable, busy = wakes.QueuedReason.UNREACHABLE, wakes.QueuedReason.BUSY
        assert queue == [(None, unreachable), (unreachable, busy)]


async def test_the_pause_of_a_retry_is_never_longer_than_a_minute(office: Office) -> None:
    office.store.answers = [ports.SaveResult.FAILED] * 12
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(36000, 36000)))
        await office.clock.advance(2 + 4 + 8 + 16 + 32 + 6 * 60 + 60)
        assert office.names("store") == [ports.SaveResult.FAILED] * 12 + [ports.SaveResult.SAVED]


async def test_an_outage_of_days_is_survived(office: Office) -> None:
    office.store.answers = [ports.SaveResult.FAILED] * 1500
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(360000, 360000)))
        await office.clock.advance(1500 * 60)
        assert office.names("store") == [ports.SaveResult.FAILED] * 1500 + [ports.SaveResult.SAVED]


async def test_a_status_that_comes_back_pruned_blocks_the_watch_and_says_so_at_once(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    office.store.answers = [ports.SaveResult.PRUNED] * 3
    async with office.open():
        await office.enrol(gauges.watch())
        blocked = office.known().current.blocked
        assert blocked is not None
        assert "StatusPruned" in blocked.message
        assert office.names("store") == [ports.SaveResult.PRUNED, ports.SaveResult.PRUNED]
        assert office.sidecar.wakes == {}
        assert [one.new for one in office.records(ports.PhaseChanged)] == ["Blocked"]
        office.asked()
        await office.clock.advance(due.SLOW - 1)
        assert office.asked() == []
        await office.clock.advance(1)
        assert len(office.asked()) == 1


async def test_a_pruned_status_blocks_until_a_write_comes_back_whole(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    office.store.answers = [ports.SaveResult.PRUNED, ports.SaveResult.PRUNED, ports.SaveResult.FAILED]
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(due.SLOW)
        assert office.names("store")[-1] is ports.SaveResult.FAILED
        assert office.known().current.blocked is not None, "a write that failed proves nothing"
        await office.clock.advance(2)
        assert office.known().current.blocked is None
        assert len(office.sidecar.wakes) == 1
        assert office.store.saved[-1].blocked is None
