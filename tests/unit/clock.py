"""A clock that only the test moves."""

import asyncio
import heapq
import itertools

from vigil.model import ids

START = 1_800_000_000.0
_TURNS = 100
"""Turns of the loop that are more than any chain of tasks takes from one wait to the next."""


async def idle() -> None:
    """Let everything run until it waits for the clock, for a gate of the test, or for nothing."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


class VirtualClock:
    """ports.Clock: time stands still, but for `advance` and `step`.

    A sleep ends when `advance` comes by its end, in the order of the ends, with everything that follows from one done
    before the next: no test waits, and every run is the same.
    """

    def __init__(self) -> None:
        self._wall = START
        self._passed = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> ids.Instant:
        """The wall clock."""
        return self._wall

    def monotonic(self) -> ids.Seconds:
        """What passed since the start, whatever the wall clock did."""
        return self._passed

    async def sleep(self, delay: ids.Seconds) -> None:
        """Wait until the test has advanced by so much."""
        if delay <= 0:
            await asyncio.sleep(0)
            return
        until = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._passed + delay, next(self._order), until))
        await until

    def step(self, by: ids.Seconds) -> None:
        """Set the wall clock, as an administrator does: no time passes."""
        self._wall += by

    async def advance(self, by: ids.Seconds) -> None:
        """Let so much time pass, and everything happen that happens in it."""
        target = self._passed + by
        await idle()
        while self._sleepers and self._sleepers[0][0] <= target:
            due, _, until = heapq.heappop(self._sleepers)
            if not until.done():
                self._move(due)
                until.set_result(None)
                await idle()
        self._move(target)
        await idle()

    def _move(self, to: float) -> None:
        self._wall += to - self._passed
        self._passed = to
