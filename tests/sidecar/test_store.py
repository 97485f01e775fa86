"""What every implementation of the store has to keep to, each transaction for itself and after a restart."""

import asyncio
import dataclasses
import pathlib
from collections.abc import AsyncGenerator, Callable

import pytest

from tests.sidecar import support
from vigil.api import base, ledger
from vigil.api import wake as wire
from vigil.model import ids, wakes
from vigil.sidecar import evidence, sessions, turns
from vigil.sidecar.store import port, sql

NOW = support.NOW
AT = support.SUPERVISOR
RULES = turns.Rules()
QUEUED, CLAIMED = wakes.WakeState.QUEUED, wakes.WakeState.CLAIMED
W1, W2 = ids.WakeId("w1"), ids.WakeId("w2")

Make = Callable[[turns.Rules], port.Store]


@pytest.fixture(params=["file", "memory"])
async def make(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> AsyncGenerator[Make]:
    """Makes stores of one implementation; all of a file see the same file."""
    made: list[port.Store] = []

    def one(rules: turns.Rules) -> port.Store:
        memory = request.param == "memory"
        made.append(sql.SqlStore.memory(rules) if memory else sql.SqlStore.file(tmp_path / "a" / "sidecar.db", rules))
        return made[-1]

    yield one
    for each in made:
        await each.close()


@pytest.fixture
async def store(make: Make) -> port.Store:
    made = make(RULES)
    await made.open()
    return made


async def put(store: port.Store, message: wakes.WakeMessage, now: float = NOW) -> port.Submitted:
    found = await store.submit(message, evidence.Ref(evidence.path_of(message)), now)
    assert isinstance(found, port.Submitted)
    return found


async def claim(store: port.Store, now: float = NOW, *, request: str | None = None, user: bool = False) -> port.Turn:
    found = await store.claim(AT, request, user, now)
    assert isinstance(found, port.Turn), found
    return found


async def complete(
    store: port.Store, turn: port.Turn, now: float = NOW, **changes: object
) -> port.Ended | port.Stale | port.NotInTurn:
    main = turn.wakes[0]
    done = port.Completion(turn.fence, main.watch.uid, main.watch.generation, 1200)
    return await store.complete(main.id, dataclasses.replace(done, **changes), now)  # type: ignore[arg-type]  # real fields


async def state(store: port.Store, wake: str = "w1", now: float = NOW) -> wakes.SubmitResult:
    shown = await store.get(ids.WakeId(wake), now)
    assert shown is not None
    return shown.result


async def told(store: port.Store, after: int = 0) -> list[tuple[str, str, int]]:
    page = await store.outcomes(after, 100)
    return [(each.wake, each.state.value, each.sequence) for each in page.events]


class TestSubmit:
    """A wake is an upsert until it is claimed."""

    async def test_a_new_wake_is_queued_without_a_recipient_until_its_session_attaches(self, store: port.Store) -> None:
        assert (await put(store, support.wake())).shown.result == wakes.SubmitResult(
            QUEUED, 1, wakes.QueuedReason.NO_RECIPIENT
        )
        await store.attach(AT, support.idle(), NOW)
        assert await state(store) == wakes.SubmitResult(QUEUED, 1)
        await store.attach(AT, support.busy(), NOW)
        assert await state(store) == wakes.SubmitResult(QUEUED, 1, wakes.QueuedReason.BUSY)

    async def test_a_newer_version_replaces_an_older_one_and_never_the_other_way_round(self, store: port.Store) -> None:
        await put(store, support.wake(sequence=2))
        assert not (await put(store, support.wake(sequence=1, brief="old"))).taken
        assert not (await put(store, support.wake(sequence=2, brief="same"))).taken
        newer = await put(store, support.wake(sequence=3, brief="new"))
        assert newer.taken
        assert newer.dropped == {evidence.Ref("team-a/api-42/w1-2.txt")}
        held = newer.shown.held
        assert held.message is not None
        assert (held.sequence, held.message.brief) == (3, "new")
        assert await told(store) == []

    async def test_all_of_a_message_comes_back_but_its_evidence(self, store: port.Store) -> None:
        message = support.wake(
            deliver=dataclasses.replace(
                support.TO_BOTH,
                prompts=(("stalled", "Say why."),),
                notify=wakes.Notify(url_from=wakes.SecretKey("alerts", "url")),
                fresh=wakes.Fresh(cron_job="agent"),
            ),
            description="the API's pull request",
        )
        held = (await put(store, message)).shown.held
        assert held.message == dataclasses.replace(message, evidence="")

    async def test_a_claimed_wake_is_frozen(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        await claim(store)
        found = await put(store, support.wake(sequence=2))
        assert not found.taken
        assert found.shown.result == wakes.SubmitResult(CLAIMED, 1)

    async def test_one_without_deliver_is_recorded_at_once_and_once(self, store: port.Store) -> None:
        found = await put(store, support.wake(deliver=None))
        assert support.standing(found.shown.result) == wakes.SubmitResult(wakes.WakeState.RECORDED, 1)
        assert [each.state for each in found.ended] == [wakes.WakeState.RECORDED]
        assert not (await put(store, support.wake(deliver=None, sequence=2))).taken
        assert await told(store) == [("w1", "Recorded", 1)]

    async def test_an_ended_wake_tells_what_became_of_it(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=None))
        found = await put(store, support.wake(deliver=None))
        assert found.shown.result.event == (await store.outcomes(0, 10)).events[0]

    async def test_a_second_wake_of_a_watch_takes_the_place_of_the_queued_one(self, store: port.Store) -> None:
        await put(store, support.wake("w1"))
        await put(store, support.wake("w2"))
        assert await told(store) == [("w1", "Withdrawn", 1)]
        assert (await state(store, "w2")).state is QUEUED

    async def test_and_waits_for_the_claimed_one(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake("w1"))
        await claim(store)
        found = await store.submit(support.wake("w2"), None, NOW)
        assert isinstance(found, port.OtherClaimed)
        assert found.held.id == "w1"
        assert await store.get(W2, NOW) is None

    async def test_wakes_of_other_watches_stay(self, store: port.Store) -> None:
        await put(store, support.wake("w1"))
        await put(store, support.wake("w2", watch="api-43"))
        assert await told(store) == []

    async def test_a_watch_reaches_only_sessions_of_its_own_namespace(self, store: port.Store) -> None:
        other = dataclasses.replace(support.wake().watch, namespace="team-b")
        await store.attach(AT, support.idle(), NOW)
        await put(store, dataclasses.replace(support.wake(), watch=other))
        assert (await state(store)).reason is wakes.QueuedReason.NO_RECIPIENT
        assert isinstance(await store.claim(AT, None, False, NOW), turns.Hold)

    async def test_two_of_the_same_at_once_are_one(self, store: port.Store) -> None:
        found = await asyncio.gather(*(put(store, support.wake()) for _ in range(5)))
        assert sum(each.taken for each in found) == 1

    @pytest.mark.parametrize("final", ["Delivered", "Notified", "Withdrawn", "Lost"])
    async def test_an_id_that_has_ended_is_never_delivered_again(
        self, make: Make, store: port.Store, final: str
    ) -> None:
        await END[final](store)
        before = await told(store)
        assert before == [("w1", final, 1)]
        for again in (store, make(RULES)):
            await again.open()
            if not await told(again):
                return  # a database in memory is gone with its connection
            found = await put(again, support.wake(sequence=9), NOW + 3000)
            assert support.standing(found.shown.result) == wakes.SubmitResult(wakes.WakeState(final), 1)
            assert found.shown.event == (await store.outcomes(0, 100)).events[-1]
            assert not isinstance(await again.claim(AT, None, True, NOW + 3000), port.Turn)
            assert await told(again) == before


class TestWithdraw:
    """A wake can be taken back until it is claimed."""

    async def test_a_queued_one_is_withdrawn_once(self, store: port.Store) -> None:
        await put(store, support.wake())
        for _ in range(2):
            found = await store.withdraw(W1, NOW)
            assert found is not None
            assert support.standing(found.shown.result) == wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 1)
        assert await told(store) == [("w1", "Withdrawn", 1)]

    async def test_a_claimed_one_is_not(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        await claim(store)
        found = await store.withdraw(W1, NOW)
        assert found is not None
        assert found.shown.result.state is CLAIMED
        assert found.ended == ()

    async def test_an_unknown_one_is_told_apart(self, store: port.Store) -> None:
        assert await store.withdraw(W1, NOW) is None


class TestTurns:
    """A claim is a lease with a fence."""

    async def test_a_session_that_never_attached_or_is_gone_claims_nothing(self, store: port.Store) -> None:
        await put(store, support.wake())
        assert await store.claim(AT, None, False, NOW) == port.NotAttached()
        await store.attach(AT, support.idle(ttl=30), NOW)
        assert await store.claim(AT, None, False, NOW + 30) == port.NotAttached()
        await store.detach(AT, NOW)
        assert await store.claim(AT, None, False, NOW) == port.NotAttached()

    async def test_busy_does_not_lose_a_wake(self, store: port.Store) -> None:
        """C148: two times busy, then one delivery."""
        await store.attach(AT, support.busy(), NOW)
        await put(store, support.wake())
        for tick in (1, 2):
            assert await store.claim(AT, None, False, NOW + tick) == turns.Hold(wakes.QueuedReason.BUSY)
            assert not (await put(store, support.wake(), NOW + tick)).taken
        await store.attach(AT, support.idle(), NOW + 3)
        await complete(store, await claim(store, NOW + 3), NOW + 4)
        assert await told(store) == [("w1", "Delivered", 1)]

    async def test_one_turn_at_a_time_with_a_pause_between(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake("w1"))
        await put(store, support.wake("w2", watch="api-43"))
        first = await claim(store)
        assert [each.id for each in first.wakes] == [W1]
        assert await store.claim(AT, None, False, NOW + 60) == turns.Hold(wakes.QueuedReason.BUSY)
        await complete(store, first, NOW + 60)
        held = await store.claim(AT, None, False, NOW + 64)
        assert held == turns.Hold(wakes.QueuedReason.BUSY, NOW + 65)
        assert [each.id for each in (await claim(store, NOW + 65)).wakes] == [W2]

    async def test_many_claims_at_once_hand_out_one_turn(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        found = await asyncio.gather(*(store.claim(AT, None, False, NOW) for _ in range(8)))
        assert sum(isinstance(each, port.Turn) for each in found) == 1

    async def test_a_repeated_request_gets_the_turn_that_it_got(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        first = await claim(store, request="r1")
        assert await claim(store, NOW + 1, request="r1") == first
        assert isinstance(await store.claim(AT, "r2", False, NOW + 1), turns.Hold)

    async def test_a_completion_delivers_with_its_tokens_and_dispositions(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake(sequence=3))
        said = wakes.DispositionOf("red:ci/unit", wakes.Disposition.DISPATCHED, invariant="unit")
        found = await complete(store, await claim(store), NOW + 9, dispositions={"": (said,)})
        assert isinstance(found, port.Ended)
        event = (await store.outcomes(0, 10)).events[0]
        assert event == wakes.OutcomeEvent(
            event.cursor, W1, ids.WatchUid("uid-api-42"), wakes.WakeState.DELIVERED, 3, NOW + 9, 1200, (said,)
        )
        assert found.ended == (event,)

    async def test_the_same_completion_again_changes_nothing(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        await complete(store, turn)
        again = await complete(store, turn, NOW + 700)
        assert isinstance(again, port.Ended)
        assert again.repeated
        assert len(await told(store)) == 1

    @pytest.mark.parametrize(
        "wrong", [{"fence": 99}, {"watch": ids.WatchUid("another")}, {"generation": 2}, {"generation": 0}]
    )
    async def test_a_stale_completion_changes_nothing(self, store: port.Store, wrong: dict[str, object]) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        found = await complete(store, turn, NOW, **wrong)
        assert isinstance(found, port.Stale)
        assert found.held is not None
        assert (await state(store)).state is CLAIMED
        assert await told(store) == []

    async def test_unknown_wakes_are_stale_and_unknown_watches_told(self, store: port.Store) -> None:
        assert await store.renew(W1, 1, NOW) == port.Stale(None)
        assert await store.release(W1, 1, NOW) == port.Stale(None)
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        said = wakes.DispositionOf("red:ci/unit", wakes.Disposition.DISPATCHED)
        assert await complete(store, turn, NOW, dispositions={"other": (said,)}) == port.NotInTurn("other")
        assert (await state(store)).state is CLAIMED

    async def test_a_lease_that_ran_out_is_offered_once_again_and_then_lost(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        first = await claim(store)
        assert await store.expire(NOW + 599) == ()
        assert await store.expire(NOW + 600) == ()
        assert (await state(store, now=NOW + 700)).state is QUEUED
        assert isinstance(await complete(store, first, NOW + 700), port.Stale)
        second = await claim(store, NOW + 700)
        assert second.fence > first.fence
        assert isinstance(await complete(store, first, NOW + 701), port.Stale)
        lost = await store.expire(NOW + 1300)
        assert [each.state for each in lost] == [wakes.WakeState.LOST]
        assert isinstance(await complete(store, second, NOW + 1301), port.Stale)
        assert await told(store) == [("w1", "Lost", 1)]

    async def test_a_renewed_lease_lasts(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        assert await store.renew(W1, turn.fence, NOW + 500) == NOW + 1100
        assert isinstance(await store.renew(W1, turn.fence + 1, NOW + 500), port.Stale)
        await store.expire(NOW + 1000)
        assert (await state(store)).state is CLAIMED

    async def test_a_turn_that_was_given_back_is_offered_again(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        found = await store.release(W1, turn.fence, NOW + 1)
        assert isinstance(found, port.Ended)
        assert found.shown.held.state is QUEUED
        assert isinstance(await store.release(W1, turn.fence, NOW + 1), port.Stale)
        assert (await put(store, support.wake(sequence=2), NOW + 2)).taken
        assert (await claim(store, NOW + 6)).wakes[0].sequence == 2

    async def test_a_clock_that_steps_back_does_not_make_a_lease_longer(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        await claim(store)
        await store.expire(NOW - 86_400)
        await store.expire(NOW - 86_400 + 600)
        assert (await state(store)).state is QUEUED

    async def test_eight_turns_in_a_row_suspend_waking_until_a_users_turn(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        for number in range(8):
            at = NOW + number * 10
            await put(store, support.wake(f"w{number}", deliver=support.TO_BOTH), at)
            await complete(store, await claim(store, at), at)
        await put(store, support.wake("w9", deliver=support.TO_BOTH), NOW + 90)
        assert (await state(store, "w9", NOW + 90)).reason is wakes.QueuedReason.WAKING_SUSPENDED
        plan = await store.plan(NOW + 90)
        assert [each.suspended_for for each in plan.tell] == [support.HOOK]
        assert plan.suspended_sessions == 1
        await store.end_telling(AT, None)
        assert (await store.plan(NOW + 90)).tell == ()
        page = await store.ledger(ids.WatchUid("uid-api-42"), None, 100)
        assert [each.event for each in page.entries].count(ledger.Event.SUSPENDED) == 1
        await store.attach(AT, support.idle(last_user_turn=NOW + 91), NOW + 92)
        assert (await claim(store, NOW + 92)).wakes[0].id == "w9"

    async def test_a_users_turn_takes_what_waits_and_counts_for_nothing(self, store: port.Store) -> None:
        await store.attach(AT, support.busy(), NOW)
        await put(store, support.wake())
        turn = await claim(store, user=True)
        await complete(store, turn)
        session, _ = await store.attach(AT, support.idle(), NOW)
        assert (session.turns_in_row, session.last_user_turn) == (0, NOW)

    async def test_a_days_budget_holds_until_it_has_a_turn_again(self, make: Make) -> None:
        store = make(turns.Rules(turns_per_day_of_namespace=2))
        await store.open()
        await store.attach(AT, support.idle(), NOW)
        for number in range(2):
            at = NOW + number * 10
            await put(store, support.wake(f"w{number}"), at)
            await complete(store, await claim(store, at), at)
        await put(store, support.wake("w9"), NOW + 20)
        assert (await state(store, "w9", NOW + 20)).reason is wakes.QueuedReason.BUDGET_EXCEEDED
        assert (await store.plan(NOW + 20)).due == NOW + 3600  # the session's end comes first
        await store.attach(AT, support.idle(), NOW + turns.DAY)
        assert (await claim(store, NOW + turns.DAY)).wakes[0].id == "w9"


class TestRiders:
    """What does not start a turn goes along with one."""

    RIDING = dataclasses.replace(support.TO_SESSION, wake=False)

    async def test_a_notice_stands_beside_its_event_and_is_told_after_it(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake("w1", deliver=support.TO_BOTH))
        await put(store, support.notice("n1", deliver=support.TO_BOTH))
        assert (await state(store, "n1")).reason is wakes.QueuedReason.BUSY
        assert (await store.plan(NOW)).notify == ()
        turn = await claim(store)
        assert [each.id for each in turn.wakes] == ["w1", "n1"]
        await complete(store, turn)
        assert await told(store) == [("w1", "Delivered", 1), ("n1", "Delivered", 1)]
        tokens = [each.tokens for each in (await store.outcomes(0, 10)).events]
        assert tokens == [1200, 0]

    async def test_without_its_event_it_is_notified(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.notice("n1", deliver=support.TO_BOTH))
        assert (await store.plan(NOW)).notify == ("n1",)
        assert isinstance(await store.claim(AT, None, False, NOW), turns.Hold)

    async def test_a_second_notice_takes_the_place_of_the_first(self, store: port.Store) -> None:
        await put(store, support.notice("n1"))
        await put(store, support.notice("n2"))
        assert await told(store) == [("n1", "Withdrawn", 1)]

    async def test_what_may_not_wake_waits_for_the_next_turn(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake("r1", watch="api-43", deliver=self.RIDING))
        assert (await state(store, "r1")).reason is wakes.QueuedReason.BUSY
        assert isinstance(await store.claim(AT, None, False, NOW), turns.Hold)
        await put(store, support.wake("w1"))
        turn = await claim(store)
        assert [each.id for each in turn.wakes] == ["w1", "r1"]
        mine = wakes.DispositionOf("red:ci/unit", wakes.Disposition.DISPATCHED)
        theirs = wakes.DispositionOf("red:ci/unit", wakes.Disposition.CLAIMED)
        await complete(store, turn, dispositions={"": (mine,), "api-43": (theirs,)})
        events = (await store.outcomes(0, 10)).events
        assert [(each.wake, each.dispositions) for each in events] == [("w1", (mine,)), ("r1", (theirs,))]

    async def test_a_lost_turn_loses_each_of_its_wakes_by_its_own_count(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake("w1"))
        await store.release(W1, (await claim(store)).fence, NOW)
        await put(store, support.wake("r1", watch="api-43", deliver=self.RIDING))
        await store.release(W1, (await claim(store, NOW + 5)).fence, NOW + 5)
        assert await told(store) == [("w1", "Lost", 1)]
        assert (await state(store, "r1", NOW + 5)).state is QUEUED


class TestNotifications:
    """A session that is gone is told some other way."""

    async def test_an_accepted_one_ends_the_wake(self, store: port.Store) -> None:
        """C149."""
        await put(store, support.wake(deliver=support.TO_BOTH, type=wakes.WakeType.TERMINAL))
        assert (await store.plan(NOW)).notify == (W1,)
        held = await store.begin_notification(W1, NOW, NOW + 60)
        assert held is not None
        assert held.tries == 1
        await store.attach(AT, support.idle(), NOW)
        assert isinstance(await store.claim(AT, None, False, NOW), turns.Hold)
        ended = await store.end_notification(W1, 1, None, NOW + 1)
        assert [each.state for each in ended] == [wakes.WakeState.NOTIFIED]
        assert await store.end_notification(W1, 1, None, NOW + 1) == ()

    async def test_one_that_failed_is_tried_again_unless_the_session_comes_back(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=support.TO_BOTH))
        await store.begin_notification(W1, NOW, NOW + 60)
        assert await store.begin_notification(W1, NOW, NOW + 60) is None
        await store.end_notification(W1, 1, NOW + 10, NOW + 1)
        plan = await store.plan(NOW + 1)
        assert (plan.notify, plan.due) == ((), NOW + 10)
        assert (await store.plan(NOW + 10)).notify == (W1,)
        await store.attach(AT, support.idle(), NOW + 2)
        assert (await claim(store, NOW + 2)).wakes[0].id == W1

    async def test_a_crash_in_between_tries_again(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=support.TO_BOTH))
        await store.begin_notification(W1, NOW, NOW + 60)
        assert (await store.plan(NOW + 1)).due == NOW + 60
        assert (await store.plan(NOW + 60)).notify == (W1,)

    async def test_a_version_that_came_meanwhile_was_not_told(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=support.TO_BOTH))
        await store.begin_notification(W1, NOW, NOW + 60)
        await put(store, support.wake(sequence=2, deliver=support.TO_BOTH))
        await store.end_notification(W1, 1, None, NOW + 1)
        assert await told(store) == [("w1", "Notified", 1)]
        assert (await state(store)).sequence == 1

    async def test_one_that_was_withdrawn_meanwhile_stays_withdrawn(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=support.TO_BOTH))
        await store.begin_notification(W1, NOW, NOW + 60)
        await store.withdraw(W1, NOW)
        assert await store.end_notification(W1, 1, None, NOW + 1) == ()
        assert await told(store) == [("w1", "Withdrawn", 1)]

    async def test_the_end_of_a_session_is_due(self, store: port.Store) -> None:
        await store.attach(AT, support.busy(ttl=30), NOW)
        await put(store, support.wake(deliver=support.TO_BOTH))
        assert (await store.plan(NOW)).due == NOW + 30
        assert (await store.plan(NOW + 30)).notify == (W1,)


class TestHistory:
    """Outcomes and the ledger."""

    async def test_outcomes_come_in_order_from_a_cursor(self, store: port.Store) -> None:
        for number in range(5):
            await put(store, support.wake(f"w{number}", watch=f"a{number}", deliver=None))
        first = await store.outcomes(0, 2)
        assert [each.wake for each in first.events] == ["w0", "w1"]
        second = await store.outcomes(first.cursor, 10)
        assert [each.wake for each in second.events] == ["w2", "w3", "w4"]
        last = await store.outcomes(second.cursor, 10)
        assert (list(last.events), last.cursor) == ([], second.cursor)

    async def test_a_cursor_of_another_database_starts_from_the_first(self, store: port.Store) -> None:
        await put(store, support.wake(deliver=None))
        assert [each.wake for each in (await store.outcomes(5000, 10)).events] == [W1]

    async def test_the_ledger_says_what_happened_the_newest_first(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await put(store, support.wake())
        turn = await claim(store)
        await store.release(W1, turn.fence, NOW)
        await complete(store, await claim(store, NOW + 5), NOW + 5)
        uid = ids.WatchUid("uid-api-42")
        page = await store.ledger(uid, None, 3)
        assert [each.event.value for each in page.entries] == ["Delivered", "Claimed", "Released"]
        assert page.entries[1].session == "supervisor"
        assert page.entries[0].keys == ("red:ci/unit",)
        rest = await store.ledger(uid, page.next, 3)
        assert [each.event.value for each in rest.entries] == ["Claimed", "Queued"]
        assert rest.next is None

    async def test_a_verdict_is_one_entry_however_often_it_is_reported(self, store: port.Store) -> None:
        verdict = ledger.Verdict(
            id="v1",
            watch=wire.Watch.of(support.wake().watch),
            at=base.time_of(NOW),
            verdict="Quiet",
            reason="coalescing",
            keys=("red:ci/unit",),
            keys_in_all=1,
        )
        other = verdict.model_copy(update={"id": "v2", "reason": "holding"})
        assert await store.record([verdict, verdict]) == 1
        assert await store.record([verdict, other]) == 1
        page = await store.ledger(ids.WatchUid("uid-api-42"), None, 10)
        assert [(each.event.value, each.verdict, each.reason) for each in page.entries] == [
            ("Verdict", "Quiet", "holding"),
            ("Verdict", "Quiet", "coalescing"),
        ]


class TestRetention:
    """What is over is forgotten in its time, and what is not is kept."""

    async def test_texts_go_first_and_ids_much_later(self, store: port.Store) -> None:
        await put(store, support.wake("w1", deliver=None))
        await put(store, support.wake("w2", watch="api-43"))
        kept = port.Retention()
        assert await store.prune(kept, NOW + kept.texts_for) == frozenset()
        assert await store.prune(kept, NOW + kept.texts_for + 1) == {evidence.Ref("team-a/api-42/w1-1.txt")}
        assert await store.evidence() == {evidence.Ref("team-a/api-43/w2-1.txt")}
        found = await put(store, support.wake("w1", sequence=2), NOW + kept.ids_for)
        assert support.standing(found.shown.result) == wakes.SubmitResult(wakes.WakeState.RECORDED, 1)
        await store.prune(kept, NOW + kept.ids_for + 1)
        assert await store.get(W1, NOW) is None
        assert (await state(store, "w2")).state is QUEUED

    async def test_the_newest_outcome_stays(self, store: port.Store) -> None:
        for number in range(3):
            await put(store, support.wake(f"w{number}", watch=f"a{number}", deliver=None))
        await store.prune(port.Retention(), NOW + 1e8)
        assert [each[0] for each in await told(store)] == ["w2"]

    async def test_the_ledger_is_bounded_for_a_watch_and_in_all(self, store: port.Store) -> None:
        for number in range(10):
            await put(store, support.wake(f"w{number}", deliver=None))
            await put(store, support.wake(f"x{number}", watch="api-43", deliver=None))
        await store.prune(port.Retention(ledger_entries_of_watch=4), NOW)
        assert len((await store.ledger(ids.WatchUid("uid-api-42"), None, 100)).entries) == 4
        await store.prune(port.Retention(ledger_entries=3), NOW)
        page = await store.ledger(ids.WatchUid("uid-api-42"), None, 100)
        assert [each.wake_id for each in page.entries] == ["w9"]

    async def test_a_gone_session_is_forgotten_in_the_end(self, store: port.Store) -> None:
        await store.attach(AT, support.idle(), NOW)
        await store.prune(port.Retention(), NOW + 1e8)
        session, _ = await store.attach(AT, sessions.Attachment(30), NOW)
        assert session.last_user_turn is None


async def _delivered(store: port.Store) -> None:
    await store.attach(AT, support.idle(), NOW)
    await put(store, support.wake())
    await complete(store, await claim(store))


async def _notified(store: port.Store) -> None:
    await put(store, support.wake(deliver=support.TO_BOTH))
    await store.begin_notification(W1, NOW, NOW + 60)
    await store.end_notification(W1, 1, None, NOW)
    await store.attach(AT, support.idle(), NOW)


async def _withdrawn(store: port.Store) -> None:
    await store.attach(AT, support.idle(), NOW)
    await put(store, support.wake())
    await store.withdraw(W1, NOW)


async def _lost(store: port.Store) -> None:
    await store.attach(AT, support.idle(), NOW)
    await put(store, support.wake())
    for at in (NOW, NOW + 10):
        await store.release(W1, (await claim(store, at)).fence, at)


END = {"Delivered": _delivered, "Notified": _notified, "Withdrawn": _withdrawn, "Lost": _lost}
