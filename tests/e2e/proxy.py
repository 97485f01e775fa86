"""A proxy in front of a real server, the API server or the sidecar, that injects faults and counts what passes."""

import asyncio
import contextlib
import dataclasses
import json
import ssl
import threading
import time
from collections.abc import Callable, Generator
from typing import TypeAlias

import aiohttp
from aiohttp import web

from tests.controlplane import plane

_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "upgrade", "content-length", "host", "content-encoding"}
WATCHES = "/apis/vigil.dev/v1alpha1"
STREAM_SECONDS = 10.0
TLS_CLOSE_SECONDS = 0.25
"""aiohttp closes its TLS connections some turns of the loop later, and has no way to wait for that."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """One request: kopf and the operator's own client share an identity, and differ in their User-Agent."""

    method: str
    path: str
    agent: str

    @property
    def of_kopf(self) -> bool:
        """Whether kopf sent it."""
        return self.agent.startswith("kopf/")


@dataclasses.dataclass(frozen=True)
class Seen:
    """One request that the proxy answered, and with what."""

    method: str
    path: str
    status: int
    at: float
    agent: str = ""
    sent: bytes = dataclasses.field(default=b"", repr=False)

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.method not in {"GET", "HEAD", "OPTIONS"}


Matches: TypeAlias = Callable[[Asked], bool]


@dataclasses.dataclass
class Fault:
    """An answer in the place of the server's, for the requests that it matches, `times` times."""

    matches: Matches
    status: int
    body: dict[str, object]
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    times: int = 1


class Gate:
    """Requests that wait, each before it is passed on, or its answer when it is back."""

    def __init__(self, matches: Matches, *, answers: bool) -> None:
        self.matches = matches
        self.answers = answers
        self._reached = threading.Event()
        self._released: asyncio.Event
        self._dropped = False

    def wait(self, seconds: float = 30.0) -> None:
        """Wait until a request waits here."""
        assert self._reached.wait(seconds), "no request came to the gate"

    @property
    def reached(self) -> bool:
        """Whether a request has come here."""
        return self._reached.is_set()

    async def passed(self) -> bool:
        """Wait for the release: False when the connection is to be cut."""
        self._reached.set()
        await self._released.wait()
        return not self._dropped

    def open(self, loop: asyncio.AbstractEventLoop, *, drop: bool) -> None:
        """Let go what waits here."""
        self._dropped = drop
        loop.call_soon_threadsafe(self._released.set)

    def bind(self) -> None:
        """Make the event; in the loop of the proxy."""
        self._released = asyncio.Event()


def answer(code: int, reason: str, message: str) -> dict[str, object]:
    """A Status object as the API server words it."""
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**status, "message": message, "reason": reason, "code": code}


def of_status(name: str = "") -> Matches:
    """The writes of the status of a Watch of this name, or of any."""
    return lambda asked: asked.method == "PUT" and asked.path.endswith(f"{f'/{name}' if name else ''}/status")


def lists_of_kopf(asked: Asked) -> bool:
    """kopf's listings of all Watches."""
    return asked.of_kopf and asked.method == "GET" and "watch=true" not in asked.path and "/watches" in asked.path


