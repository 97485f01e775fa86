"""Sessions, sidecars and processes that end or answer at the worst moment."""

import dataclasses

import pytest

from tests.unit.tick.desk import Desk
from vigil import ports
from vigil.model import ids, wakes
from vigil.tick import tick


@pytest.fixture
async def desk() -> Desk:
    """A Watch with a wake about one red job in flight."""
    desk = Desk()
    await desk.tick(0, "red:unit")
    await desk.tick(4, "red:unit")
    desk.log.clear()
    return desk


def trouble(desk: Desk) -> str:
    """Why the wake in flight is not delivered."""
    of = desk.memory.current.trouble
    return "" if of is None else f"{of.reason}: {of.message}".removesuffix(": ")


async def test_a_sidecar_that_is_unreachable_leaves_the_wake_in_flight_and_unstamped() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    desk.sidecar.down = True
    assert await desk.tick(4, "red:unit") == "converged: red:unit"
    assert trouble(desk) == "Unreachable: connection refused"
    assert desk.stamped == set()
    await desk.tick(6, "red:unit")
    desk.sidecar.down = False
    await desk.tick(8, "red:unit")
    posted = {message.id for name, message in desk.log if name == "submit"}
    assert posted == set(desk.sidecar.wakes)
    assert len(posted) == 1
    assert trouble(desk) == "Busy"


async def test_a_wake_that_nobody_holds_up_is_no_trouble(desk: Desk) -> None:
    desk.sidecar.busy = None
    await desk.tick(6, "red:unit")
    assert desk.memory.current.trouble is None


async def test_trouble_ends_with_its_wake(desk: Desk) -> None:
    assert desk.memory.current.trouble is not None
    await desk.tick(6)
    assert desk.memory.current.trouble is None


async def test_a_wake_that_lost_its_entries_is_withdrawn_before_that_is_stored(desk: Desk) -> None:
    assert await desk.tick(6) == "nothing-open"
    assert desk.did() == ["withdraw", "store", "store"]
    assert desk.sidecar.last.state is wakes.WakeState.WITHDRAWN
    assert desk.memory.state.in_flight is None
    assert [one.state for one in desk.memory.current.wakes] == [wakes.WakeState.WITHDRAWN]
    assert ports.WakeEnded(wakes.WakeState.WITHDRAWN) in desk.signals.records


async def test_what_cleared_and_comes_back_is_told_by_another_wake(desk: Desk) -> None:
    await desk.tick(6)
    await desk.tick(8, "red:unit")
    assert await desk.tick(12, "red:unit") == "converged: red:unit"
    assert [one.state for one in desk.sidecar.wakes.values()] == [wakes.WakeState.WITHDRAWN, wakes.WakeState.QUEUED]


async def test_a_session_that_claims_what_is_being_withdrawn_keeps_it(desk: Desk) -> None:
    desk.sidecar.meanwhile = desk.sidecar.claim
    assert await desk.tick(6) == "in-flight"
    flown = desk.memory.state.in_flight
    assert flown is not None
    assert flown.claimed == 1
    await desk.hear(desk.sidecar.finish())
    assert desk.stamped == {"red:unit"}


async def test_a_session_that_completes_what_is_being_withdrawn_was_told(desk: Desk) -> None:
    desk.sidecar.meanwhile = lambda: desk.sidecar.finish(tokens=3)
    assert await desk.tick(6) == "nothing-open"
    assert desk.stamped == {"red:unit"}
    assert desk.memory.state.spent.turns == 1


async def test_a_session_that_claims_an_older_version_than_the_one_on_its_way_was_told_that_one(desk: Desk) -> None:
    desk.sidecar.meanwhile = desk.sidecar.claim
    await desk.tick(6, "red:unit", "red:e2e")
    flown = desk.memory.state.in_flight
    assert flown is not None
    assert (flown.sequence, flown.claimed) == (2, 1)
    assert [one.identity.key for one in flown.present] == ["red:unit"]
    await desk.hear(desk.sidecar.finish())
    assert desk.stamped == {"red:unit"}
    assert await desk.tick(10, "red:unit", "red:e2e") == "converged: red:e2e"


async def test_an_end_that_came_too_late_for_a_claim_is_told_after_it(desk: Desk) -> None:
    desk.sidecar.meanwhile = desk.sidecar.claim
    assert await desk.tick(6, "done") == "succeeded: done"
    assert desk.memory.state.owed != ()
    await desk.hear(desk.sidecar.finish())
    assert await desk.read(8, {}) == "succeeded: done"
    assert [one.message.type for one in desk.sidecar.wakes.values()] == [wakes.WakeType.WAKE, wakes.WakeType.TERMINAL]


async def test_a_withdrawal_that_gets_no_answer_leaves_everything_as_it_was(desk: Desk) -> None:
    before = desk.memory.state
    desk.sidecar.down = True
    assert await desk.tick(6) == "in-flight"
    assert desk.memory.state == before
    assert trouble(desk).startswith("Unreachable: ")
    desk.sidecar.down = False
    assert await desk.tick(8) == "nothing-open"
    assert desk.sidecar.last.state is wakes.WakeState.WITHDRAWN


