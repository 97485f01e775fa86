"""What a new process makes of the Watches that were known before."""

from tests.unit import gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.model import ids
from vigil.state import codec
from vigil.tick import memory

W1 = ids.WatchUid("w1")


async def test_known_watches_are_first_read_spread_over_their_interval(office: Office) -> None:
    watches = [gauges.watch(f"g{n}", uid=f"w{n}", hall=f"hall{n}") for n in range(20)]
    for one in watches:
        office.provider.show(one.targets[0].label.removeprefix("gauge/"))
        office.scheduler.enrol(one, memory.Stored(codec.decode("", W1)))
    async with office.open():
        times = []
        for second in range(121):
            times += [second] * len(office.asked())
            await office.clock.advance(1)
        assert len(times) == 20
        assert len(set(times)) > 10
        assert office.store.saved[0].verdict is not None, "a known Watch is not Pending"


async def test_a_known_watch_with_a_wake_in_flight_is_read_at_once(office: Office) -> None:
    office.provider.show("a", "now:conflict")
    async with office.open():
        await office.enrol(gauges.watch())
    stored = office.store.stored()
    office.scheduler = office.another()
    office.asked()
    async with office.open():
        await office.enrol(gauges.watch(), stored=stored)
        assert len(office.asked()) == 1


async def test_a_watch_that_had_ended_and_told_so_is_only_shown(office: Office) -> None:
    office.provider.show("a", "done")
    async with office.open():
        await office.enrol(gauges.watch(deliver=None))
    stored = office.store.stored()
    office.scheduler = office.another(spread=0.0)
    office.log.clear()
    office.signals.records.clear()
    async with office.open():
        await office.enrol(gauges.watch(deliver=None), stored=stored)
        await office.clock.advance(3600)
        assert office.log == []
        assert office.signals.records == [ports.PhaseChanged("gauge", None, "Succeeded")]


async def test_a_watch_of_an_unknown_version_is_shown_and_left_alone(office: Office) -> None:
    held = memory.Stored(codec.decode('{"version":99}', W1))
    office.scheduler = office.another(spread=0.0)
    async with office.open():
        await office.enrol(gauges.watch(), stored=held)
        await office.clock.advance(3600)
        assert office.asked() == []
        assert office.names("store") == [ports.SaveResult.SAVED]
        assert [one.new for one in office.records(ports.PhaseChanged)] == ["Stalled"]
