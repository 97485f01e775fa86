"""The client with one host and one credential: what a kind gets as its Transport."""

from collections.abc import Mapping
from typing import Final

from vigil.adapters.http import client, credentials, errors, urls
from vigil.kind import transport
from vigil.model import failures, ids

READ_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
"""What a probe may send; POST because queries are sent with it. A probe only reads."""

_UNAUTHORIZED: Final = 401


class BoundTransport:
    """vigil.kind.transport.Transport over the guarded client.

    `base` is `host`, `host:port` or a base URL without a path; a host alone means https. The credential goes to this
    origin only, and only if it allows it or it is the kind's `default_host`. Raises ReadError, `config`, for a base
    that is none.
    """

    def __init__(
        self,
        guarded: client.GuardedClient,
        base: str,
        credential: credentials.Credential | None = None,
        default_host: str = "",
    ) -> None:
        self._client = guarded
        self._origin = urls.base(base)
        self._credential = credential
        self._default_host = default_host

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - it bounds the whole exchange, the credential's reads included
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """Send one request and give the whole answer; after a 401, once more with the credential read anew."""
        full = f"{self._origin}{url}" if url.startswith("/") else url
        wanted = client.call(method, full, headers, body, max_bytes)
        if method not in READ_METHODS:
            raise errors.error(
                failures.Category.CONFIG, str(wanted), "a probe only reads: GET, HEAD, or POST for a query"
            )
        async with errors.deadline(timeout, str(wanted)):
            if self._credential is None or wanted.target.origin != self._origin:
                return await self._client.exchange(wanted)
            return await self._authorized(wanted, self._credential)

    async def _authorized(self, wanted: client.Call, credential: credentials.Credential) -> transport.Response:
        response = await self._send(wanted, await credential.authorization())
        if response.status != _UNAUTHORIZED or urls.parse(response.url).origin != self._origin:
            return response
        return await self._send(wanted, await credential.refresh())

    async def _send(self, wanted: client.Call, granted: credentials.Authorization) -> transport.Response:
        name = self._credential.id if self._credential else ""
        headers = credentials.headers_for(self._origin, name, granted, self._default_host)
        return await self._client.exchange(wanted.with_credential(headers))
