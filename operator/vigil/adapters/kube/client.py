"""Requests to the API server: bounded in time, size and number of connections, never redirected, every failure ours."""

import dataclasses
import json
import urllib.parse
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
import yarl

from vigil import ports
from vigil.adapters.http import body as response_body
from vigil.adapters.http import client as http_client
from vigil.adapters.http import errors as http_errors
from vigil.adapters.kube import bearer, configuration, errors
from vigil.kind import transport
from vigil.model import failures, ids

MAX_BYTES: Final = 64 * 1024 * 1024
"""A page of 500 Watches with the largest status; the API server's own limit of one object is 1.5 MiB."""

_UNAUTHORIZED: Final = 401
_JSON: Final = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The bounds of one client: open connections, and seconds of a request that names none."""

    connections: int = 20
    timeout: ids.Seconds = 15.0


@dataclasses.dataclass(frozen=True, slots=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    body: bytes | None = dataclasses.field(repr=False)
    max_bytes: int


async def connect(source: configuration.Source, clock: ports.Clock, settings: Settings | None = None) -> "ApiClient":
    """A client of the API server that the source names; nothing is sent yet. Raises ConfigurationError.

    What must not wait for others (the Lease) gets a client of its own, and with it connections of its own.
    """
    bounds = Settings() if settings is None else settings

    async def reload() -> str:
        return configuration.authorization(await source.load())

    loaded = await source.load()
    pool = configuration.Pool(loaded, _session_options(), bounds.connections)
    token = bearer.Bearer(reload, configuration.authorization(loaded), clock, source.reread)
    return ApiClient(pool, token, bounds)


def path(*segments: str) -> str:
    """A path of these segments, each quoted."""
    return "".join(f"/{urllib.parse.quote(segment, safe='')}" for segment in segments)


class ApiClient:
    """The API server as one identity; made by `connect` inside a running event loop, and closed there."""

    def __init__(self, pool: configuration.Pool, token: bearer.Bearer, settings: Settings) -> None:
        self._pool = pool
        self._session = pool.session()
        self._token = token
        self._settings = settings

    @property
    def base(self) -> str:
        """The URL of the API server, without a slash at its end."""
        return self._pool.base

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        timeout: ids.Seconds | None = None,  # noqa: ASYNC109 - it bounds the whole exchange
        accept: str = _JSON,
    ) -> Any:
        """The JSON object that the API server answers with a success; `body` is JSON too. Raises ApiError."""
        content = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        sent = {"content-type": _JSON} if content is not None else {}
        try:
            response = await self.exchange(
                method,
                f"{path}?{urllib.parse.urlencode(query)}" if query else path,
                timeout=self._settings.timeout if timeout is None else timeout,
                headers={"accept": accept, **sent},
                body=content,
            )
        except transport.ReadError as raised:
            raise errors.UnreachableError(raised.failure) from None
        return errors.decoded(response, f"{method} {path}")

    async def exchange(
        self,
        method: str,
        path: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - it bounds the whole exchange
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> transport.Response:
        """The whole answer to one request, whatever its status; after a 401 once more with the token read anew.

        `path` starts with `/` and is quoted already. Raises ReadError: `timeout`, `transient`, `tls`, `too_large`,
        `malformed`, `config`.
        """
        async with http_errors.deadline(timeout, f"{method} {self.base}"):
            token = await self._token.header()
            request = _Request(method, f"{self.base}{path}", headers or {}, body, max_bytes)
            response = await self._send(request, token)
            if response.status == _UNAUTHORIZED and (newer := await self._token.renewed(token)) is not None:
                return await self._send(request, newer)
            return response

    async def close(self) -> None:
        """Close all connections; a request after that is a `transient` failure."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, request: "_Request", token: str) -> transport.Response:
        what = f"{request.method} {self.base}"
        if self._session.closed:
            raise http_errors.error(failures.Category.TRANSIENT, what, "the client is closed")
        with http_errors.translated(what):
            async with self._session.request(
                request.method,
                yarl.URL(request.url, encoded=True),
                headers={**request.headers, **({"authorization": token} if token else {})},
                data=request.body,
                allow_redirects=False,
                **self._pool.options,
            ) as response:
                content = await response_body.read(response, request.max_bytes)
                lowered = {name.lower(): value for name, value in response.headers.items()}
                return transport.Response(response.status, lowered, content, request.url)


def _session_options() -> dict[str, Any]:
    return {
        "headers": {"User-Agent": http_client.USER_AGENT, "Accept-Encoding": response_body.ACCEPT_ENCODING},
        "cookie_jar": aiohttp.DummyCookieJar(),
        "trust_env": False,
        "auto_decompress": False,
        "timeout": aiohttp.ClientTimeout(total=None),
    }
