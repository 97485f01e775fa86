"""What the scheduler says about itself, and that one Watch ends no other."""

import asyncio
import logging

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids, limits, verdicts

W1 = ids.WatchUid("w1")


async def test_every_tick_is_told_of_with_its_verdict_and_how_late_it_was(office: Office) -> None:
    office.provider.gate = asyncio.Event()
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(9)
        office.provider.gate.set()
        await clock.idle()
        quiet = verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
        assert list(office.records(ports.TickDone)) == [ports.TickDone("gauge", quiet, 9.0)]
        assert len(office.heard) == 1


async def test_what_is_read_along_before_it_is_due_is_not_late(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.clock.advance(30)
        await office.enrol(gauges.watch("b", uid="w2"))
        await office.clock.advance(90)
        assert [one.lateness for one in office.records(ports.TickDone)] == [0.0] * 4


async def test_a_phase_is_told_when_it_changes_and_only_then(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(600)
        office.provider.show("a", category="auth")
        await office.clock.advance(600)
        office.provider.show("a", "done")
        await office.clock.advance(600)
        await office.scheduler.drop(W1)
        changes = [(one.old, one.new) for one in office.records(ports.PhaseChanged)]
        assert changes == [
            (None, "Watching"),
            ("Watching", "Blocked"),
            ("Blocked", "Succeeded"),
            ("Succeeded", None),
        ]


async def test_a_watch_is_blind_after_so_many_failed_ticks_in_a_row_and_sees_again(office: Office) -> None:
    office.provider.show("a", category="transient")
    two = limits.Limits(limits.Policy(blind_after=2))
    async with office.open():
        await office.enrol(gauges.watch(limits=two), gauges.watch("b", uid="w2"))
        assert list(office.records(ports.BlindChanged)) == []
        await office.clock.advance(120)
        office.provider.show("a")
        await office.clock.advance(600)
        assert [one.blind for one in office.records(ports.BlindChanged)] == [True, False]


async def test_a_watch_that_never_becomes_blind(office: Office) -> None:
    office.provider.show("a", category="transient")
    async with office.open():
        await office.enrol(gauges.watch(limits=limits.Limits(limits.Policy(blind_after=0))))
        await office.clock.advance(7200)
        assert list(office.records(ports.BlindChanged)) == []


async def test_a_timer_that_went_silent_is_noticed_once_and_its_watch_is_ticked_all_the_same() -> None:
    office = Office(timer_period=60.0)
    office.provider.show("a")
    async with office.open():
        await office.enrol(gauges.watch())
        for _ in range(10):
            await office.clock.advance(60)
            office.scheduler.beat(W1)
        assert list(office.records(ports.TimerLost)) == []
        office.asked()
        await office.clock.advance(1200)
        assert list(office.records(ports.TimerLost)) == [ports.TimerLost("gauge")]
        assert len(office.asked()) == 10
        office.scheduler.beat(W1)
        await office.clock.advance(1200)
        assert len(list(office.records(ports.TimerLost))) == 2
        office.scheduler.beat(ids.WatchUid("nobody"))


async def test_without_timers_none_is_missed(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        await office.clock.advance(4 * 3600)
        assert list(office.records(ports.TimerLost)) == []


async def test_the_loop_goes_round_at_least_every_minute(office: Office) -> None:
    async with office.open():
        for _ in range(10):
            await office.clock.advance(60)
            assert office.clock.monotonic() - office.scheduler.looped <= 60


async def test_a_late_watch_is_due_with_the_beat_of_its_timer(office: Office) -> None:
    async with office.open():
        await office.enrol(gauges.watch())
        office.asked()
        office.clock.step(121)
        office.scheduler.beat(W1)
        await clock.idle()
        assert len(office.asked()) == 1


async def test_a_tick_that_fails_in_an_unforeseen_way_is_logged_and_ends_no_other(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    original = office.store.save

    async def trip(checkpoint: object) -> ports.SaveResult:
        if getattr(checkpoint, "watch").ref.uid == "w1":  # noqa: B009 - the argument is an object to this store
            raise RuntimeError("a disk on fire")
        return await original(checkpoint)  # type: ignore[arg-type] # it is a checkpoint

    office.store.save = trip  # type: ignore[method-assign] # this store of the test is on fire
    with caplog.at_level(logging.ERROR, logger="vigil.scheduler.scheduler"):
        async with office.open():
            await office.enrol(gauges.watch("a"), gauges.watch("b", uid="w2"))
            assert office.known("w2").current.verdict is not None
            office.asked()
            await office.clock.advance(120)
            assert len(office.asked()) == 1
    assert "a disk on fire" in caplog.text
