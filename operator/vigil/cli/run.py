"""`vigil run`: the same scheduler, engine and sidecar over files, with no cluster."""

import asyncio
import contextlib
import dataclasses
import os
import pathlib
import shlex
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import click

from vigil import ports
from vigil.adapters import clock, files, local, logs, recorder, signals
from vigil.cli import embedded, manifests, report
from vigil.cli import local as local_options
from vigil.model import ids
from vigil.scheduler import scheduler
from vigil.tick import enrolment, memory, tick

FAILED: Final = 1
TIMED_OUT: Final = 124

DRAIN_SECONDS: Final[ids.Seconds] = 20.0
"""How long reads that are under way may take to end."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Wanted:
    """The options of the command."""

    state_dir: pathlib.Path
    once: bool
    until_done: bool
    as_json: bool
    timeout: float | None
    listen: str
    local: local_options.Local


def _default_state_dir() -> pathlib.Path:
    return pathlib.Path(os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local" / "state") / "vigil"


@click.command(name="run", short_help="Watch without a cluster.")
@manifests.files_option
@click.option(
    "--state-dir",
    type=click.Path(path_type=pathlib.Path, file_okay=False),
    default=_default_state_dir,
    show_default="~/.local/state/vigil",
    help="Where the memory of the Watches, their evidence and the sidecar's database are kept.",
)
@click.option("--once", is_flag=True, help="Read and decide once, and end.")
@click.option("--until-done", is_flag=True, help="End when every Watch has ended and was told.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="End after so long, with exit code 124.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a verdict.")
@click.option(
    "--listen",
    default="127.0.0.1:0",
    show_default=True,
    metavar="HOST:PORT",
    help="Where sessions attach; port 0 takes a free one. vigil attach --state-dir finds it.",
)
@local_options.local_options
def command(
    *,
    filenames: tuple[str, ...],
    state_dir: pathlib.Path,
    once: bool,
    until_done: bool,
    timeout: float | None,
    as_json: bool,
    listen: str,
    allow_address: tuple[str, ...],
    credentials: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
) -> None:
    """Watch what the Watches in FILE name, with no cluster, until SIGTERM or SIGINT.

    The state of Watches that are in no file any more is archived. The exit code of --until-done is 0 when all
    succeeded, 3 when one failed, 4 when one was exhausted, expired or stalled. 124 is after --timeout, 1 for an error
    (with --once also for a state that could not be stored), 2 for a manifest that is not valid, otherwise 0.
    """
    if once and until_done:
        manifests.fail("--once and --until-done exclude each other")
    watches = manifests.load(filenames, manifests.kinds())
    options = local_options.parsed(allow_address, credentials, kubeconfig)
    logs.configure("WARNING", "console")
    wanted = _Wanted(state_dir, once, until_done, as_json, timeout, listen, options)
    try:
        code = asyncio.run(_run(watches, wanted))
    except (files.StateDirError, embedded.SidecarError, local_options.ClusterError) as error:
        manifests.fail(str(error), code=FAILED)
    raise SystemExit(code)


async def _run(watches: Sequence[enrolment.Enrolment], wanted: _Wanted) -> int:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with _parts(watches, wanted) as parts:
        for gone in parts.store.archive_others({watch.ref.uid for watch in watches}):
            _note(f"archived the state of {gone.name}, which is in no file any more")
            if gone.wake is not None:
                await parts.delivery.withdraw(gone.wake)
        for watch in watches:
            parts.queue.enrol(watch, parts.store.load(watch))
        uids = [watch.ref.uid for watch in watches]
        for known in _known(parts.queue, uids):
            parts.reporter.begin(known)
        return await _work(parts, uids, wanted, stop)


@dataclasses.dataclass(frozen=True, slots=True)
class _Parts:
    store: files.FileStore
    delivery: ports.Delivery
    queue: scheduler.Scheduler
    reporter: report.Reporter
    told: asyncio.Event


@contextlib.asynccontextmanager
async def _parts(watches: Sequence[enrolment.Enrolment], wanted: _Wanted) -> AsyncGenerator[_Parts]:
    """The scheduler with everything that it needs, put together once."""
    system, silent = clock.SystemClock(), signals.Silent()
    resume = shlex.join(["vigil", *sys.argv[1:]])
    reporter = report.Reporter(click.echo, _note, resume=resume, as_json=wanted.as_json)
    happened = asyncio.Event()

    async with contextlib.AsyncExitStack() as stack:
        store = stack.enter_context(files.FileStore.opened(wanted.state_dir, system, silent))
        guarded = await stack.enter_async_context(local_options.guarded(wanted.local))
        folder = local.Folder(wanted.local.credentials)
        sidecar = await stack.enter_async_context(
            embedded.serving(wanted.state_dir, wanted.listen, system, guarded, folder)
        )
        ledger = await stack.enter_async_context(recorder.Recorder(sidecar.ledger, system).running())

        def told(known: memory.Memory) -> None:
            ledger.told(known)
            reporter.tell(known, system.now())
            happened.set()

        queue = scheduler.Scheduler(
            clock=system,
            transports=await stack.enter_async_context(local_options.transports(wanted.local, guarded, watches)),
            ticker=tick.Ticker(store, sidecar.delivery, silent),
            store=store,
            delivery=sidecar.delivery,
            signals=silent,
            options=scheduler.Options(spread=0.0),
            ticked=told,
        )
        if not wanted.as_json and not wanted.once and any(watch.deliver is not None for watch in watches):
            attach = shlex.join(["vigil", "attach", "SESSION", "--state-dir", str(wanted.state_dir)])
            click.echo(f"sessions attach at {sidecar.url}: {attach} -- COMMAND")
        yield _Parts(store, sidecar.delivery, queue, reporter, happened)


async def _work(parts: _Parts, uids: Sequence[ids.WatchUid], wanted: _Wanted, stop: asyncio.Event) -> int:
    """Run the scheduler until there is a reason to end, and give the exit code."""
    working = parts.queue.round() if wanted.once else parts.queue.run()
    waits = {asyncio.create_task(working): "the scheduler", asyncio.create_task(stop.wait()): "a signal"}
    if wanted.until_done:
        waits[asyncio.create_task(_all_over(parts, uids))] = "done"
    try:
        done, _ = await asyncio.wait(waits, timeout=wanted.timeout, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_SECONDS):
                await parts.queue.drain()
    finally:
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)
    return _code({waits[task] for task in done}, _known(parts.queue, uids))


def _code(reasons: set[str], known: list[memory.Memory]) -> int:
    if "done" in reasons:
        return report.exit_code(known)
    if not reasons:
        return TIMED_OUT
    if "the scheduler" in reasons and any(one.saved is None and not report.over(one) for one in known):
        # One round that could not be stored: its news waits for the next one.
        return FAILED
    return 0


async def _all_over(parts: _Parts, uids: Sequence[ids.WatchUid]) -> None:
    """Wait until nothing will come of any Watch any more."""
    while not all(report.over(known) for known in _known(parts.queue, uids)):
        parts.told.clear()
        await parts.told.wait()


def _known(queue: scheduler.Scheduler, uids: Sequence[ids.WatchUid]) -> list[memory.Memory]:
    return [known for uid in uids if (known := queue.memory_of(uid)) is not None]


def _note(text: str) -> None:
    """Something beside the result, so that what reads the result does not read it."""
    click.echo(text, err=True)
