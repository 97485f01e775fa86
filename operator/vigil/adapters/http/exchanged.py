"""A credential that has to be exchanged: the secret stays here, and what is sent is a grant that is renewed in time."""

import asyncio
from typing import Final

from vigil import ports
from vigil.adapters.http import credentials, tokens
from vigil.kind import api, transport
from vigil.model import failures, ids

RENEW_BEFORE: Final[ids.Seconds] = 300.0
"""How long before its end a grant is renewed; one that lives shortly, in the last tenth of its life."""

TIMEOUT: Final[ids.Seconds] = 10.0
"""The bound of one exchange."""


class Exchanged:
    """credentials.Credential of a secret that its kind exchanges; one exchange at a time, whoever waits for it."""

    def __init__(
        self,
        token: tokens.Token,
        reread: tokens.Reread,
        *,
        sign_in: api.SignIn,
        host: str,
        through: transport.Transport,
        clock: ports.Clock,
    ) -> None:
        self._name = token.digest
        self._token = token
        self._reread = reread
        self._sign_in = sign_in
        self._host = host
        self._through = through
        self._clock = clock
        self._turn = asyncio.Lock()
        self._grant: api.Grant | None = None
        self._renew_at: ids.Instant = 0.0

    @property
    def id(self) -> str:
        """The account's name."""
        return self._name

    def was_read(self, token: tokens.Token, reread: tokens.Reread) -> None:
        """Another read of the secret, maybe in another place."""
        self._token, self._reread = token, reread

    async def authorization(self) -> credentials.Authorization:
        """The grant, renewed if its end is near. Raises ReadError as the exchange fails."""
        async with self._turn:
            if self._grant is None or self._clock.now() >= self._renew_at:
                await self._exchange()
            return self._granted()

    async def refresh(self) -> credentials.Authorization:
        """A new grant for the secret as it is now. Raises ReadError as its place or the exchange fails."""
        async with self._turn:
            found = await self._reread()
            if isinstance(found, failures.Failure):
                raise transport.ReadError(found)
            self._token = found
            await self._exchange()
            return self._granted()

    async def _exchange(self) -> None:
        now = self._clock.now()
        self._grant = await self._sign_in.exchange(self._token.value, self._host, self._through, now, TIMEOUT)
        lasts = self._grant.expires_at - now
        self._renew_at = self._grant.expires_at - min(RENEW_BEFORE, lasts / 10)

    def _granted(self) -> credentials.Authorization:
        header = "" if self._grant is None else self._grant.header
        return credentials.Authorization({"authorization": header}, self._token.allowed_hosts)
