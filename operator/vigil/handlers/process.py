"""The life of an operator process: what it starts, what it watches itself for, and the order in which it stops."""

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Final, Protocol

from vigil import ports
from vigil.handlers import intake, messages, reactor
from vigil.model import ids
from vigil.scheduler import scheduler

_LOG = logging.getLogger(__name__)

SETTLE_AFTER_RELIST: Final[ids.Seconds] = 5.0
"""A listing comes as one event a Watch: the comparison of uids waits until it is through."""
DEAD_AFTER: Final[ids.Seconds] = 180.0
LAST_STEPS: Final[ids.Seconds] = 3.0
"""What of the time for a shutdown is left to kopf and the Lease, however long the drain would take."""


class ProcessEnded(Exception):  # noqa: N818 - it is an end, and says which
    """The process must end: the message says why."""


class Lease(Protocol):
    """The right to be the one active replica."""

    @property
    def lost(self) -> asyncio.Event:
        """Set when it is held no longer."""
        ...

    @property
    def why_lost(self) -> str:
        """Why, once it is lost."""
        ...

    async def acquire(self) -> None:
        """Wait until it is held."""
        ...

    async def release(self) -> None:
        """Give it up, so that a standby need not wait for its end; nothing where it is not held."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """Times in seconds."""

    resync_interval: ids.Seconds = 600.0
    shutdown_timeout: ids.Seconds = 20.0


class Process:
    """One operator process over its parts."""

    def __init__(
        self,
        *,
        clock: ports.Clock,
        queue: scheduler.Scheduler,
        intake_of: intake.Intake,
        list_all: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]],
        lease: Lease | None,
        reactor_options: reactor.Options,
        options: Options,
    ) -> None:
        self._clock = clock
        self._scheduler = queue
        self._intake = intake_of
        self._list_all = list_all
        self._lease = lease
        self._reactor_options = reactor_options
        self._options = options
        self._reactor: reactor.Reactor | None = None

    def unready(self) -> str | None:
        """Why Watches are not evaluated here although they should be; a standby is ready to take over."""
        if self._reactor is None or self._reactor.ready:
            return None
        return "kopf has not logged in to the API server yet"

    def dead(self) -> str | None:
        """Why the process should be restarted, None when it should not."""
        silent = self._clock.monotonic() - self._scheduler.looped
        if self._reactor is None or silent <= DEAD_AFTER:
            return None
        return f"the scheduler has been silent for {silent:.0f} s"

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set; raises ProcessEnded when a part ends by itself."""
        async with self._leading(stop) as leading:
            if leading:
                await self._work(stop)

    @contextlib.asynccontextmanager
    async def _leading(self, stop: asyncio.Event) -> AsyncGenerator[bool]:
        """Hold the Lease meanwhile; False when the process was stopped before it had it."""
        if self._lease is None:
            yield True
            return
        try:
            yield await _first(stop.wait(), self._lease.acquire()) == 1
        finally:
            # Whatever ended first, it may have been acquired in the same moment.
            await self._lease.release()

    async def _work(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()

        def hand_over(message: messages.Message) -> None:
            loop.call_soon_threadsafe(self._intake.put, message)

        self._reactor = reactor.Reactor(hand_over, self._reactor_options)
        self._reactor.start()
        parts = {
            "the stop signal": asyncio.create_task(stop.wait()),
            "kopf": asyncio.create_task(_outlived(self._reactor)),
            "the scheduler": asyncio.create_task(self._scheduler.run()),
            "the intake": asyncio.create_task(self._intake.run()),
            "the resync": asyncio.create_task(self._resync()),
        }
        if self._lease is not None:
            parts["the Lease"] = asyncio.create_task(self._lost(self._lease))
        try:
            await asyncio.wait(parts.values(), return_when=asyncio.FIRST_COMPLETED)
            ended = {name: task for name, task in parts.items() if task.done()}
        finally:
            await self._shut_down(parts)
        if "the stop signal" not in ended:
            raise ProcessEnded("; ".join(f"{name} ended: {_why(task)}" for name, task in ended.items()))

    async def _shut_down(self, parts: Mapping[str, "asyncio.Task[Any]"]) -> None:
        """Stop probing, let posts and states through, stop kopf; bounded, since the process is killed otherwise."""
        whole = self._options.shutdown_timeout
        with _cut_short("the shutdown", whole):
            async with asyncio.timeout(whole):
                if self._lease is not None and self._lease.lost.is_set():
                    # Another replica may be active by now: what was not stored or posted is its to decide again.
                    parts["the scheduler"].cancel()
                else:
                    await self._drain(max(whole - LAST_STEPS, whole / 2))
                if self._reactor is not None:
                    self._reactor.stop()
                    await self._reactor.ended()
        for task in parts.values():
            task.cancel()
        await asyncio.gather(*parts.values(), return_exceptions=True)

    async def _drain(self, most: ids.Seconds) -> None:
        """Drain the scheduler for so long; what is under way then may still end while kopf does."""
        with _cut_short("the drain", most):
            async with asyncio.timeout(most):
                await self._scheduler.drain()

    async def _resync(self) -> None:
        """Compare uids after each listing and every so often: what is deleted during a break is never told."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._intake.relisted.wait(), self._options.resync_interval)
                await asyncio.sleep(SETTLE_AFTER_RELIST)
            self._intake.relisted.clear()
            try:
                await self._intake.resync(self._list_all)
            except Exception as error:
                _LOG.warning("the Watches could not be listed, and are compared again later: %s", error)

    async def _lost(self, lease: Lease) -> None:
        await lease.lost.wait()
        raise ProcessEnded(lease.why_lost)


@contextlib.contextmanager
def _cut_short(step: str, seconds: ids.Seconds) -> Generator[None]:
    try:
        yield
    except TimeoutError:
        _LOG.warning("%s took longer than %g s and is cut short", step, seconds)


async def _outlived(thread: reactor.Reactor) -> None:
    """Ends when the thread of kopf does, however it ends."""
    error = await thread.ended()
    raise reactor.ReactorError("its thread ended without a word" if error is None else f"{error}") from error


async def _first(*waiting: Awaitable[object]) -> int:
    """The index of what is done first; the rest is cancelled."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        if (error := task.exception()) is not None:
            raise error
    return next(index for index, task in enumerate(tasks) if task in done)


def _why(task: "asyncio.Task[Any]") -> str:
    error = None if task.cancelled() else task.exception()
    return str(error) if error is not None else "without a word"
