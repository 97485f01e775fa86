"""What a command that works without the operator is told: addresses, credentials, a cluster if there is one."""

import contextlib
import dataclasses
import ipaddress
import pathlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TypeVar

import click

from vigil import ports
from vigil.adapters import clock, local, settings
from vigil.adapters.http import client
from vigil.cli import kubeconfig as cluster_option
from vigil.cli import manifests
from vigil.kind import api as kind_api
from vigil.tick import enrolment

F = TypeVar("F", bound=Callable[..., object])


class ClusterError(Exception):
    """The cluster that a Watch needs cannot be reached; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Local:
    """The options of `local_options`, as given."""

    allowed: tuple[settings.Network, ...]
    credentials: pathlib.Path | None
    kubeconfig: pathlib.Path | None


def local_options(command: F) -> F:
    """The options of commands that read subjects by themselves."""
    for option in (
        cluster_option.option("The cluster that kinds read which watch what is in one."),
        click.option(
            "--credentials",
            type=click.Path(path_type=pathlib.Path, file_okay=False, exists=True),
            envvar="VIGIL_CREDENTIALS",
            help="The folder with NAME/KEY for each credentialRef, and NAME/allowed-hosts.",
        ),
        click.option(
            "--allow-address",
            "allow_address",
            multiple=True,
            metavar="CIDR",
            envvar="VIGIL_ALLOWED_ADDRESSES",
            help="A range of private addresses that probes and notifications may reach, such as 127.0.0.0/8.",
        ),
    ):
        command = option(command)
    return command


def parsed(allow_address: tuple[str, ...], credentials: pathlib.Path | None, kubeconfig: pathlib.Path | None) -> Local:
    """The options checked; a range that is none ends the command."""
    texts = [text for given in allow_address for text in given.replace(",", " ").split()]
    try:
        return Local(tuple(ipaddress.ip_network(text) for text in texts), credentials, kubeconfig)
    except ValueError as error:
        manifests.fail(f"--allow-address: {error}")


@contextlib.asynccontextmanager
async def guarded(options: Local) -> AsyncGenerator[client.GuardedClient]:
    """The guarded client with what these options allow."""
    async with client.GuardedClient(client.Settings(allowed_ranges=options.allowed)) as made:
        yield made


@contextlib.asynccontextmanager
async def transports(
    options: Local, made: client.GuardedClient, watches: Sequence[enrolment.Enrolment]
) -> AsyncGenerator[ports.Transports]:
    """The transports of a process without an operator, for these Watches. Raises ClusterError."""
    folder = local.Folder(options.credentials)
    inside = any(watch.kind.access is kind_api.Access.CLUSTER for watch in watches)
    if options.kubeconfig is None or not inside:
        yield local.LocalTransports(made, folder, None)
        return
    # The library behind it takes long to import, and most runs have no cluster.
    from vigil.adapters.kube import client as kube_client  # noqa: PLC0415 - see above
    from vigil.adapters.kube import cluster, configuration, errors  # noqa: PLC0415 - see above

    try:
        api = await kube_client.connect(configuration.source(options.kubeconfig), clock.SystemClock())
    except errors.ApiError as error:
        raise ClusterError(str(error)) from error
    async with api:
        yield local.LocalTransports(made, folder, ports.Bound(cluster.ACCOUNT, cluster.ClusterTransport(api)))
