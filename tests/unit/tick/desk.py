"""One Watch of gauges, ticked by hand."""

from typing import Any

from tests.unit import gauges, world
from tests.unit.clock import START
from vigil.kind import api
from vigil.model import verdicts, wakes
from vigil.tick import enrolment, gather, memory, tick

MINUTE = 60.0


class Desk:
    """The world of a Watch and its memory in one process; `crash` begins another process on what was stored."""

    def __init__(self, watch: enrolment.Enrolment | None = None, stored: memory.Stored | None = None) -> None:
        self.log: world.Log = []
        self.store = world.Store(self.log)
        self.sidecar = world.Sidecar(self.log)
        self.signals = world.Signals()
        self.ticker = tick.Ticker(self.store, self.sidecar, self.signals)
        self.now = START
        self.watch = watch or gauges.watch()
        self.memory = memory.begin(self.watch, stored or memory.Stored(), self.now)
        self.saved: Any = None

    async def tick(self, minutes: float, *shows: str, **more: Any) -> str:
        """The Watch is read so many minutes after the start, and shows this; gives the verdict in words."""
        return await self.read(minutes, {self.watch.targets[0].id: api.Snapshot({"shows": list(shows), **more})})

    async def read(self, minutes: float, reads: gather.Reads) -> str:
        """The same with any answers."""
        self.now = START + minutes * MINUTE
        ticked = await self.ticker.tick(self.memory, reads, self.now)
        self.memory, self.saved = ticked.memory, ticked.saved
        return self.verdict

    async def hear(self, event: wakes.OutcomeEvent) -> None:
        """An outcome arrives by the feed."""
        ticked = await self.ticker.outcome(self.memory, event, self.now)
        self.memory, self.saved = ticked.memory, ticked.saved

    async def settle(self) -> None:
        """What was not stored or delivered is tried again."""
        ticked = await self.ticker.settle(self.memory, self.now)
        self.memory, self.saved = ticked.memory, ticked.saved

    def crash(self, stored: memory.Stored | None = None) -> None:
        """The process ends, and another one begins with what was stored last."""
        self.memory = memory.begin(self.watch, stored or self.store.stored(), self.now)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        made = self.memory.current.verdict
        if isinstance(made, verdicts.Wake | verdicts.Terminal):
            return f"{made.reason}: {' '.join(entry.identity.key for entry in made.entries)}"
        return "" if made is None else f"{made.reason}"

    def did(self) -> list[str]:
        """What was done since the last time that this was asked."""
        names = [name for name, _ in self.log]
        self.log.clear()
        return names

    @property
    def stamped(self) -> set[str]:
        """What counts as told."""
        return {identity.key for one in self.memory.state.subjects.values() for identity in one.alerted}
