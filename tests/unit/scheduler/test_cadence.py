"""When a Watch is read: its cadence, and what brings the next read forward or puts it off."""

import asyncio

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids, limits, observations, verdicts
from vigil.scheduler import due
from vigil.tick import enrolment

W1 = ids.WatchUid("w1")


async def test_a_watch_is_read_when_it_is_enrolled_and_then_each_interval(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        assert len(office.asked()) == 1
        await office.clock.advance(119)
        assert office.asked() == []
        await office.clock.advance(1)
        assert len(office.asked()) == 1
        await office.clock.advance(600)
        assert len(office.asked()) == 5


async def test_a_quiet_watch_is_read_at_its_quiet_interval_and_more_often_once_it_changes(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(3600)
        office.asked()
        await office.clock.advance(3600)
        assert len(office.asked()) == 6
        office.provider.show("a", "red:unit")
        await office.clock.advance(600)
        office.asked()
        await office.clock.advance(600)
        assert len(office.asked()) >= 5


async def test_a_quiet_watch_costs_one_write_however_long_it_is_watched(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(4 * 3600)
        assert office.names("store") == [ports.SaveResult.SAVED]
        assert office.names("submit") == []


async def test_the_interval_counts_from_the_end_of_the_last_read(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(25)
        office.provider.gate.set()
        await clock.idle()
        office.asked()
        await office.clock.advance(119)
        assert office.asked() == []
        await office.clock.advance(1)
        assert len(office.asked()) == 1


async def test_the_end_of_a_window_brings_the_next_read_forward(office: Office) -> None:
    office.provider.show("a", "red:unit")
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(3600, 3600)))
        await office.clock.advance(240)
        assert [one.message.reason for one in office.sidecar.wakes.values()] == ["converged"]


async def test_the_end_of_a_hold_brings_the_next_read_forward(office: Office) -> None:
    office.provider.show("a", "held:unit")
    tight = limits.Limits(limits.Policy(coalesce_window=0))
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(3600, 3600), limits=tight))
        await office.clock.advance(300)
        assert [one.message.reason for one in office.sidecar.wakes.values()] == ["undelayed"]


async def test_realert_after_brings_the_next_read_forward(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    tight = limits.Limits(limits.Policy(realert_after=1000))
    async with office.open():
        await office.enrol(gauges.watch(cadence=enrolment.Cadence(3600, 3600), limits=tight))
        office.sidecar.claim()
        office.sidecar.finish()
        await office.clock.advance(1000)
        assert len(office.sidecar.wakes) == 2


async def test_a_provider_that_is_computing_is_looked_at_again_three_times_and_no_more(office: Office) -> None:
    office.provider.show("a", recheck=5)
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(100)
        assert len(office.asked()) == 4
        await office.clock.advance(60)
        assert len(office.asked()) == 1, "and from then on at its interval"
        office.provider.show("a")
        await office.clock.advance(120)
        office.provider.show("a", recheck=5)
        office.asked()
        await office.clock.advance(120)
        assert len(office.asked()) == 4, "a read without it begins the count again"


async def test_failed_reads_back_off_and_a_good_one_ends_that(office: Office) -> None:
    office.provider.show("a", category="transient")
    async with office.open():
        await office.enrol(gauges.watch())
        times = []
        for _ in range(1500 // 60):
            await office.clock.advance(60)
            times += [office.clock.monotonic()] * (len(office.asked()))
        assert times == [60, 120, 360, 840, 1440]
        office.provider.show("a")
        await office.clock.advance(600)
        office.asked()
        await office.clock.advance(240)
        assert len(office.asked()) == 2


async def test_a_watch_that_cannot_be_read_until_someone_acts_is_read_slowly_and_at_once_with_a_new_spec(
    office: Office,
) -> None:
    office.provider.show("a", category="not_found")
    async with office.open():
        await office.enrol(gauges.watch())
        office.asked()
        await office.clock.advance(due.SLOW - 1)
        assert office.asked() == []
        await office.clock.advance(1)
        assert len(office.asked()) == 1
        await office.enrol(gauges.watch(generation=2))
        assert len(office.asked()) == 1


async def test_a_suspended_watch_is_not_read_and_says_so(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch(suspend=True))
        await office.clock.advance(3600)
        assert office.asked() == []
        assert office.known().current.verdict == verdicts.Quiet(verdicts.QuietReason.SUSPENDED)
        await office.enrol(gauges.watch(generation=2))
        assert len(office.asked()) == 1


async def test_a_watch_that_has_ended_and_told_so_is_done_with(office: Office) -> None:
    office.provider.show("a", "done")
    async with office.open():
        await office.enrol(gauges.watch())
        office.asked()
        await office.clock.advance(240)
        assert len(office.names("submit")) == 3, "its end is offered until it is told"
        office.sidecar.claim()
        office.sidecar.finish()
        await clock.idle()
        office.log.clear()
        await office.clock.advance(4 * 3600)
        assert office.log == []
        assert office.asked() == []
        assert W1 in office.scheduler


async def test_the_lifetime_ends_with_one_last_read_so_that_an_end_can_win(office: Office) -> None:
    brief = limits.Limits(budgets=limits.Budgets(lifetime=1000))
    async with office.open():
        await office.enrol(gauges.watch(limits=brief, cadence=enrolment.Cadence(3600, 3600)))
        office.provider.show("a", "done")
        await office.clock.advance(1000)
        assert office.known().state.ended is observations.Outcome.SUCCEEDED


async def test_a_clock_that_steps_forward_makes_everything_due_and_one_that_steps_back_loses_nothing(
    office: Office,
) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        office.asked()
        office.clock.step(7200)
        await office.clock.advance(60)
        assert len(office.asked()) == 1
        office.clock.step(-7200)
        office.scheduler.poke(W1)
        await clock.idle()
        office.asked()
        await office.clock.advance(120)
        assert len(office.asked()) == 1
