"""Real servers on loopback: a webhook, and the sidecar with its real clients."""

import asyncio
import contextlib
import dataclasses
import ipaddress
import pathlib
from collections.abc import AsyncGenerator
from typing import Any

import prometheus_client
from aiohttp import test_utils, web

from tests.sidecar import support
from vigil.adapters import session, sidecar, wire
from vigil.adapters.http import client
from vigil.sidecar import app, auth, evidence, metrics, notify, server, service, turns
from vigil.sidecar.store import sql

ALLOWED = client.Settings(allowed_ranges=(ipaddress.ip_network("127.0.0.0/8"),))
TOKEN = "everything"
SESSION_TOKEN = "team-a's"
PRINCIPALS = {TOKEN: auth.EVERYTHING, SESSION_TOKEN: auth.Principal(namespaces=frozenset({"team-a"}))}


class Receiver:
    """A webhook that answers as it is told and keeps what it got."""

    def __init__(self) -> None:
        self.status = 200
        self.headers: dict[str, str] = {}
        self.got: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        """Keep the document."""
        self.got.put_nowait(await request.json())
        return web.Response(status=self.status, headers=self.headers, text="x")

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator["Receiver"]:
        """Serve until the context ends."""
        application = web.Application()
        application.router.add_post("/hook", self.handle)
        async with test_utils.TestServer(application, host="127.0.0.1") as running:
            self.url = str(running.make_url("/hook"))
            yield self


@dataclasses.dataclass(frozen=True)
class Running:
    """A sidecar that is served, with its clock and its clients."""

    clock: support.Clock
    url: str
    folder: pathlib.Path
    service: service.Service
    connection: wire.Wire
    registry: prometheus_client.CollectorRegistry

    @property
    def operator(self) -> sidecar.SidecarClient:
        """The operator's client."""
        return sidecar.SidecarClient(self.connection)

    def session(self, name: str = "supervisor", namespace: str = "team-a") -> session.SessionClient:
        """A session's client."""
        return session.SessionClient(self.connection, namespace, name)

    def count(self, name: str, **labels: str) -> float:
        """The value of a metric."""
        value = self.registry.get_sample_value(name, labels)
        assert value is not None, name
        return value


@contextlib.asynccontextmanager
async def running(
    folder: pathlib.Path,
    *,
    clock: support.Clock | None = None,
    hook: str = "",
    rules: turns.Rules | None = None,
    unix: bool = False,
) -> AsyncGenerator[Running]:
    """Serve a sidecar over a file until the context ends."""
    clock, rules = clock or support.Clock(), rules or turns.Rules()
    receivers: dict[str, pathlib.Path] = {}
    if hook:
        receivers["oncall"] = folder / "hook"
        receivers["oncall"].write_text(hook)
    registry = prometheus_client.CollectorRegistry()
    async with contextlib.AsyncExitStack() as stack:
        guarded = await stack.enter_async_context(client.GuardedClient(ALLOWED))
        path = folder / "s"
        listening = server.listen_unix(path) if unix else server.listen("127.0.0.1", 0)
        url = f"unix://{path}" if unix else f"http://127.0.0.1:{listening.getsockname()[1]}"
        made = service.Service(
            sql.SqlStore.file(folder / "sidecar.db", rules),
            clock,
            evidence.Evidence(folder / "evidence"),
            rules=rules,
            notifications=notify.Notifications(notify.HttpNotifier(guarded), notify.FileReceivers(receivers)),
            heard=metrics.Metrics(registry),
            base_url="" if unix else url,
        )
        served = app.create_app(made, auth.StaticTokens(PRINCIPALS), registry)
        await stack.enter_async_context(made.running())
        await stack.enter_async_context(server.serving(served, made, listening))
        connection = await stack.enter_async_context(wire.Wire(url, lambda: TOKEN, timeout=5.0))
        yield Running(clock, url, folder, made, connection, registry)
