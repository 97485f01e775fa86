"""What stands between a client and the real API server: a proxy that answers in its place, a wire that is cut."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import aiohttp
from aiohttp import test_utils, web

from tests.controlplane import plane

Fault = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""Gives an answer in the API server's place, or None to pass the request on."""


async def no_fault(_request: web.Request) -> web.StreamResponse | None:
    """Pass everything on."""
    return None


def refusal(status: int, reason: str, retry_after: int | None = None) -> web.Response:
    """An answer as the API server words it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": f"it is {reason}"}
    return web.json_response({**body, "code": status}, status=status, headers=headers)


class Proxy:
    """A reverse proxy; `fault` is asked about each request, and `requests` holds what came, as `GET /path?query`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fault: Fault = no_fault
        self.requests: list[str] = []

    def asked(self, method: str, end: str = "") -> int:
        """How many requests of a method went to a path with this end."""
        return sum(1 for one in self.requests if one.startswith(f"{method} ") and one.endswith(end))


@contextlib.asynccontextmanager
async def proxied(control_plane: plane.ControlPlane) -> AsyncIterator[Proxy]:
    """A proxy in front of the API server, over http."""
    tls = ssl.create_default_context(cafile=str(control_plane.ca))
    proxies: list[Proxy] = []
    async with aiohttp.ClientSession(auto_decompress=False) as session:

        async def handle(request: web.Request) -> web.StreamResponse:
            proxies[0].requests.append(f"{request.method} {request.path_qs}")
            answer = await proxies[0].fault(request)
            return answer if answer is not None else await _forwarded(session, control_plane.url, tls, request)

        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", handle)
        server = test_utils.TestServer(app, host="127.0.0.1")
        await server.start_server()
        proxies.append(Proxy(str(server.make_url("")).rstrip("/")))
        try:
            yield proxies[0]
        finally:
            await server.close()


async def _forwarded(
    session: aiohttp.ClientSession, base: str, tls: ssl.SSLContext, request: web.Request
) -> web.Response:
    passed = {"Authorization", "Content-Type", "Accept", "Accept-Encoding"}
    headers = {name: value for name, value in request.headers.items() if name in passed}
    body = await request.read()
    async with session.request(
        request.method, f"{base}{request.path_qs}", headers=headers, data=body, ssl=tls, allow_redirects=False
    ) as answer:
        kept = {"Content-Type", "Content-Encoding", "Retry-After", "Location"}
        back = {name: value for name, value in answer.headers.items() if name in kept}
        return web.Response(status=answer.status, headers=back, body=await answer.read())


class Wire:
    """A TCP connection to the API server: while it is cut, what is sent goes nowhere and nobody says so."""

    def __init__(self) -> None:
        self.port = 0
        self.whole = asyncio.Event()
        self.whole.set()

    def cut(self) -> None:
        """Let nothing through, in either direction, and close nothing."""
        self.whole.clear()

    def mend(self) -> None:
        """Let everything through, what waits included."""
        self.whole.set()


@contextlib.asynccontextmanager
async def wired(control_plane: plane.ControlPlane) -> AsyncIterator[Wire]:
    """A wire to the API server; its url has the API server's own address, so that TLS holds."""
    wire, target = Wire(), urlsplit(control_plane.url)
    tasks: set[asyncio.Task[None]] = set()

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while part := await reader.read(65536):
                await wire.whole.wait()
                writer.write(part)
                await writer.drain()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(target.hostname, target.port)
        tasks.update({asyncio.create_task(copy(reader, back)), asyncio.create_task(copy(there, writer))})

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    wire.port = server.sockets[0].getsockname()[1]
    try:
        yield wire
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
