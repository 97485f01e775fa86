"""The outcomes of wakes, in their order, to the Watches that they belong to."""

from collections.abc import Awaitable, Callable
from typing import Final

from vigil import ports
from vigil.model import ids, wakes

WAIT: Final[ids.Seconds] = 25.0
_FIRST_PAUSE: Final[ids.Seconds] = 1.0
_LONGEST_PAUSE: Final[ids.Seconds] = 30.0


class Feed:
    """A long poll that never ends by itself.

    The cursor begins at 0 in every process and is moved once the outcomes are in the memories: an outcome is applied
    to the wake that is in flight and to no other, so reading it twice does nothing.
    """

    def __init__(
        self, delivery: ports.Delivery, clock: ports.Clock, apply: Callable[[wakes.OutcomeEvent], Awaitable[None]]
    ) -> None:
        self._delivery = delivery
        self._clock = clock
        self._apply = apply
        self._cursor = 0
        self._pause = 0.0

    async def run(self) -> None:
        """Follow the outcomes until cancelled."""
        while True:
            await self.step(WAIT)

    async def step(self, wait: ids.Seconds) -> None:
        """Ask once, and apply what came."""
        try:
            page = await self._delivery.outcomes(self._cursor, wait)
        except ports.DeliveryError:
            self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            await self._clock.sleep(self._pause)
            return
        self._pause = 0.0
        for event in page.events:
            await self._apply(event)
        self._cursor = page.cursor
