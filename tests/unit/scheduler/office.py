"""A scheduler at work in a world in memory, on a clock that only the test moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

from tests.unit import clock, gauges, world
from vigil import ports
from vigil.model import failures, ids
from vigil.scheduler import reads, scheduler
from vigil.tick import enrolment, memory, tick

T = TypeVar("T", bound=ports.Record)


class Office:
    """Everything that a scheduler needs, and what the test asks of it."""

    def __init__(self, **options: Any) -> None:
        self.log: world.Log = []
        self.clock = clock.VirtualClock()
        self.keys = gauges.Keys()
        self.provider = self.keys.providers[gauges.HOST]
        self.store = world.Store(self.log)
        self.sidecar = world.Sidecar(self.log, self.clock)
        self.signals = world.Signals()
        self.heard: list[memory.Memory] = []
        self.scheduler = self.another(**options)

    def another(self, **options: Any) -> scheduler.Scheduler:
        """The scheduler of another process in the same world."""
        return scheduler.Scheduler(
            clock=self.clock,
            transports=self.keys,
            ticker=tick.Ticker(self.store, self.sidecar, self.signals),
            store=self.store,
            delivery=self.sidecar,
            signals=self.signals,
            options=scheduler.Options(**{"read_limits": reads.ReadLimits(timeout=30.0), **options}),
            ticked=self.heard.append,
        )

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator["Office"]:
        """Run the scheduler for so long; it ends with all that it began."""
        task = asyncio.create_task(self.scheduler.run())
        await clock.idle()
        try:
            yield self
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            left = [one for one in asyncio.all_tasks() if one is not asyncio.current_task()]
            assert not [one for one in left if "vigil" in str(one.get_coro())], "the scheduler left tasks behind"

    async def enrol(self, *watches: enrolment.Enrolment, stored: memory.Stored | None = None) -> None:
        """Watch these, and let their first read happen."""
        for one in watches:
            self.scheduler.enrol(one, stored or memory.Stored())
        await clock.idle()

    def known(self, uid: str = "w1") -> memory.Memory:
        """What is known of a Watch."""
        found = self.scheduler.memory_of(ids.WatchUid(uid))
        assert found is not None
        return found

    def asked(self) -> list[list[str]]:
        """What the provider was asked for since the last time that this was asked."""
        requests, self.provider.requests = self.provider.requests, []
        return requests

    def records(self, of: type[T]) -> Iterator[T]:
        """The signals of this type."""
        return (one for one in self.signals.records if isinstance(one, of))

    def names(self, name: str) -> list[Any]:
        """What the log says of one word."""
        return [what for said, what in self.log if said == name]

    def category(self, name: str, uid: str = "w1") -> failures.Category | None:
        """Why a gauge could not be read; None when it could."""
        of = self.known(uid).current.reading[gauges.subject_id(name)]
        return of.category if isinstance(of, failures.Failure) else None
