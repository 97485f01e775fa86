"""What follows what in a tick: decide, store, and only then deliver."""

import pytest

from tests.unit import gauges
from tests.unit.tick.desk import Desk
from vigil import ports
from vigil.kind import api
from vigil.model import verdicts, wakes


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def woken(desk: Desk) -> Desk:
    """A Watch whose wake was just decided."""
    assert await desk.tick(0, "red:unit") == "coalescing"
    desk.log.clear()
    assert await desk.tick(4, "red:unit") == "converged: red:unit"
    return desk


async def test_a_wake_is_stored_before_it_is_submitted(desk: Desk) -> None:
    await woken(desk)
    assert [name for name, _ in desk.log[:2]] == ["store", "submit"]
    stored = desk.store.saved[1].state.in_flight
    assert stored is not None
    assert stored.id == desk.sidecar.last.message.id


@pytest.mark.parametrize("answer", [one for one in ports.SaveResult if one is not ports.SaveResult.SAVED])
async def test_nothing_is_submitted_on_a_memory_that_was_not_stored(desk: Desk, answer: ports.SaveResult) -> None:
    await desk.tick(0, "red:unit")
    desk.log.clear()
    desk.store.answers = [answer]
    await desk.tick(4, "red:unit")
    assert desk.did() == ["store"]
    assert desk.saved is answer
    assert desk.sidecar.wakes == {}


async def test_a_wake_that_could_not_be_stored_is_stored_and_submitted_the_next_time_with_the_same_id(
    desk: Desk,
) -> None:
    await desk.tick(0, "red:unit")
    desk.store.answers = [ports.SaveResult.FAILED, ports.SaveResult.FAILED]
    await desk.tick(4, "red:unit")
    decided = desk.memory.state.in_flight
    await desk.settle()
    assert desk.sidecar.wakes == {}
    await desk.settle()
    assert decided is not None
    assert set(desk.sidecar.wakes) == {decided.id}


async def test_a_quiet_tick_stores_nothing_and_submits_nothing(desk: Desk) -> None:
    await desk.tick(0)
    desk.log.clear()
    for minute in range(2, 20, 2):
        assert await desk.tick(minute) == "nothing-open"
    assert desk.did() == []


async def test_counters_and_texts_are_stored_along_with_the_next_change(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish())
    desk.log.clear()
    assert await desk.tick(6, "red:unit", pending=3, note="since 6 minutes") == "handled"
    assert await desk.tick(8, "red:unit", pending=2, note="since 8 minutes") == "handled"
    assert desk.did() == ["store"], "the verdict changed once, from the wake to handled"
    assert await desk.tick(10, "red:unit", "red:e2e") == "coalescing"
    assert desk.did() == ["store"]
    assert desk.store.saved[-1].state.last_tick == desk.now


async def test_a_wake_in_flight_is_submitted_in_every_tick_and_stored_only_when_something_changes(desk: Desk) -> None:
    await woken(desk)
    await desk.tick(6, "red:unit")
    desk.log.clear()
    await desk.tick(8, "red:unit")
    await desk.tick(10, "red:unit")
    assert desk.did() == ["submit", "submit"]
    await desk.tick(12, "red:unit", "red:e2e")
    assert desk.did() == ["store", "submit"]
    assert {one.key for one in desk.sidecar.last.message.entries} == {"red:e2e", "red:unit"}
    assert desk.sidecar.last.message.sequence == 2


async def test_what_left_is_forgotten_once_the_sidecar_holds_the_version_without_it(desk: Desk) -> None:
    await desk.tick(0, "red:unit", "red:e2e")
    await desk.tick(4, "red:unit", "red:e2e")
    for minute in range(6, 60, 4):
        await desk.tick(minute, "red:unit")
        await desk.tick(minute + 2, "red:unit", "red:e2e")
    flown = desk.memory.state.in_flight
    assert flown is not None
    assert len(flown.sent) == 2


