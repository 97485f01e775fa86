"""The wakes of Watches that are gone: they are taken back, however long the sidecar is away."""

import asyncio
import dataclasses
import logging
from collections.abc import AsyncIterator

import pytest

from tests.unit import clock, gauges, world
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import failures, ids, states, wakes
from vigil.scheduler import entry, withdrawals
from vigil.tick import memory

W1 = ids.WatchUid("w1")


async def with_a_wake(office: Office) -> ids.WakeId:
    """Hold a Watch whose wake is queued."""
    office.provider.show("a", "now:conflict")
    await office.enrol(gauges.watch())
    return office.sidecar.last.message.id


async def test_a_wake_is_tried_again_at_growing_pauses_until_the_sidecar_has_it_withdrawn(office: Office) -> None:
    async with office.open():
        wake = await with_a_wake(office)
        office.sidecar.down = True
        await office.scheduler.drop(W1)
        times = []
        for second in range(1, 250):
            office.log.clear()
            await office.clock.advance(1)
            times += [second] * len(office.names("withdraw"))
        assert times == [2, 6, 14, 30, 62, 122, 182, 242]
        office.sidecar.down = False
        office.log.clear()
        await office.clock.advance(3600)
        assert office.names("withdraw") == [wake]
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN


async def test_a_wake_that_a_session_took_meanwhile_is_left_to_it(office: Office) -> None:
    async with office.open():
        wake = await with_a_wake(office)
        office.sidecar.down = True
        await office.scheduler.drop(W1)
        office.sidecar.claim()
        office.sidecar.down = False
        office.log.clear()
        await office.clock.advance(3600)
        assert office.names("withdraw") == [wake]
        assert office.sidecar.last.state is wakes.WakeState.CLAIMED


async def test_a_watch_whose_store_says_that_it_is_gone_has_its_wake_taken_back_in_the_end(office: Office) -> None:
    async with office.open():
        await with_a_wake(office)
        office.provider.show("a", "now:conflict", "red:unit")
        office.store.answers = [ports.SaveResult.GONE]
        office.sidecar.down = True
        await office.clock.advance(120)
        assert W1 not in office.scheduler
        office.sidecar.down = False
        await office.clock.advance(60)
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN


async def test_a_watch_that_is_held_again_keeps_its_wake(office: Office) -> None:
    async with office.open():
        await with_a_wake(office)
        office.sidecar.down = True
        await office.scheduler.drop(W1)
        office.scheduler.enrol(gauges.watch(), office.store.stored())
        await clock.idle()
        office.log.clear()
        office.sidecar.down = False
        await office.clock.advance(600)
        assert office.names("withdraw") == []
        assert office.sidecar.last.state is wakes.WakeState.QUEUED


async def test_a_release_waits_for_nothing_and_a_drop_after_it_for_the_first_attempt(office: Office) -> None:
    office.store.gate = asyncio.Event()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
        office.scheduler.release(W1)
        assert W1 not in office.scheduler
        dropping = asyncio.create_task(office.scheduler.drop(W1))
        await clock.idle()
        assert not dropping.done(), "the tick that is under way may be about to submit the wake"
        office.store.gate.set()
        await dropping
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN


async def test_a_drain_lets_the_first_attempt_end(office: Office) -> None:
    async with office.open():
        await with_a_wake(office)
        office.scheduler.release(W1)
        await office.scheduler.drain()
        assert office.sidecar.last.state is wakes.WakeState.WITHDRAWN


# --- alone -----------------------------------------------------------------------------------------------------------


class Poisoned(world.Sidecar):
    """A sidecar that can say nothing of some wakes."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: list[str] = []
        self.poison: dict[str, Exception] = {}

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """Fail at the poisoned ones."""
        self.asked.append(wake)
        if (error := self.poison.get(wake)) is not None:
            raise error
        return await super().withdraw(wake)


class Desk:
    """Withdrawals at work on a clock of the test's."""

    def __init__(self, kept: int = 10) -> None:
        self.clock = clock.VirtualClock()
        self.sidecar = Poisoned()
        self.withdrawals = withdrawals.Withdrawals(self.sidecar, self.clock, kept)

    async def gone(self, *names: str) -> None:
        """These Watches are gone, each with a wake of its name."""
        for name in names:
            await self.withdrawals.first(held(name))


def held(name: str) -> entry.Entry:
    """A Watch with a queued wake of this name."""
    begun = memory.begin(gauges.watch(uid=name), memory.Stored(), 0.0)
    version = states.Version(1, wakes.WakeType.WAKE, "converged")
    flown = states.InFlight(ids.WakeId(name), decided_at=0.0, versions=(version,), sent=())
    state = dataclasses.replace(begun.state, in_flight=flown)
    return entry.Entry(begun.with_current(state=state), 0.0, 0.0)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """Withdrawals at work."""
    made = Desk()
    task = asyncio.create_task(made.withdrawals.run())
    yield made
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_wake_of_which_the_sidecar_can_say_nothing_does_not_hold_up_the_others(desk: Desk) -> None:
    desk.sidecar.down = True
    refused = failures.Failure(failures.Category.MALFORMED, "no such path")
    desk.sidecar.poison["a"] = ports.DeliveryError(refused)
    await desk.gone("a", "b", "c")
    desk.sidecar.down = False
    desk.sidecar.asked.clear()
    await desk.clock.advance(6)
    assert desk.sidecar.asked == ["a", "b", "c", "a"]
    assert len(desk.withdrawals) == 1


async def test_a_pause_begins_short_again_once_the_sidecar_was_there(desk: Desk) -> None:
    desk.sidecar.down = True
    await desk.gone("a")
    await desk.clock.advance(31)
    desk.sidecar.down = False
    await desk.clock.advance(32)
    assert len(desk.withdrawals) == 0
    desk.sidecar.down = True
    await desk.gone("b")
    desk.sidecar.asked.clear()
    await desk.clock.advance(2)
    assert desk.sidecar.asked == ["b"]


async def test_an_error_that_nobody_foresaw_is_logged_and_its_wake_tried_again(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.sidecar.poison["a"] = RuntimeError("nobody foresaw this")
    await desk.gone("a")
    desk.sidecar.poison.clear()
    await desk.clock.advance(2)
    assert len(desk.withdrawals) == 0
    assert [record.getMessage() for record in caplog.records] == [
        "the wake a could not be taken back, and is tried again"
    ]


async def test_of_too_many_wakes_the_oldest_are_given_up_with_one_word_an_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    desk = Desk(kept=2)
    desk.sidecar.down = True
    with caplog.at_level(logging.WARNING):
        await desk.gone("a", "b", "c", "d")
    assert caplog.messages == ["more than 2 wakes cannot be taken back: the oldest are given up"]
    desk.sidecar.down = False
    desk.sidecar.asked.clear()
    task = asyncio.create_task(desk.withdrawals.run())
    await desk.clock.advance(2)
    assert desk.sidecar.asked == ["c", "d"]
    desk.sidecar.down = True
    await desk.gone("e", "f", "g")
    assert len(caplog.messages) == 2, "another outage has another word"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
