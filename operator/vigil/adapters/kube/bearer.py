"""The token of the operator's own identity, which is renewed under a running process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from vigil import ports
from vigil.adapters.kube import errors
from vigil.model import ids

AT_MOST_EVERY: Final[ids.Seconds] = 5.0
"""However many requests are refused at once, the token is read again only so often."""


class Bearer:
    """The header Authorization: read again every `reread` seconds, and after a 401.

    A reading that fails keeps the value that is known: if it is out of date, the API server says so.
    """

    def __init__(
        self, load: Callable[[], Awaitable[str]], first: str, clock: ports.Clock, reread: ids.Seconds | None
    ) -> None:
        self._load = load
        self._value = first
        self._clock = clock
        self._reread = reread
        self._read_at = clock.monotonic()
        self._turn = asyncio.Lock()

    async def header(self) -> str:
        """The value to send now, empty for none."""
        if self._reread is not None and self._age >= self._reread:
            await self._read(self._reread)
        return self._value

    async def renewed(self, refused: str) -> str | None:
        """The value after this one was refused; None if there is no other."""
        if self._value == refused:
            await self._read(AT_MOST_EVERY)
        return self._value if self._value != refused else None

    @property
    def _age(self) -> ids.Seconds:
        return self._clock.monotonic() - self._read_at

    async def _read(self, older_than: ids.Seconds) -> None:
        async with self._turn:
            if self._age < older_than:
                return
            self._read_at = self._clock.monotonic()
            try:
                self._value = await self._load()
            except errors.ConfigurationError:
                return