class Proxy:
    """The server under another address; runs in a thread of its own. Without TLS where the server has none."""

    def __init__(self, upstream: str, tls: tuple[ssl.SSLContext, ssl.SSLContext] | None = None) -> None:
        self._upstream = upstream
        self._client_tls = None if tls is None else tls[0]
        self._server_tls = None if tls is None else tls[1]
        self._seen: list[Seen] = []
        self._faults: list[Fault] = []
        self._gates: list[Gate] = []
        self._down = False
        self._lag = 0.0
        self._open: dict[int, web.Request] = {}
        self._streams: dict[asyncio.Event, web.Request] = {}
        self._expire: set[asyncio.Event] = set()
        self._started = threading.Event()
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self.url = ""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="proxy", daemon=True)

    def __enter__(self) -> "Proxy":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen; `url` is known afterwards."""
        self._thread.start()
        assert self._started.wait(10)

    def stop(self) -> None:
        """Cut everything and close."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        assert not self._thread.is_alive()

    # --- what a test does with it ----------------------------------------------------------------------------------

    def fail_next(self, fault: Fault) -> None:
        """Answer the next matching requests with this fault."""
        self._faults.append(fault)

    def pending_faults(self) -> int:
        """How many injected answers were not given yet."""
        return sum(fault.times for fault in self._faults)

    @contextlib.contextmanager
    def gone(self) -> Generator[None]:
        """Cut every connection, and every new one meanwhile."""
        self._down = True
        self._loop.call_soon_threadsafe(self._cut)
        try:
            yield
        finally:
            self._down = False

    @contextlib.contextmanager
    def held(self, matches: Matches, *, answers: bool = False, drop: bool = False) -> Generator[Gate]:
        """Hold matching requests (or only their answers) meanwhile, then pass them on, or `drop` their connections."""
        gate = Gate(matches, answers=answers)
        asyncio.run_coroutine_threadsafe(self._add(gate), self._loop).result(5)
        try:
            yield gate
        finally:
            self._gates.remove(gate)
            gate.open(self._loop, drop=drop)

    @contextlib.contextmanager
    def lagging(self, seconds: float) -> Generator[None]:
        """Hold every piece of a watch stream back for so long, meanwhile."""
        self._lag = seconds
        try:
            yield
        finally:
            self._lag = 0.0

    def expire_streams(self) -> None:
        """End every open watch stream with 410 Gone inside the stream; waits for the first one."""
        self.wait_for_stream()
        self._loop.call_soon_threadsafe(self._expire_all)

    def seen(self, since: float = 0.0) -> list[Seen]:
        """The requests since a time of the monotonic clock."""
        return [one for one in self._seen if one.at >= since]

    def writes(self, since: float = 0.0) -> list[Seen]:
        """The requests that change something."""
        return [one for one in self.seen(since) if one.writes]

    def lists(self, namespace: str, since: float = 0.0) -> list[Seen]:
        """The lists of workloads of one namespace: one for each group and tick."""
        prefixes = tuple(f"/apis/{group}/v1/namespaces/{namespace}/" for group in ("apps", "batch"))
        return [one for one in self.seen(since) if one.method == "GET" and one.path.startswith(prefixes)]

    def wait_for_stream(self) -> None:
        """Wait until a watch stream is open, which is some time after kopf is ready."""
        deadline = time.monotonic() + STREAM_SECONDS
        while not self.streams():
            assert time.monotonic() < deadline, "nobody watches"
            time.sleep(0.05)

    def streams(self) -> int:
        """How many watch streams are open."""
        open_ = [one.transport for one in list(self._streams.values())]
        return sum(1 for one in open_ if one is not None and not one.is_closing())

    # --- how it works ----------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=16 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._server_tls).start()
        scheme = "http" if self._server_tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{runner.addresses[0][1]}"
        connector = aiohttp.TCPConnector(ssl=self._client_tls or True, limit=0)
        async with aiohttp.ClientSession(connector=connector, auto_decompress=False) as self._session:
            self._started.set()
            await self._stop.wait()
            self._down = True
            self._cut()
            for gate in self._gates:
                gate.open(self._loop, drop=True)
            await runner.cleanup()
        await asyncio.sleep(TLS_CLOSE_SECONDS)

    async def _add(self, gate: Gate) -> None:
        gate.bind()
        self._gates.append(gate)

    def _cut(self) -> None:
        for stream in self._streams:
            stream.set()
        for request in self._open.values():
            _abort(request)

    def _expire_all(self) -> None:
        for stream in self._streams:
            self._expire.add(stream)
            stream.set()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if self._down:
            return _abort(request)
        self._open[id(request)] = request
        try:
            return await self._answered(request)
        except (aiohttp.ClientError, ConnectionError):
            # The server is gone, or whoever asked is.
            return _abort(request)
        finally:
            del self._open[id(request)]

    async def _answered(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(request.method, request.path_qs, request.headers.get("user-agent", ""))
        # First, since it cannot be read any more once whoever asks is dead.
        body = await request.read() if request.can_read_body else None
        for fault in self._faults:
            if fault.times > 0 and fault.matches(asked):
                fault.times -= 1
                self._note(asked, fault.status, body)
                return web.json_response(fault.body, status=fault.status, headers=fault.headers)
        if not await self._let_pass(asked, answers=False):
            return _abort(request)
        return await self._pass_on(request, asked, body)

    async def _let_pass(self, asked: Asked, *, answers: bool) -> bool:
        for gate in list(self._gates):
            if gate.answers == answers and gate.matches(asked) and not await gate.passed():
                return False
        return True

    def _note(self, asked: Asked, status: int, sent: bytes | None = None) -> None:
        self._seen.append(Seen(asked.method, asked.path, status, time.monotonic(), asked.agent, sent or b""))

    async def _pass_on(self, request: web.Request, asked: Asked, body: bytes | None) -> web.StreamResponse:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        url = f"{self._upstream}{request.path_qs}"
        timeout = aiohttp.ClientTimeout(total=None)
        async with self._session.request(request.method, url, headers=headers, data=body, timeout=timeout) as upstream:
            self._note(asked, upstream.status, body)
            back = {name: value for name, value in upstream.headers.items() if name.lower() not in _HOP_BY_HOP}
            if "content-encoding" in upstream.headers:
                back["content-encoding"] = upstream.headers["content-encoding"]
            if request.query.get("watch") in {"true", "1"}:
                return await self._stream(request, upstream, back)
            content = await upstream.read()
            if not await self._let_pass(asked, answers=True):
                return _abort(request)
            return web.Response(status=upstream.status, headers=back, body=content)

    async def _stream(
        self, request: web.Request, upstream: aiohttp.ClientResponse, headers: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=upstream.status, headers=headers)
        await response.prepare(request)
        cut = asyncio.Event()
        self._streams[cut] = request
        copying = asyncio.create_task(self._copy(upstream, response))
        waiting = asyncio.create_task(cut.wait())
        try:
            await asyncio.wait({copying, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if cut in self._expire:
                self._expire.discard(cut)
                gone = {"type": "ERROR", "object": answer(410, "Expired", "too old resource version: 1 (2)")}
                await response.write(json.dumps(gone).encode() + b"\n")
            elif cut.is_set():
                _abort(request)
        finally:
            self._streams.pop(cut, None)
            for task in (copying, waiting):
                task.cancel()
            await asyncio.gather(copying, waiting, return_exceptions=True)
            upstream.close()
        return response

    async def _copy(self, upstream: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        """Pass the pieces on, each held back by the lag as it is then, in their order."""
        pieces: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()

        async def send() -> None:
            while (piece := await pieces.get()) is not None:
                await asyncio.sleep(max(0.0, piece[0] - time.monotonic()))
                await response.write(piece[1])

        sender = asyncio.create_task(send())
        try:
            async for piece in upstream.content.iter_any():
                pieces.put_nowait((time.monotonic() + self._lag, piece))
            pieces.put_nowait(None)
            await sender
        finally:
            sender.cancel()
            await asyncio.gather(sender, return_exceptions=True)


def _abort(request: web.Request) -> web.Response:
    """Cut the connection; the response is for aiohttp, and reaches nobody."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response(status=503)


def before_api_server(control_plane: plane.ControlPlane) -> Proxy:
    """A proxy in front of the API server, that every kubeconfig of the control plane trusts."""
    client = ssl.create_default_context(cafile=control_plane.ca)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*control_plane.loopback_certificate)
    return Proxy(control_plane.url, (client, server))