class Confused:
    """A Delivery that answers a withdrawal with the outcome of another wake."""

    def __init__(self) -> None:
        self.withdrawals = 0

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """Take it."""
        return wakes.SubmitResult(wakes.WakeState.QUEUED, message.sequence)

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """Speak of something else."""
        self.withdrawals += 1
        event = wakes.OutcomeEvent(1, ids.WakeId("another"), ids.WatchUid("w1"), wakes.WakeState.DELIVERED, 1, 0.0)
        return wakes.SubmitResult(wakes.WakeState.DELIVERED, 1, event=event)

    async def outcomes(self, after: int, wait: ids.Seconds) -> ports.OutcomePage:
        """Nothing."""
        return ports.OutcomePage((), after)


async def test_a_sidecar_that_makes_no_sense_is_not_asked_for_ever(desk: Desk) -> None:
    confused = Confused()
    desk.ticker = tick.Ticker(desk.store, confused, desk.signals)
    assert await desk.tick(6) == "in-flight"
    assert confused.withdrawals == 3
    assert desk.memory.state.in_flight is not None


async def test_c146_a_crash_between_the_store_and_the_post_sends_the_same_wake_once() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    desk.sidecar.down = True
    await desk.tick(4, "red:unit")
    decided = desk.memory.state.in_flight
    desk.sidecar.down = False
    desk.crash()
    assert await desk.tick(6, "red:unit") == "in-flight"
    assert decided is not None
    assert set(desk.sidecar.wakes) == {decided.id}
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish())
    assert await desk.tick(8, "red:unit") == "handled"
    assert desk.memory.state.spent.turns == 1


async def test_c146_a_crash_between_the_post_and_its_outcome_makes_no_second_turn(desk: Desk) -> None:
    desk.sidecar.claim()
    desk.crash()
    await desk.tick(6, "red:unit")
    event = desk.sidecar.finish(tokens=9)
    desk.crash()
    await desk.hear(event)
    assert await desk.tick(8, "red:unit") == "handled"
    assert len(desk.sidecar.wakes) == 1
    assert (desk.memory.state.spent.turns, desk.memory.state.spent.tokens) == (1, 9)


async def test_c146_an_outcome_that_the_feed_has_passed_is_found_by_the_next_submission(desk: Desk) -> None:
    desk.sidecar.claim()
    desk.sidecar.finish(wakes.WakeState.DELIVERED, wakes.DispositionOf("red:unit", wakes.Disposition.DISPATCHED))
    desk.crash()
    await desk.tick(6, "red:unit")
    assert await desk.tick(8, "red:unit") == "handled"
    assert desk.memory.state.spent.turns == 1
    assert [one.disposition for one in desk.memory.state.subjects[desk.watch.targets[0].id].dispositions.values()] == [
        wakes.Disposition.DISPATCHED
    ]


async def test_c146_a_crash_before_the_store_decides_the_same_wake_again() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    before = desk.store.stored()
    await desk.tick(4, "red:unit")
    first = desk.sidecar.last.message.id
    desk.crash(before)
    await desk.tick(6, "red:unit")
    assert set(desk.sidecar.wakes) == {first}


async def test_a_state_restored_from_before_a_wake_that_has_ended_takes_its_outcome_over_and_tells_nobody_twice() -> (
    None
):
    desk = Desk()
    await desk.tick(0, "red:unit")
    older = desk.store.stored()
    await desk.tick(4, "red:unit")
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish(tokens=7))
    desk.crash(older)
    await desk.tick(6, "red:unit")
    assert len(desk.sidecar.wakes) == 1
    assert desk.stamped == {"red:unit"}
    assert desk.memory.state.spent.turns == 1
    assert await desk.tick(8, "red:unit") == "handled"


async def test_a_state_restored_with_a_wake_in_flight_that_has_ended_goes_on(desk: Desk) -> None:
    older = desk.store.stored()
    desk.sidecar.claim()
    await desk.hear(desk.sidecar.finish())
    desk.crash(older)
    await desk.tick(6, "red:unit")
    assert desk.memory.state.in_flight is None
    assert await desk.tick(8, "red:unit") == "handled"


async def test_a_sidecar_that_lost_its_memory_gets_the_wake_again(desk: Desk) -> None:
    sent = desk.sidecar.last.message
    desk.sidecar.wakes.clear()
    await desk.tick(6, "red:unit")
    assert desk.sidecar.last.message == dataclasses.replace(
        sent, observed_at=desk.now, evidence=desk.sidecar.last.message.evidence
    )


async def test_an_outcome_without_its_event_is_taken_as_it_is_known(desk: Desk) -> None:
    desk.sidecar.claim()
    desk.sidecar.finish(tokens=50)
    desk.sidecar.last.event = None
    await desk.tick(6, "red:unit")
    assert desk.stamped == {"red:unit"}
    assert (desk.memory.state.spent.turns, desk.memory.state.spent.tokens) == (1, 0)


async def test_news_of_a_revision_that_came_back_is_told_although_its_first_wake_had_the_same_entries() -> None:
    desk = Desk()
    for minute, revision in ((0, "r1"), (20, "r2"), (40, "r1")):
        await desk.tick(minute, "red:unit", revision=revision)
        assert await desk.tick(minute + 4, "red:unit", revision=revision) == "converged: red:unit"
        desk.sidecar.claim()
        await desk.hear(desk.sidecar.finish())
    assert len(desk.sidecar.wakes) == 3
    assert desk.memory.state.spent.turns == 3


async def test_c154_a_watch_that_is_gone_delivers_nothing() -> None:
    desk = Desk()
    desk.store.answers = [ports.SaveResult.GONE]
    await desk.tick(0, "done")
    assert desk.did() == ["store"]
    assert desk.saved is ports.SaveResult.GONE
