"""`vigil operator`: the process that evaluates the Watches of a cluster. Wiring only."""

import asyncio
import contextlib
import importlib.metadata
import os
import signal
from collections.abc import AsyncGenerator

import click
import prometheus_client
import structlog

from vigil import ports
from vigil.adapters import clock, health, logs, metrics, recorder, settings, sidecar, wire
from vigil.adapters.http import client as http_client
from vigil.adapters.kube import client as kube_client
from vigil.adapters.kube import configuration, errors, lease, secrets, status, transports, watches
from vigil.cli import manifests
from vigil.handlers import intake, process, reactor
from vigil.kind import registry
from vigil.scheduler import reads, scheduler
from vigil.tick import tick

_LOG = structlog.get_logger(__name__)

FAILED = 1


@click.command(name="operator", short_help="Evaluate the Watches of a cluster.")
def command() -> None:
    """Evaluate the Watches of a cluster until SIGTERM or SIGINT.

    Everything is told by the environment, in variables with the prefix VIGIL_; the chart sets them. The exit code is 0
    after a signal, 1 when a part of the process ended by itself, 2 for settings that are not valid.
    """
    try:
        told = settings.load(settings.OperatorSettings)
    except settings.SettingsError as error:
        manifests.fail(str(error))
    if told.sidecar_token_file is None:
        manifests.fail("VIGIL_SIDECAR_TOKEN_FILE is not set: the sidecar takes no wake without a token")
    logs.configure(told.log_level, told.log_format)
    try:
        asyncio.run(_run(told))
    except (registry.KindLoadError, errors.ConfigurationError) as error:
        manifests.fail(str(error))
    except (process.ProcessEnded, errors.ApiError, health.AddressError) as error:
        _LOG.error("the operator ends", why=str(error))
        raise SystemExit(FAILED) from None


async def _run(told: settings.OperatorSettings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    kinds = registry.load(told.kinds or None)
    if told.kubeconfig is not None:
        # kopf logs in by the convention of kubectl.
        os.environ["KUBECONFIG"] = str(told.kubeconfig)
    async with _operator(told, kinds) as operator:
        _LOG.info("the operator starts", kinds=sorted(kinds), namespaces=told.namespaces or "all")
        await operator.run(stop)
    _LOG.info("the operator stopped")


@contextlib.asynccontextmanager
async def _operator(told: settings.OperatorSettings, kinds: registry.Registry) -> AsyncGenerator[process.Process]:
    """Every part of the operator, put together once."""
    system = clock.SystemClock()
    measured = prometheus_client.CollectorRegistry()
    signals = metrics.Metrics(measured, kinds, version=importlib.metadata.version("vigil-operator"))
    source = configuration.source(told.kubeconfig)
    async with contextlib.AsyncExitStack() as stack:
        api = await stack.enter_async_context(await kube_client.connect(source, system))
        guarded = await stack.enter_async_context(_guarded(told))
        delivery = sidecar.SidecarClient(await stack.enter_async_context(_wire(told)))
        found = watches.Watches(api, told.namespaces)
        if not await found.crd_installed():
            raise process.ProcessEnded("the CRD watches.vigil.dev is not installed in this cluster")
        ledger = await stack.enter_async_context(recorder.Recorder(delivery, system).running())
        store = status.StatusWriter(api, system, signals)
        queue = scheduler.Scheduler(
            clock=system,
            transports=transports.ClusterTransports(api, guarded, secrets.Secrets(api, system, told.secret_cache)),
            ticker=tick.Ticker(store, delivery, signals),
            store=store,
            delivery=delivery,
            signals=signals,
            options=scheduler.Options(
                read_limits=reads.ReadLimits(told.probe_timeout, told.probe_requests),
                timer_period=told.timer_interval,
            ),
            ticked=ledger.told,
        )
        operator = process.Process(
            clock=system,
            queue=queue,
            intake_of=intake.Intake(queue, kinds, store),
            list_all=found.all,
            lease=await _lease(told, stack, system, signals),
            reactor_options=reactor.Options(told.namespaces, told.timer_interval, told.finalizer_timeout),
            options=process.Options(told.resync_interval, told.shutdown_timeout),
        )
        served = health.application(measured, live=operator.dead, ready=operator.unready)
        await stack.enter_async_context(health.serve(served, told.metrics_address))
        yield operator


async def _lease(
    told: settings.OperatorSettings, stack: contextlib.AsyncExitStack, system: ports.Clock, signals: ports.Signals
) -> lease.Election | None:
    """The election, with a client of its own; None where this is the only process."""
    if told.lease_namespace is None:
        return None
    api = await stack.enter_async_context(await kube_client.connect(configuration.source(told.kubeconfig), system))
    return lease.Election(
        api,
        system,
        signals,
        lease.Settings(
            told.lease_namespace,
            told.lease_name,
            told.identity,
            told.lease_duration,
            told.lease_renew_deadline,
            told.lease_retry,
        ),
    )


def _guarded(told: settings.OperatorSettings) -> http_client.GuardedClient:
    """The client of all providers, with the ranges and the authorities that the settings allow."""
    bundle = "" if told.ca_file is None else str(told.ca_file)
    try:
        return http_client.GuardedClient(http_client.Settings(told.allowed_addresses, bundle))
    except ValueError as error:
        raise process.ProcessEnded(f"VIGIL_CA_FILE: {error}") from error


def _wire(told: settings.OperatorSettings) -> wire.Wire:
    """The connection to the sidecar."""
    if told.sidecar_token_file is None:
        raise process.ProcessEnded("VIGIL_SIDECAR_TOKEN_FILE is not set: the sidecar takes no wake without a token")
    return wire.Wire(told.sidecar_url, wire.file_token(told.sidecar_token_file), timeout=told.sidecar_timeout)
