"""The life of an operator process: what ends it, and in which order it stops."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.controlplane import plane
from tests.handlers import parts
from vigil.adapters import clock
from vigil.handlers import intake, process, reactor
from vigil.model import ids, verdicts

WATCHES = "/apis/vigil.dev/v1alpha1"


class Lease:
    """process.Lease in memory, and what was true when it was given up."""

    def __init__(self, *, free: bool = True) -> None:
        self.lost = asyncio.Event()
        self.why_lost = ""
        self.free = asyncio.Event()
        self.fails: Exception | None = None
        self.released: list[bool] = []
        if free:
            self.free.set()

    async def acquire(self) -> None:
        """Wait until it is free."""
        if self.fails is not None:
            raise self.fails
        await self.free.wait()

    async def release(self) -> None:
        """Note whether kopf was still at work; its thread says that it ended a moment before it has."""
        for thread in threading.enumerate():
            if thread.name == "kopf":
                thread.join(0.5)
        self.released.append(kopf_runs())


class TurningClock(clock.SystemClock):
    """The machine's clock, set forward by hand."""

    ahead = 0.0

    def monotonic(self) -> ids.Seconds:
        """The machine's, and what it was set forward by."""
        return super().monotonic() + self.ahead


class Cluster:
    """The Watches that there are; listing them fails as often as it is told to."""

    def __init__(self) -> None:
        self.watches: list[Mapping[str, Any]] = []
        self.failures = 0
        self.listed = asyncio.Event()

    async def all(self) -> Sequence[Mapping[str, Any]]:
        """All of them."""
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the API server is away")
        self.listed.set()
        return self.watches


def kopf_runs() -> bool:
    """Whether there is a thread of kopf."""
    return any(thread.name == "kopf" for thread in threading.enumerate())


