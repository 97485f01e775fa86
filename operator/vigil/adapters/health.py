"""What the kubelet and Prometheus ask: /healthz, /readyz and /metrics on one port."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeAlias

import prometheus_client
import prometheus_client.aiohttp
import structlog
from aiohttp import web

from vigil import ports
from vigil.adapters import settings
from vigil.model import ids

Check: TypeAlias = Callable[[], str | None]
"""Gives None when all is well, otherwise the reason in one line. It returns at once and touches no network."""

CLOSE_SECONDS: Final = 2.0

_log: Any = structlog.get_logger(__name__)


class AddressError(Exception):
    """The port cannot be listened on; the message names the address and says why."""


class Heartbeat:
    """Alive while `beat` is called at least every `limit` seconds; it counts from its making."""

    def __init__(self, clock: ports.Clock, what: str, limit: ids.Seconds) -> None:
        self._clock = clock
        self._what = what
        self._limit = limit
        self._last = clock.monotonic()

    def beat(self) -> None:
        """Say that the work goes on."""
        self._last = self._clock.monotonic()

    def check(self) -> str | None:
        """The Check of this heartbeat."""
        silent = self._clock.monotonic() - self._last
        return f"{self._what} has been silent for {silent:.0f} s" if silent > self._limit else None


def all_of(*checks: Check) -> Check:
    """The first reason that one of these gives."""

    def check() -> str | None:
        return next((reason for each in checks if (reason := each()) is not None), None)

    return check


def application(registry: prometheus_client.CollectorRegistry, *, live: Check, ready: Check) -> web.Application:
    """The three paths: a health check answers 200 `ok`, or 503 and the reason."""
    app = web.Application()
    app.router.add_get("/healthz", _handler("live", live))
    app.router.add_get("/readyz", _handler("ready", ready))
    app.router.add_get("/metrics", prometheus_client.aiohttp.make_aiohttp_handler(registry))
    return app


@contextlib.asynccontextmanager
async def serve(app: web.Application, address: settings.Address) -> AsyncGenerator[settings.Address]:
    """Serve until the context ends; gives the address with the port that was taken. Raises AddressError."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=CLOSE_SECONDS)
    await runner.setup()
    try:
        site = web.TCPSite(runner, address.host, address.port)
        try:
            await site.start()
        except OSError as error:
            raise AddressError(f"cannot listen on {address}: {error.strerror or error}") from error
        taken: tuple[Any, ...] = runner.addresses[0]
        yield settings.Address(address.host, int(taken[1]))
    finally:
        await runner.cleanup()


def _handler(name: str, check: Check) -> Callable[[web.Request], Coroutine[None, None, web.Response]]:
    async def handle(_request: web.Request) -> web.Response:
        reason = _safely(name, check)
        return web.Response(text=f"{reason or 'ok'}\n", status=200 if reason is None else 503)

    return handle


def _safely(name: str, check: Check) -> str | None:
    try:
        return check()
    except Exception:
        # A check that fails says nothing good about the process, and its text may hold anything.
        _log.exception("health check failed", check=name)
        return f"the {name} check itself failed"
