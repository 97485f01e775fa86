"""The clock of the machine: the one file of Vigil that reads it."""

import asyncio
import time

from vigil.model import ids


class SystemClock:
    """ports.Clock on the machine's own clocks."""

    def now(self) -> ids.Instant:
        """The wall clock, seconds since the epoch, UTC. It may step back."""
        return time.time()

    def monotonic(self) -> ids.Seconds:
        """A clock that never steps back, for lengths of time within one process."""
        return time.monotonic()

    async def sleep(self, delay: ids.Seconds) -> None:
        """Wait for so many seconds; 0, and a time that is already past, only yield."""
        await asyncio.sleep(max(0.0, delay))
