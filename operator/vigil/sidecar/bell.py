"""One bell for all that waits: whoever changed something rings it, whoever waits looks again."""

import asyncio

from vigil import ports
from vigil.model import ids


class Bell:
    """Listen first, then look, then wait: what changes in between has rung by then."""

    def __init__(self, clock: ports.Clock) -> None:
        self._clock = clock
        self._event = asyncio.Event()

    def ring(self) -> None:
        """Wake all that wait."""
        self._event.set()
        self._event = asyncio.Event()

    def listen(self) -> asyncio.Event:
        """The next ring."""
        return self._event

    async def wait(self, heard: asyncio.Event, limit: ids.Seconds) -> None:
        """Wait for a ring, at most so many seconds."""
        if limit <= 0 or heard.is_set():
            return
        waiting = (asyncio.ensure_future(heard.wait()), asyncio.ensure_future(self._clock.sleep(limit)))
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