async def test_a_claim_is_learned_from_the_next_submission(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    await desk.tick(6, "red:unit", "red:e2e")
    flown = desk.memory.state.in_flight
    assert flown is not None
    assert flown.claimed == 1
    assert desk.memory.current.trouble is None
    assert desk.memory.current.wakes[0].state is wakes.WakeState.CLAIMED
    assert [one.key for one in desk.memory.state.window] == ["red:e2e"]


async def test_an_outcome_is_learned_from_the_next_submission_too(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    desk.sidecar.finish(tokens=40)
    assert await desk.tick(6, "red:unit") == "in-flight"
    assert desk.stamped == {"red:unit"}
    assert desk.memory.state.spent.tokens == 40
    assert await desk.tick(8, "red:unit") == "handled"


async def test_an_outcome_of_the_feed_is_stored_at_once(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    event = desk.sidecar.finish()
    desk.log.clear()
    await desk.hear(event)
    assert desk.did() == ["store"]
    assert ports.WakeEnded(wakes.WakeState.DELIVERED) in desk.signals.records


async def test_an_outcome_that_comes_twice_or_is_of_another_wake_does_nothing(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    event = desk.sidecar.finish()
    await desk.hear(event)
    desk.log.clear()
    before = desk.memory
    await desk.hear(event)
    assert desk.memory is before
    assert desk.did() == []


async def test_a_watch_without_deliver_records_its_wake(desk: Desk) -> None:
    desk = Desk(gauges.watch(deliver=None))
    await woken(desk)
    assert desk.memory.state.in_flight is None
    assert desk.stamped == {"red:unit"}
    assert desk.memory.state.spent.turns == 0
    assert [one.state for one in desk.memory.current.wakes] == [wakes.WakeState.RECORDED]
    assert await desk.tick(6, "red:unit") == "handled"


async def test_a_suspended_watch_decides_nothing_and_still_delivers_what_is_in_flight(desk: Desk) -> None:
    await woken(desk)
    flown = desk.memory.state.in_flight
    desk.memory = desk.memory.with_current(watch=gauges.watch(suspend=True, generation=2))
    desk.log.clear()
    assert await desk.tick(6, "now:conflict") == "suspended"
    assert desk.did() == ["store", "submit"]
    assert desk.memory.state.in_flight == flown


async def test_a_watch_that_has_ended_keeps_its_last_word(desk: Desk) -> None:
    assert await desk.tick(0, "done") == "succeeded: done"
    desk.log.clear()
    assert await desk.read(2, {}) == "succeeded: done"
    assert desk.did() == ["submit"]
    desk.sidecar.claim()
    desk.sidecar.finish()
    await desk.read(4, {})
    assert desk.verdict == "succeeded: done"
    assert desk.memory.state.quiet_for_good


async def test_an_end_that_was_lost_is_submitted_again_under_another_id(desk: Desk) -> None:
    await desk.tick(0, "done")
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish(wakes.WakeState.LOST))
    assert await desk.read(2, {}) == "succeeded: done"
    first, second = desk.sidecar.wakes.values()
    assert first.message.id != second.message.id
    assert second.message.entries == first.message.entries
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish())
    assert desk.memory.state.quiet_for_good
    assert desk.memory.state.spent.turns == 2


async def test_the_last_wakes_are_remembered_the_newest_first_and_no_more_than_five(desk: Desk) -> None:
    for hour in range(0, 48, 7):
        await desk.tick(60 * hour, "red:unit")
        await desk.tick(60 * hour + 4, "red:unit")
        desk.sidecar.claim()
        await desk.hear(desk.sidecar.finish())
    shown = desk.memory.current.wakes
    assert len(shown) == 5
    assert [one.at for one in shown] == sorted((one.at for one in shown), reverse=True)
    assert len({one.id for one in shown}) == 5


async def test_a_wake_that_an_end_takes_over_is_shown_as_the_end() -> None:
    desk = Desk(gauges.watch("a", "b"))
    a, b = (one.id for one in desk.watch.targets)
    await desk.read(0, {a: api.Snapshot({"shows": ["red:unit"]}), b: api.Snapshot({})})
    await desk.read(4, {a: api.Snapshot({"shows": ["red:unit"]}), b: api.Snapshot({})})
    await desk.read(6, {a: api.Snapshot({"shows": ["red:unit"]}), b: api.Snapshot({"shows": ["done"]})})
    assert [(one.type, one.keys) for one in desk.memory.current.wakes] == [(wakes.WakeType.TERMINAL, ("done",))]


async def test_a_verdict_says_what_was_decided_and_not_what_became_of_it(desk: Desk) -> None:
    await woken(desk)
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish())
    assert isinstance(desk.memory.current.verdict, verdicts.Wake)