class Life:
    """One process over the parts of a test."""

    def __init__(
        self, one: parts.Parts, lease: Lease | None = None, namespace: str = "default", **options: Any
    ) -> None:
        self.one = one
        self.cluster = Cluster()
        self.clock = TurningClock()
        self.stop = asyncio.Event()
        self.process = process.Process(
            clock=self.clock,
            queue=one.queue,
            intake_of=intake.Intake(one.queue, one.kinds, one.cluster),
            list_all=self.cluster.all,
            lease=lease,
            reactor_options=reactor.Options((namespace,), timer_interval=1.0),
            options=process.Options(**options),
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        """The process at work; it is stopped at the end if it still is."""
        task = asyncio.create_task(self.process.run(self.stop))
        try:
            yield task
        finally:
            self.stop.set()
            await asyncio.wait([task], timeout=30)
            await until_kopf_is_gone()


async def until_kopf_is_gone() -> None:
    """Leave nothing to the next test."""
    for thread in threading.enumerate():
        if thread.name == "kopf":
            await asyncio.to_thread(thread.join, 30)


@contextlib.contextmanager
def told_of(start: str) -> Iterator[asyncio.Event]:
    """Set once the process logs something that begins so."""
    heard = asyncio.Event()

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage().startswith(start):
                heard.set()

    log, ear = logging.getLogger(process.__name__), Ear()
    log.addHandler(ear)
    try:
        yield heard
    finally:
        log.removeHandler(ear)


async def ended(task: "asyncio.Task[None]") -> str:
    """Why the process ended."""
    with pytest.raises(process.ProcessEnded) as raised:
        await asyncio.wait_for(task, 30)
    return str(raised.value)


# --- without a cluster: kopf ends by itself some seconds after the start ----------------------------------------------


@pytest.mark.usefixtures("nowhere")
async def test_a_login_that_fails_ends_the_process(one: parts.Parts) -> None:
    lease = Lease()
    life = Life(one, lease)
    async with life.running() as task:
        why = await ended(task)
    assert why.startswith("kopf ended: ")
    assert "credentials" in why
    assert lease.released == [False]


@pytest.mark.usefixtures("nowhere")
async def test_a_scheduler_that_ends_ends_the_process_with_its_name_and_the_reason(one: parts.Parts) -> None:
    one.inbox.breaks = RuntimeError("nobody foresaw this")
    await enrolled(one)
    async with Life(one).running() as task:
        assert await ended(task) == "the scheduler ended: nobody foresaw this"


@pytest.mark.usefixtures("nowhere")
async def test_a_lease_that_is_lost_ends_the_process_and_nothing_is_stored_any_more(one: parts.Parts) -> None:
    one.store.open.clear()
    lease = Lease()
    life = Life(one, lease, shutdown_timeout=20.0)
    await enrolled(one)
    async with life.running() as task:
        await until_stored(one)
        lease.why_lost = "the Lease is held by another"
        lease.lost.set()
        why = await ended(task)
    assert why == "the Lease ended: the Lease is held by another"
    assert one.store.kept == {}
    assert lease.released == [False]


@pytest.mark.usefixtures("nowhere")
async def test_a_list_that_fails_is_made_again_and_ends_nothing(
    one: parts.Parts, caplog: pytest.LogCaptureFixture
) -> None:
    life = Life(one, resync_interval=0.05)
    life.cluster.failures = 1
    await enrolled(one)
    async with life.running() as task:
        await asyncio.wait_for(life.cluster.listed.wait(), 10)
        assert not task.done()
    assert one.enrolled() == set()
    told = [record.getMessage() for record in caplog.records if record.name == "vigil.handlers.process"]
    assert told == ["the Watches could not be listed, and are compared again later: the API server is away"]


@pytest.mark.usefixtures("nowhere")
async def test_a_drain_that_takes_too_long_is_cut_short_and_kopf_and_the_lease_have_their_time(
    one: parts.Parts, caplog: pytest.LogCaptureFixture
) -> None:
    one.store.open.clear()
    lease = Lease()
    life = Life(one, lease, shutdown_timeout=3.0)
    await enrolled(one)
    async with life.running() as task:
        await until_stored(one)
        life.stop.set()
        with caplog.at_level(logging.WARNING):
            await asyncio.wait_for(task, 10)
    assert lease.released == [False]
    cut = [message for message in caplog.messages if message.endswith("is cut short")]
    assert cut == ["the drain took longer than 1.5 s and is cut short"]


@pytest.mark.usefixtures("nowhere")
async def test_what_a_drain_left_under_way_may_end_while_kopf_does(one: parts.Parts) -> None:
    one.store.open.clear()
    life = Life(one, shutdown_timeout=3.0)
    await enrolled(one)
    async with life.running() as task:
        await until_stored(one)
        with told_of("the drain took longer") as cut:
            life.stop.set()
            await asyncio.wait_for(cut.wait(), 5)
        one.store.open.set()
        await asyncio.wait_for(task, 10)
    assert one.store.kept[ids.WatchUid("uid-api")].verdict is not None


async def test_a_standby_that_is_stopped_never_worked_and_is_ready_all_the_time(one: parts.Parts) -> None:
    lease = Lease(free=False)
    life = Life(one, lease)
    async with life.running() as task:
        await asyncio.sleep(0)
        assert life.process.unready() is None
        life.clock.ahead = 10 * process.DEAD_AFTER
        assert life.process.dead() is None
        assert not kopf_runs()
        life.stop.set()
        await asyncio.wait_for(task, 5)
    assert lease.released == [False]


async def test_a_lease_that_comes_with_the_stop_is_given_up_too(one: parts.Parts) -> None:
    lease = Lease()
    life = Life(one, lease)
    life.stop.set()
    await asyncio.wait_for(life.process.run(life.stop), 5)
    assert lease.released == [False]
    assert not kopf_runs()


async def test_an_election_that_cannot_be_won_ends_the_process(one: parts.Parts) -> None:
    lease = Lease(free=False)
    lease.fails = PermissionError("the Lease may not be read")
    with pytest.raises(PermissionError, match="may not be read"):
        await Life(one, lease).process.run(asyncio.Event())


async def enrolled(one: parts.Parts, name: str = "api") -> None:
    """Hold a Watch that no cluster has."""
    await intake.Intake(one.queue, one.kinds, one.cluster).reconcile(f"uid-{name}", parts.body(name))


async def until_stored(one: parts.Parts) -> None:
    """Wait until something is to be stored."""
    await asyncio.wait_for(one.store.asked.wait(), 30)


# --- with one --------------------------------------------------------------------------------------------------------


@pytest.mark.e2e
async def test_a_stop_drains_the_scheduler_then_ends_kopf_then_gives_the_lease_up(
    as_admin: plane.ControlPlane, namespace: str, one: parts.Parts
) -> None:
    lease = Lease()
    life = Life(one, lease, namespace)
    one.store.open.clear()
    async with life.running() as task:
        body = parts.body()
        uid = ids.WatchUid(created(as_admin, namespace, body)["metadata"]["uid"])
        await until_stored(one)
        life.stop.set()
        await asyncio.sleep(0.5)
        assert kopf_runs()
        assert not task.done()
        assert lease.released == []
        one.store.open.set()
        await asyncio.wait_for(task, 20)
    assert one.store.kept[uid].verdict == verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
    assert lease.released == [False]


@pytest.mark.e2e
async def test_the_process_is_ready_once_kopf_is_and_dead_once_the_scheduler_is_silent(
    as_admin: plane.ControlPlane, namespace: str, one: parts.Parts
) -> None:
    life = Life(one, namespace=namespace)
    assert life.process.unready() is None
    async with life.running():
        created(as_admin, namespace, parts.body())
        await until_stored(one)
        assert life.process.unready() is None
        assert life.process.dead() is None
        life.clock.ahead = process.DEAD_AFTER + 30
        dead = life.process.dead()
        assert dead is not None
        assert dead.startswith("the scheduler has been silent for 2")


@pytest.mark.e2e
async def test_after_a_listing_what_the_cluster_does_not_have_is_dropped(
    as_admin: plane.ControlPlane, namespace: str, one: parts.Parts
) -> None:
    life = Life(one, namespace=namespace)
    await enrolled(one, "ghost")
    life.cluster.watches.append(created(as_admin, namespace, parts.body()))
    async with life.running():
        await asyncio.wait_for(life.cluster.listed.wait(), 30)
        await asyncio.wait_for(one.cluster.forgot.wait(), 10)
        assert one.enrolled() == {life.cluster.watches[0]["metadata"]["uid"]}


def created(api: plane.ControlPlane, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
    """The Watch as it is stored."""
    made: dict[str, Any] = api.api(
        "POST", f"{WATCHES}/namespaces/{namespace}/watches", {**body, "metadata": {"name": body["metadata"]["name"]}}
    )
    return made
