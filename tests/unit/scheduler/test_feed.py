"""The outcomes of wakes, in their order, to the Watches that they belong to."""

import asyncio

from tests.unit import clock, gauges, world
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids, limits, wakes
from vigil.scheduler import feed


class Post:
    """A sidecar with some outcomes, and what was made of them."""

    def __init__(self) -> None:
        self.clock = clock.VirtualClock()
        self.sidecar = world.Sidecar([], self.clock)
        self.heard: list[int] = []
        self.feed = feed.Feed(self.sidecar, self.clock, self._hear)

    async def _hear(self, event: wakes.OutcomeEvent) -> None:
        await asyncio.sleep(0)
        self.heard.append(event.cursor)

    def happen(self, cursor: int) -> None:
        """One more outcome."""
        event = wakes.OutcomeEvent(cursor, ids.WakeId("w"), ids.WatchUid("w1"), wakes.WakeState.DELIVERED, 1, 0.0)
        self.sidecar.events.append(event)


async def test_outcomes_are_applied_in_their_order_and_the_cursor_is_kept_after_them() -> None:
    post = Post()
    for cursor in (1, 2, 3):
        post.happen(cursor)
    await post.feed.step(0)
    post.happen(4)
    await post.feed.step(0)
    assert post.heard == [1, 2, 3, 4]
    assert post.sidecar.asked_after == [0, 3]


async def test_an_outcome_that_could_not_be_applied_is_asked_for_again() -> None:
    post = Post()
    post.happen(1)

    async def trip(event: wakes.OutcomeEvent) -> None:
        raise RuntimeError("the process ends here")

    tripping = feed.Feed(post.sidecar, post.clock, trip)
    for _ in range(2):
        try:
            await tripping.step(0)
        except RuntimeError:
            continue
    assert post.sidecar.asked_after == [0, 0]


async def test_a_sidecar_that_is_down_is_asked_at_growing_pauses_up_to_half_a_minute() -> None:
    post = Post()
    post.sidecar.down = True
    follower = asyncio.create_task(post.feed.run())
    seen: list[int] = []
    for _ in range(8):
        await post.clock.advance(30)
        seen.append(len(post.sidecar.asked_after))
    # The pauses are 1, 2, 4, 8, 16, 30, 30, … seconds: five within the first half minute, then one in each.
    assert seen == [5, 6, 7, 8, 9, 10, 11, 12]
    post.sidecar.down = False
    post.happen(1)
    await post.clock.advance(30)
    assert post.heard == [1]
    follower.cancel()
    await asyncio.gather(follower, return_exceptions=True)


async def test_the_first_pause_after_it_was_up_is_short_again() -> None:
    post = Post()
    post.sidecar.down = True
    for _ in range(4):
        step = asyncio.create_task(post.feed.step(0))
        await post.clock.advance(30)
        await step
    post.sidecar.down = False
    post.happen(1)
    await post.feed.step(0)
    post.sidecar.down = True
    step = asyncio.create_task(post.feed.step(0))
    await post.clock.advance(1)
    assert step.done()


async def test_an_outcome_reaches_its_watch_while_nothing_is_read() -> None:
    office = Office()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch("a"))
        office.sidecar.claim()
        office.asked()
        office.sidecar.finish(tokens=9)
        await clock.idle()
        assert office.known().state.in_flight is None
        assert office.known().state.spent.tokens == 9
        assert office.asked() == []
        assert ports.WakeEnded(wakes.WakeState.DELIVERED, 9) in office.signals.records


async def test_an_outcome_of_a_watch_that_is_gone_is_passed_over() -> None:
    office = Office()
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch("a"))
        office.sidecar.claim()
        await office.scheduler.drop(ids.WatchUid("w1"))
        office.sidecar.finish()
        await clock.idle()
        assert office.sidecar.asked_after[-1] == 1


async def test_outcomes_that_are_read_again_after_a_restart_do_nothing_and_submit_nothing() -> None:
    office = Office()
    office.provider.show("a", "now:conflict")
    watch = gauges.watch("a", limits=limits.Limits(limits.Policy(realert_after=600)))
    async with office.open():
        await office.enrol(watch)
        for number in range(3):
            office.sidecar.claim()
            office.sidecar.finish(tokens=1)
            await office.clock.advance(600)
            assert len(office.sidecar.wakes) == number + 2
    stored = office.store.stored()
    office.scheduler = office.another(spread=0.0)
    office.scheduler.enrol(watch, stored)
    office.log.clear()
    async with office.open():
        await clock.idle()
        assert office.known().state.spent.turns == 3
        assert len(office.names("submit")) == 1
