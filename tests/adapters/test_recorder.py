"""What the ledger of a real sidecar hears of verdicts, and what happens when it hears nothing."""

import asyncio
import dataclasses
import logging
import pathlib
import socket
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.sidecar import servers, support
from tests.unit import gauges, world
from vigil import ports
from vigil.adapters import recorder, sidecar, wire
from vigil.api import ledger
from vigil.model import failures, ids, observations, verdicts, wakes
from vigil.scheduler import scheduler
from vigil.tick import memory, tick

UID = ids.WatchUid("w1")
A = gauges.subject_id("a")
Reason = verdicts.QuietReason
PENDING, NOTHING = verdicts.Quiet(Reason.PENDING), verdicts.Quiet(Reason.NOTHING_OPEN)
WAKE = verdicts.Wake((), "", verdicts.WakeReason.CONVERGED)


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncIterator[servers.Running]:
    """A sidecar on loopback."""
    async with servers.running(tmp_path) as made:
        yield made


def made(running: servers.Running, **options: Any) -> recorder.Recorder:
    """The recorder of a new process."""
    return recorder.Recorder(running.operator, running.clock, **options)


def known(verdict: verdicts.Verdict | None, *shows: str, uid: str = UID, **changes: Any) -> memory.Memory:
    """A Watch after a tick."""
    seen = (observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.REVISION) for key in shows)
    begun = memory.begin(gauges.watch("a", uid=uid, **changes), memory.Stored(), 0.0)
    return begun.with_current(verdict=verdict, reading={A: observations.ProbeResult(tuple(seen), "r1")})


async def words(running: servers.Running, uid: str = UID) -> list[tuple[str, str]]:
    """What the ledger has of a Watch, the oldest first, with the event where it is the sidecar's own."""
    page = await running.operator.ledger(ids.WatchUid(uid), limit=200)
    return [
        (one.verdict if one.event is ledger.Event.VERDICT else one.event.value, one.reason)
        for one in reversed(page.entries)
    ]


# --- what is written -------------------------------------------------------------------------------------------------


async def test_a_change_of_the_reason_to_be_quiet_is_written_once(running: servers.Running) -> None:
    told = made(running)
    for verdict in (PENDING, PENDING, NOTHING, NOTHING, PENDING):
        told.told(known(verdict))
        running.clock.advance(60)
    await told.step()
    await told.step()
    assert await words(running) == [("Quiet", "pending"), ("Quiet", "nothing-open"), ("Quiet", "pending")]


async def test_an_entry_says_of_which_watch_it_is_when_and_what_was_open(running: servers.Running) -> None:
    told = made(running)
    told.told(known(verdicts.Quiet(Reason.HANDLED), "red:unit", "comment:1"))
    await told.step()
    (entry,) = (await running.operator.ledger(UID)).entries
    assert (entry.watch_uid, entry.namespace, entry.name) == ("w1", "team-a", "w1")
    assert entry.event is ledger.Event.VERDICT
    assert entry.at.timestamp() == support.NOW
    assert (entry.keys, entry.keys_in_all) == (("comment:1", "red:unit"), 2)
    assert (entry.wake_id, entry.session) == ("", "")


async def test_of_many_keys_some_are_told_and_all_are_counted(running: servers.Running) -> None:
    told = made(running)
    told.told(known(verdicts.Quiet(Reason.HANDLED), *(f"red:{number:0196}" for number in range(120))))
    await told.step()
    (entry,) = (await running.operator.ledger(UID)).entries
    assert (len(entry.keys), entry.keys_in_all) == (ledger.KEYS_LIMIT, 120)


@pytest.mark.parametrize(
    "verdict",
    [
        WAKE,
        verdicts.Terminal((), observations.Outcome.FAILED),
        verdicts.Stop(verdicts.StopReason.TURNS),
        None,
    ],
)
async def test_what_the_sidecar_writes_itself_is_not_written_twice_but_ends_a_quiet(
    running: servers.Running, verdict: verdicts.Verdict | None
) -> None:
    told = made(running)
    for one in (NOTHING, verdict, NOTHING):
        told.told(known(one))
        running.clock.advance(1)
    await told.step()
    times = 1 if verdict is None else 2
    assert await words(running) == [("Quiet", "nothing-open")] * times


