"""`vigil run`: the same scheduler, engine and sidecar over files, with no cluster."""

import asyncio
import contextlib
import dataclasses
import os
import pathlib
import signal
from collections.abc import AsyncGenerator, Sequence
from typing import Final

import click

from vigil.adapters import clock, files, local, logs, signals
from vigil.cli import embedded, manifests, report
from vigil.cli import local as local_options
from vigil.kind import transport
from vigil.model import ids
from vigil.scheduler import scheduler
from vigil.tick import enrolment, memory, tick

FAILED: Final = 1
TIMED_OUT: Final = 124


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
@click.option("--timeout", type=float, metavar="SECONDS", help="End after so long, with exit code 124.")
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
    succeeded, 3 when one failed, 4 when one was exhausted, expired or stalled, 124 after --timeout; otherwise it is 0,
    1 for an error, and 2 for a manifest that is not valid.
    """
    if once and until_done:
        manifests.fail("--once and --until-done exclude each other")
    watches = manifests.load(filenames, manifests.kinds())
    options = local_options.parsed(allow_address, credentials, kubeconfig)
    logs.configure("WARNING", "console")
    wanted = _Wanted(state_dir, once, until_done, as_json, timeout, listen, options)
    try:
        code = asyncio.run(_run(watches, wanted))
    except (files.StateDirError, embedded.SidecarError) as error:
        manifests.fail(str(error), code=FAILED)
    except transport.ReadError as error:
        manifests.fail(error.failure.message, code=FAILED)
    raise SystemExit(code)


async def _run(watches: Sequence[enrolment.Enrolment], wanted: _Wanted) -> int:
    async with _parts(wanted) as parts:
        for name in parts.store.archive_others({watch.ref.uid for watch in watches}):
            click.echo(f"archived the state of a Watch that is in no file any more: {name}", err=True)
        for watch in watches:
            parts.queue.enrol(watch, parts.store.load(watch))
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        return await _work(parts, [watch.ref.uid for watch in watches], wanted, stop)


@dataclasses.dataclass(frozen=True, slots=True)
class _Parts:
    store: files.FileStore
    queue: scheduler.Scheduler
    ended: asyncio.Event


@contextlib.asynccontextmanager
async def _parts(wanted: _Wanted) -> AsyncGenerator[_Parts]:
    """The scheduler with everything that it needs, put together once."""
    system, silent = clock.SystemClock(), signals.Silent()
    reporter = report.Reporter(click.echo, as_json=wanted.as_json)
    ended = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        store = stack.enter_context(files.FileStore.opened(wanted.state_dir, system, silent))
        guarded = await stack.enter_async_context(local_options.guarded(wanted.local))
        folder = local.Folder(wanted.local.credentials)
        sidecar = await stack.enter_async_context(
            embedded.serving(wanted.state_dir, wanted.listen, system, guarded, folder)
        )
        if not wanted.as_json and not wanted.once:
            click.echo(
                f"sessions attach at {sidecar.url}: vigil attach SESSION --state-dir {wanted.state_dir} -- COMMAND"
            )

        def told(known: memory.Memory) -> None:
            reporter.tell(known, system.now())
            ended.set()

        queue = scheduler.Scheduler(
            clock=system,
            transports=await stack.enter_async_context(local_options.transports(wanted.local, guarded)),
            ticker=tick.Ticker(store, sidecar.delivery, silent),
            store=store,
            delivery=sidecar.delivery,
            signals=silent,
            options=scheduler.Options(spread=0.0),
            ticked=told,
        )
        yield _Parts(store, queue, ended)


async def _work(parts: _Parts, uids: Sequence[ids.WatchUid], wanted: _Wanted, stop: asyncio.Event) -> int:
    """Run the scheduler until there is a reason to end, and give the exit code."""
    if wanted.once:
        await parts.queue.round()
        return 0
    waits = {
        asyncio.create_task(parts.queue.run()): "the scheduler",
        asyncio.create_task(stop.wait()): "a signal",
    }
    if wanted.until_done:
        waits[asyncio.create_task(_all_ended(parts, uids))] = "done"
    try:
        done, _ = await asyncio.wait(waits, timeout=wanted.timeout, return_when=asyncio.FIRST_COMPLETED)
        reasons = {waits[task] for task in done}
        for task in done:
            task.result()
        await parts.queue.drain()
    finally:
        for task in waits:
            task.cancel()
        await asyncio.wait(waits)
    known = _known(parts.queue, uids)
    if "done" in reasons:
        return report.exit_code(known)
    return TIMED_OUT if not reasons else 0


async def _all_ended(parts: _Parts, uids: Sequence[ids.WatchUid]) -> None:
    """Wait until every Watch has ended, and somebody was told of it."""
    while not all(known.state.quiet_for_good for known in _known(parts.queue, uids)):
        parts.ended.clear()
        await parts.ended.wait()


def _known(queue: scheduler.Scheduler, uids: Sequence[ids.WatchUid]) -> list[memory.Memory]:
    return [known for uid in uids if (known := queue.memory_of(uid)) is not None]
