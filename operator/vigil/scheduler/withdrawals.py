"""Wakes of Watches that are gone: each is taken back until the sidecar has said what became of it."""

import asyncio
import logging
from typing import Final

from vigil import ports
from vigil.model import ids
from vigil.scheduler import entry

_LOG = logging.getLogger(__name__)

TIMEOUT: Final[ids.Seconds] = 10.0
"""How long one attempt may take, and how long whoever drops a Watch waits for the first one."""
KEPT: Final = 10_000
FIRST_PAUSE: Final[ids.Seconds] = 2.0
LONGEST_PAUSE: Final[ids.Seconds] = 60.0


class Withdrawals:
    """The wakes that are still to be taken back; of more than `kept` the oldest are given up.

    They are known to this process only. A wake that it leaves behind completes into nothing once it is claimed.
    """

    def __init__(self, delivery: ports.Delivery, clock: ports.Clock, kept: int = KEPT) -> None:
        self._delivery = delivery
        self._clock = clock
        self._kept = kept
        self._left: dict[ids.WakeId, None] = {}
        self._some = asyncio.Event()
        self._pause = FIRST_PAUSE
        self._gave_up = False

    def __len__(self) -> int:
        return len(self._left)

    async def first(self, gone: entry.Entry) -> None:
        """Try once to take back the wake of a Watch that was dropped; where that fails, `run` goes on with it."""
        async with gone.lock:
            # With the lock, since a tick that is under way may be about to submit the wake.
            flown = gone.memory.state.in_flight
        if flown is not None and flown.claimed is None and not await self._settled(flown.id):
            self._leave(flown.id)

    def keep(self, wake: ids.WakeId) -> None:
        """Leave this wake where it is: its Watch is held again."""
        self._left.pop(wake, None)

    async def run(self) -> None:
        """Take back what is left, at growing pauses, until cancelled."""
        while True:
            await self._some.wait()
            await self._clock.sleep(self._pause)
            await self._go_on()
            if not self._left:
                self._gave_up = False
                self._some.clear()

    async def _go_on(self) -> None:
        """Try one after another until one fails, which is the last to be tried again."""
        before = len(self._left)
        for wake in list(self._left):
            if wake not in self._left:
                continue
            if not await self._settled(wake):
                if wake in self._left:
                    self._left[wake] = self._left.pop(wake)
                break
            self._left.pop(wake, None)
        self._pause = FIRST_PAUSE if len(self._left) < before else min(2 * self._pause, LONGEST_PAUSE)

    async def _settled(self, wake: ids.WakeId) -> bool:
        """Whether the sidecar has said what became of the wake, be it withdrawn, claimed or over."""
        try:
            async with asyncio.timeout(TIMEOUT):
                await self._delivery.withdraw(wake)
        except (ports.DeliveryError, TimeoutError):
            return False
        except Exception:
            # It must end neither the deletion of the Watch nor the scheduler.
            _LOG.exception("the wake %s could not be taken back, and is tried again", wake)
            return False
        return True

    def _leave(self, wake: ids.WakeId) -> None:
        self._left[wake] = None
        if len(self._left) > self._kept:
            del self._left[next(iter(self._left))]
            if not self._gave_up:
                _LOG.warning("more than %d wakes cannot be taken back: the oldest are given up", self._kept)
            self._gave_up = True
        self._some.set()