async def test_the_ledger_tells_the_whole_course_of_a_watch_at_work(running: servers.Running) -> None:
    """The scheduler with the real sidecar: no row is there twice, and the order is that of the events."""
    told, keys = made(running), gauges.Keys()
    store, signals = world.Store([]), world.Signals()
    queue = scheduler.Scheduler(
        clock=running.clock,
        transports=keys,
        ticker=tick.Ticker(store, running.operator, signals),
        store=store,
        delivery=running.operator,
        signals=signals,
        options=scheduler.Options(),
        ticked=told.told,
    )
    provider = keys.providers[gauges.HOST]
    provider.show("a", pending=1)
    queue.enrol(gauges.watch("a", deliver=wakes.Deliver(session="supervisor")), memory.Stored())
    await queue.round()
    await told.step()
    provider.show("a", "now:conflict")
    for _ in range(3):
        running.clock.advance(120)
        await queue.round()
        await told.step()
    assert await words(running) == [("Quiet", "pending"), ("Queued", "immediate"), ("Quiet", "in-flight")]


# --- another process -------------------------------------------------------------------------------------------------


async def test_a_restart_writes_nothing_of_a_watch_that_is_quiet_for_the_same_reason(
    running: servers.Running,
) -> None:
    before = made(running)
    before.told(known(NOTHING))
    before.told(known(PENDING, uid="w2"))
    await before.step()
    running.clock.advance(60)
    after = made(running)
    for uid in ("w1", "w2", "w3"):
        after.told(known(NOTHING, uid=uid))
    await after.step()
    assert await words(running) == [("Quiet", "nothing-open")]
    assert await words(running, "w2") == [("Quiet", "pending"), ("Quiet", "nothing-open")]
    assert await words(running, "w3") == [("Quiet", "nothing-open")]


async def test_a_restart_after_a_wake_writes_that_the_watch_is_quiet_again(running: servers.Running) -> None:
    before = made(running)
    before.told(known(NOTHING))
    await before.step()
    ref = gauges.watch(uid=UID).ref
    await running.operator.submit(dataclasses.replace(support.wake("wake-1"), watch=ref))
    after = made(running)
    running.clock.advance(60)
    after.told(known(NOTHING))
    await after.step()
    assert await words(running) == [("Quiet", "nothing-open"), ("Queued", "converged"), ("Quiet", "nothing-open")]


async def test_a_watch_that_is_remembered_no_more_is_looked_up(
    running: servers.Running,
) -> None:
    told = made(running, remembered=1)
    for uid in ("w1", "w2", "w1", "w2"):
        told.told(known(NOTHING, uid=uid))
        await told.step()
        running.clock.advance(1)
    assert await words(running, "w1") == await words(running, "w2") == [("Quiet", "nothing-open")]


# --- as well as that goes --------------------------------------------------------------------------------------------


class Skipping:
    """A clock that is not waited for: it notes for how long it should have been."""

    def __init__(self, of: support.Clock) -> None:
        self.now, self.monotonic = of.now, of.monotonic
        self.pauses: list[float] = []

    async def sleep(self, delay: float) -> None:
        """Only yield."""
        self.pauses.append(delay)
        await asyncio.sleep(0)


