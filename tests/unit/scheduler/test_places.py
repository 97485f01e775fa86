"""A group is kept as long as a Watch belongs to it, and no longer."""

import asyncio
import dataclasses
from typing import Any

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil.kind import api
from vigil.model import ids, limits
from vigil.tick import enrolment, memory

W1, W2 = ids.WatchUid("w1"), ids.WatchUid("w2")


class Readers:
    """A kind whose readers are counted: one that is made anew has lost its memory."""

    def __init__(self) -> None:
        self.made = 0
        self.kind = dataclasses.replace(gauges.KIND, reader=self._reader)

    def _reader(self, through: Any) -> api.Reader:
        self.made += 1
        return gauges.GaugeReader(through)

    def watch(self, *names: str, **changes: Any) -> enrolment.Enrolment:
        """A Watch of this kind."""
        return gauges.watch(*names, kind=self.kind, **changes)


@pytest.fixture
def readers() -> Readers:
    """A kind that counts its readers."""
    return Readers()


async def test_a_group_is_kept_while_one_of_its_watches_is_there(office: Office, readers: Readers) -> None:
    async with office.open():
        await office.enrol(readers.watch("a"), readers.watch("b", uid="w2"))
        await office.scheduler.drop(W1)
        await office.enrol(readers.watch("a"))
        assert readers.made == 1
        await office.scheduler.drop(W1)
        await office.scheduler.drop(W2)
        await office.enrol(readers.watch("a"))
        assert readers.made == 2


async def test_a_group_that_its_last_watch_left_for_another_is_forgotten(office: Office, readers: Readers) -> None:
    async with office.open():
        await office.enrol(readers.watch("a", hall="north"))
        await office.enrol(readers.watch("a", hall="south", generation=2))
        await office.enrol(readers.watch("a", hall="north", generation=3))
        assert readers.made == 3


async def test_a_group_is_kept_for_a_new_watch_that_waits_for_its_read_when_the_last_one_goes(
    office: Office, readers: Readers
) -> None:
    async with office.open():
        await office.enrol(readers.watch("a"))
        office.provider.gate = asyncio.Event()
        await office.enrol(readers.watch("b", uid="w2"))
        await office.scheduler.drop(W1)
        office.provider.gate.set()
        await office.clock.advance(240)
        assert readers.made == 1


async def test_nothing_is_left_of_a_watch_that_goes_during_its_first_read(office: Office, readers: Readers) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(readers.watch("a"))
        await office.scheduler.drop(W1)
        office.provider.gate.set()
        await clock.idle()
        await office.enrol(readers.watch("a"))
        assert readers.made == 2


async def test_an_account_is_left_alone_as_long_as_its_provider_asks_while_it_has_another_group(
    office: Office,
) -> None:
    office.provider.show("a", category="throttled", retryAfter=1000)
    async with office.open():
        await office.enrol(gauges.watch("a", hall="north"))
        await office.enrol(gauges.watch("b", uid="w2", hall="south"))
        await office.scheduler.drop(W1)
        office.asked()
        await office.enrol(gauges.watch("a", uid="w3", hall="north"))
        assert office.asked() == []
        assert office.category("a", "w3") is not None


async def test_an_account_without_a_watch_is_forgotten(office: Office) -> None:
    office.provider.show("a", category="throttled", retryAfter=1000)
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.scheduler.drop(W1)
        office.provider.show("a")
        await office.enrol(gauges.watch("a"))
        assert office.category("a") is None


async def test_after_a_restart_what_is_due_soon_is_read_along_though_it_was_not_read_before(office: Office) -> None:
    for number in range(40):
        office.provider.show(f"g{number}")
    large = dataclasses.replace(gauges.KIND, chunk=40)
    watches = [gauges.watch(f"g{number}", uid=f"w{number}", kind=large) for number in range(40)]
    async with office.open():
        await office.enrol(*watches)
    stored = {one.ref.uid: office.store.stored(one.ref.uid) for one in watches}
    office.scheduler = office.another()
    async with office.open():
        for one in watches:
            office.scheduler.enrol(one, stored[one.ref.uid])
        office.asked()
        await office.clock.advance(119)
        asked = office.asked()
        assert {name for names in asked for name in names} == {f"g{number}" for number in range(40)}
        assert len(asked) <= 5


async def test_a_watch_that_ended_or_is_suspended_is_not_read_along(office: Office) -> None:
    endless = limits.Limits(budgets=limits.Budgets(lifetime=None))
    async with office.open():
        await office.enrol(gauges.watch("a", limits=endless))
        office.provider.show("b", "done")
        await office.enrol(gauges.watch("b", uid="w2", limits=endless))
        office.scheduler.enrol(gauges.watch("a", uid="w3", limits=endless, suspend=True), memory.Stored())
        await clock.idle()
        office.asked()
        await office.clock.advance(120)
        assert office.asked() == [["a"]]
