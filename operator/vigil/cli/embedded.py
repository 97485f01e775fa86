"""The sidecar of `vigil run`, in the same process: sessions reach it on loopback, the scheduler without a request."""

import contextlib
import dataclasses
import pathlib
from collections.abc import AsyncGenerator
from typing import Final

import prometheus_client

from vigil import ports
from vigil.adapters import local, recorder, settings
from vigil.adapters.http import client
from vigil.cli import address
from vigil.sidecar import app, auth, evidence, notify, server, service, turns
from vigil.sidecar.store import port, sql

_SIDECAR: Final = "sidecar"


class SidecarError(Exception):
    """The sidecar cannot be started; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Embedded:
    """A running sidecar: the scheduler's side with the ledger, and the URL for sessions."""

    delivery: ports.Delivery
    ledger: recorder.Ledger
    url: str


@contextlib.asynccontextmanager
async def serving(
    state_dir: pathlib.Path, listen: str, clock: ports.Clock, guarded: client.GuardedClient, folder: local.Folder
) -> AsyncGenerator[Embedded]:
    """Serve until the context ends; raises SidecarError."""
    rules = turns.Rules()
    data = state_dir / _SIDECAR
    try:
        with server.listen(*_address(listen)) as listening:
            url = f"http://{settings.Address(*listening.getsockname()[:2])}"
            notifications = notify.Notifications(notify.HttpNotifier(guarded), notify.FileReceivers({}, folder))
            sidecar = service.Service(
                sql.SqlStore.file(data / "sidecar.db", rules),
                clock,
                evidence.Evidence(data / "evidence"),
                rules=rules,
                notifications=notifications,
                base_url=url,
            )
            token = _published(state_dir, url)
            authenticator = auth.StaticTokens({token: auth.EVERYTHING})
            made = app.create_app(sidecar, authenticator, prometheus_client.CollectorRegistry())
            async with sidecar.running(), server.serving(made, sidecar, listening):
                yield Embedded(sidecar, sidecar, url)
    except (server.ListenError, port.StoreError) as error:
        raise SidecarError(str(error)) from error


def _published(state_dir: pathlib.Path, url: str) -> str:
    try:
        return address.publish(state_dir, url)
    except OSError as error:
        raise SidecarError(f"the sidecar's address cannot be written to {state_dir}: {error.strerror}") from error


def _address(listen: str) -> tuple[str, int]:
    host, _, number = listen.rpartition(":")
    if not host or not number.isdecimal() or int(number) > 65535:
        raise SidecarError(f"--listen takes HOST:PORT such as 127.0.0.1:0, not {listen!r}")
    return host.strip("[]"), int(number)