def nowhere() -> str:
    """A URL at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


async def test_a_sidecar_that_is_away_is_tried_again_at_growing_pauses_with_one_word(
    caplog: pytest.LogCaptureFixture,
) -> None:
    time = Skipping(support.Clock())
    async with wire.Wire(nowhere(), lambda: servers.TOKEN) as connection:
        told = recorder.Recorder(sidecar.SidecarClient(connection), time)
        told.told(known(NOTHING))
        for _ in range(9):
            await told.step()
    assert time.pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("the ledger cannot be written, and is tried again: transient")
    assert told.lost == 0


class Shaky:
    """A real ledger behind a line that fails as it is told to."""

    def __init__(self, running: servers.Running) -> None:
        self.real = running.operator
        self.fails: list[failures.Category] = []
        self.reads_fail: failures.Category | None = None
        self.batches: list[int] = []
        self.written = asyncio.Event()

    async def record(self, entries: Sequence[ledger.Verdict]) -> None:
        """Fail or pass it on."""
        self.batches.append(len(entries))
        if self.fails:
            raise ports.DeliveryError(failures.Failure(self.fails.pop(0), "told to"))
        await self.real.record(entries)
        self.written.set()

    async def ledger(self, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
        """Fail or pass it on."""
        if self.reads_fail is not None:
            raise ports.DeliveryError(failures.Failure(self.reads_fail, "told to"))
        return await self.real.ledger(watch, before, limit)


@pytest.fixture
def shaky(running: servers.Running) -> Shaky:
    """The ledger of that sidecar."""
    return Shaky(running)


async def test_what_waited_is_written_once_the_sidecar_is_back(
    running: servers.Running, shaky: Shaky, caplog: pytest.LogCaptureFixture
) -> None:
    shaky.fails = [failures.Category.TRANSIENT]
    told = recorder.Recorder(shaky, Skipping(running.clock))
    told.told(known(NOTHING))
    with caplog.at_level(logging.INFO):
        await told.step()
        told.told(known(PENDING))
        await told.step()
    assert await words(running) == [("Quiet", "nothing-open"), ("Quiet", "pending")]
    assert caplog.messages[-1] == "the ledger is written again; 0 changes were lost since the start"


async def test_of_too_many_changes_the_oldest_are_lost_and_counted(running: servers.Running, shaky: Shaky) -> None:
    told = recorder.Recorder(shaky, Skipping(running.clock), waiting=2)
    for uid in ("w1", "w2", "w3", "w4"):
        told.told(known(NOTHING, uid=uid))
    await told.step()
    assert told.lost == 2
    assert [await words(running, uid) for uid in ("w2", "w3")] == [[], [("Quiet", "nothing-open")]]


async def test_what_comes_while_others_are_written_is_written_after_them(running: servers.Running) -> None:
    told = made(running)
    for number in range(3 * ledger.PAGE_LIMIT):
        told.told(known(PENDING if number % 2 else NOTHING))
        running.clock.advance(1)
    await told.step()
    assert len(await words(running)) == ledger.PAGE_LIMIT
    told.told(known(WAKE))
    await told.step()
    await told.step()
    page = await running.operator.ledger(UID, limit=1)
    assert page.entries[0].position == 3 * ledger.PAGE_LIMIT


async def test_changes_that_the_sidecar_refuses_hold_up_no_others(
    running: servers.Running, shaky: Shaky, caplog: pytest.LogCaptureFixture
) -> None:
    shaky.fails = [failures.Category.MALFORMED]
    told = recorder.Recorder(shaky, Skipping(running.clock))
    told.told(known(NOTHING))
    await told.step()
    told.told(known(PENDING))
    await told.step()
    assert await words(running) == [("Quiet", "pending")]
    assert told.lost == 1
    assert caplog.messages == ["1 changes of verdicts cannot be in the ledger: malformed: told to"]


async def test_a_ledger_that_cannot_be_understood_is_written_all_the_same(
    running: servers.Running, shaky: Shaky
) -> None:
    shaky.reads_fail = failures.Category.MALFORMED
    told = recorder.Recorder(shaky, Skipping(running.clock))
    told.told(known(NOTHING))
    await told.step()
    assert await words(running) == [("Quiet", "nothing-open")]


async def test_a_watch_whose_name_no_sidecar_takes_is_lost_and_breaks_no_tick(running: servers.Running) -> None:
    told = made(running)
    bad = wakes.WatchRef(UID, "team-a", "No Such Name", 1)
    told.told(known(NOTHING, ref=bad))
    await told.step()
    assert told.lost == 1


async def test_the_end_of_the_process_writes_what_still_waits(running: servers.Running, shaky: Shaky) -> None:
    async with recorder.Recorder(shaky, Skipping(running.clock)).running() as told:
        for uid in ("w1", "w2"):
            told.told(known(NOTHING, uid=uid))
    assert await words(running, "w2") == [("Quiet", "nothing-open")]


async def test_the_end_of_the_process_does_not_wait_for_a_sidecar_that_is_away(
    running: servers.Running, shaky: Shaky
) -> None:
    shaky.fails = [failures.Category.TRANSIENT] * 100
    async with asyncio.timeout(recorder.LAST_WORDS):
        async with recorder.Recorder(shaky, running.clock).running() as told:
            told.told(known(NOTHING))
    assert await words(running) == []


async def test_it_writes_by_itself_while_it_runs(running: servers.Running, shaky: Shaky) -> None:
    async with asyncio.timeout(10), recorder.Recorder(shaky, running.clock).running() as told:
        told.told(known(NOTHING))
        await shaky.written.wait()
        told.told(known(NOTHING))
    assert shaky.batches == [1]
    assert await words(running) == [("Quiet", "nothing-open")]
