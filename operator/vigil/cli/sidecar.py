"""`vigil sidecar`: the inbox between operators and sessions, as a process of its own."""

import asyncio
import contextlib
import os
import pathlib
import socket
from typing import Any

import click
import prometheus_client
import structlog

from vigil import ports
from vigil.adapters import clock, logs
from vigil.adapters import settings as common
from vigil.adapters.http import client
from vigil.adapters.kube import client as kube_client
from vigil.adapters.kube import configuration, errors, review, secrets
from vigil.sidecar import app, auth, evidence, metrics, notify, server, service, settings
from vigil.sidecar.store import port, sql

_log: Any = structlog.get_logger(__name__)


@click.command(name="sidecar", short_help="Run the delivery sidecar.")
@click.option("--listen", metavar="HOST:PORT", help="Where to listen (VIGIL_LISTEN_ADDRESS).")
@click.option(
    "--unix-socket",
    type=click.Path(path_type=pathlib.Path),
    help="Listen on this Unix socket instead (VIGIL_UNIX_SOCKET).",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=pathlib.Path, file_okay=False),
    help="The folder of the database and the evidence (VIGIL_DATA_DIR).",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=pathlib.Path, dir_okay=False),
    help="The file with the token of operator and sessions (VIGIL_TOKEN_FILE).",
)
def command(
    *,
    listen: str | None,
    unix_socket: pathlib.Path | None,
    data_dir: pathlib.Path | None,
    token_file: pathlib.Path | None,
) -> None:
    """Run the delivery sidecar until SIGTERM.

    The settings come from the environment, as variables that begin with VIGIL_; an option goes before its variable. The
    exit code is 1 when it cannot start, 2 for bad settings.
    """
    given = {"LISTEN_ADDRESS": listen, "UNIX_SOCKET": unix_socket, "DATA_DIR": data_dir, "TOKEN_FILE": token_file}
    for name, value in given.items():
        if value is not None:
            os.environ[f"{common.PREFIX}{name}"] = str(value)
    try:
        told = common.load(settings.SidecarSettings)
    except common.SettingsError as error:
        raise click.UsageError(str(error)) from None
    if not (told.token_file or told.session_tokens or told.token_review):
        raise click.UsageError("nobody could be let in: --token-file or VIGIL_TOKEN_REVIEW is needed")
    logs.configure(told.log_level, told.log_format)
    try:
        asyncio.run(_run(told))
    except (port.StoreError, server.ListenError, errors.ConfigurationError, OSError, ValueError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from None


async def _run(told: settings.SidecarSettings) -> None:
    system = clock.SystemClock()
    registry = prometheus_client.CollectorRegistry()
    async with contextlib.AsyncExitStack() as stack:
        guarded = await stack.enter_async_context(_guarded(told))
        api = await _cluster(told, system, stack)
        receivers = notify.FileReceivers(told.receivers, secrets.Secrets(api, system) if api else None)
        sidecar = service.Service(
            sql.SqlStore.file(told.database, told.rules),
            system,
            evidence.Evidence(told.evidence),
            rules=told.rules,
            notifications=notify.Notifications(notify.HttpNotifier(guarded), receivers),
            heard=metrics.Metrics(registry),
            base_url=told.public_url or "",
        )
        listening = stack.enter_context(_listen(told))
        await stack.enter_async_context(sidecar.running())
        served = server.make(
            app.create_app(sidecar, _authenticator(told, api, system), registry), sidecar, signals=True
        )
        _log.info("the sidecar listens", address=_address(told, listening))
        await served.serve(sockets=[listening])
        _log.info("the sidecar stopped")


def _guarded(told: settings.SidecarSettings) -> client.GuardedClient:
    """The client of notifications, with the ranges and the authorities that the settings allow."""
    bundle = "" if told.ca_file is None else str(told.ca_file)
    try:
        return client.GuardedClient(client.Settings(told.allowed_addresses, bundle))
    except ValueError as error:
        raise ValueError(f"VIGIL_CA_FILE: {error}") from error


async def _cluster(
    told: settings.SidecarSettings, system: ports.Clock, stack: contextlib.AsyncExitStack
) -> kube_client.ApiClient | None:
    """The API server, for TokenReviews and for the Secrets that Watches name; None where there is no cluster."""
    if not (told.token_review or told.kubeconfig or "KUBERNETES_SERVICE_HOST" in os.environ):
        return None
    try:
        return await stack.enter_async_context(await kube_client.connect(configuration.source(told.kubeconfig), system))
    except errors.ConfigurationError as error:
        if told.token_review or told.kubeconfig:
            raise
        _log.warning("the cluster is not reached: no notification can take its URL from a Secret", why=str(error))
        return None


def _authenticator(
    told: settings.SidecarSettings, api: kube_client.ApiClient | None, system: ports.Clock
) -> auth.Authenticator:
    known: list[auth.Authenticator] = [auth.FileTokens(told.token_file, told.session_tokens)]
    if told.token_review and api is not None:
        reviewer = review.TokenReviewer(api, system, told.token_audience)
        known.append(auth.ReviewedTokens(reviewer, frozenset(told.operators)))
    return auth.FirstOf(*known)


def _address(told: settings.SidecarSettings, listening: socket.socket) -> str:
    """Where it listens, with the port that was taken."""
    return str(told.unix_socket or common.Address(*listening.getsockname()[:2]))


def _listen(told: settings.SidecarSettings) -> socket.socket:
    if told.unix_socket is not None:
        return server.listen_unix(told.unix_socket)
    return server.listen(told.listen_address.host, told.listen_address.port)
