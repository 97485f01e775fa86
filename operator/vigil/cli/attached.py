"""The life of an attached session:

it renews itself, claims turns, keeps each while the command runs, and completes it.
"""

import asyncio
import contextlib
import dataclasses
import os
import pathlib
import tempfile
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Final, TypeVar

import click

from vigil import ports
from vigil.adapters import session
from vigil.api import turn
from vigil.cli import turnrun
from vigil.model import failures, ids

WAIT: Final[ids.Seconds] = 30.0
FIRST_RETRY: Final[ids.Seconds] = 1.0
LAST_RETRY: Final[ids.Seconds] = 30.0
STOP_SECONDS: Final = 10.0
FATAL: Final = frozenset(
    {failures.Category.AUTH, failures.Category.FORBIDDEN, failures.Category.CONFIG, failures.Category.MALFORMED}
)
"""What is not better after a while: the session ends with it."""

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class How:
    """The options of the session. Started `at_terminal`, its start is itself a turn of a user's."""

    ttl: int
    max_turns: int | None = None
    user_turn_file: pathlib.Path | None = None
    at_terminal: bool = False


class Attached:
    """One attached session. `stop` ends it after the turn under way; called again, it ends that turn's command."""

    def __init__(self, client: session.SessionClient, clock: ports.Clock, how: How, command: turnrun.Command) -> None:
        self._client = client
        self._clock = clock
        self._how = how
        self._command = command
        self._activity = turn.Activity.IDLE
        self._stopping = asyncio.Event()
        self._started = clock.now()
        self._waking = turn.Waking.ACTIVE
        self._unreachable = False

    def stop(self) -> None:
        """Take no more turns; the second time, end the command too."""
        if self._stopping.is_set():
            self._command.terminate()
        self._stopping.set()

    async def run(self) -> int:
        """Take turns until stopped or until all are taken; the number that were completed. Raises DeliveryError."""
        await self._until_reached(self._attach)
        renewing = asyncio.create_task(self._renew_session())
        try:
            return await self._turns(renewing)
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            with contextlib.suppress(ports.DeliveryError):
                await self._client.detach()

    async def _turns(self, renewing: asyncio.Task[None]) -> int:
        taken, completed = 0, 0
        while not self._stopping.is_set() and (self._how.max_turns is None or taken < self._how.max_turns):
            if renewing.done():
                renewing.result()
            found = await self._next(renewing)
            if found is None:
                continue
            if self._stopping.is_set():
                await self._release(found)
                break
            taken += 1
            completed += await self._take(found)
        return completed

    async def _next(self, renewing: asyncio.Task[None]) -> turn.Turn | None:
        """Wait for a turn. When told to stop, detach: that answers the poll, and what it claimed before is not lost."""
        request = uuid.uuid4().hex
        polling = asyncio.create_task(self._until_reached(lambda: self._poll(request)))
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait((polling, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not polling.done():
                renewing.cancel()
                with contextlib.suppress(ports.DeliveryError):
                    await self._client.detach()
                await asyncio.wait((polling,), timeout=STOP_SECONDS)
            return polling.result() if polling.done() else None
        except ports.DeliveryError:
            if self._stopping.is_set():
                return None
            raise
        finally:
            for each in (polling, stopping):
                each.cancel()
            await asyncio.gather(polling, stopping, return_exceptions=True)

    async def _poll(self, request: str) -> turn.Turn | None:
        try:
            return await self._client.next(WAIT, request)
        except session.NotAttachedError:
            if not self._stopping.is_set():
                await self._attach()
            return None

    async def _attach(self) -> None:
        known = await self._client.attach(self._how.ttl, self._activity, self._last_user_turn())
        if known.waking is not self._waking:
            self._waking = known.waking
            suspended = known.waking is turn.Waking.SUSPENDED
            say(
                f"{known.turns_in_row} automatic turns in a row: no more until a turn of a user's"
                if suspended
                else "automatic turns go on"
            )

    def _last_user_turn(self) -> ids.Instant | None:
        times = [self._started] if self._how.at_terminal else []
        if self._how.user_turn_file is not None:
            with contextlib.suppress(OSError):
                times.append(self._how.user_turn_file.stat().st_mtime)
        return max(times, default=None)

    async def _renew_session(self) -> None:
        while True:
            await self._clock.sleep(self._how.ttl / 3)
            await self._until_reached(self._attach)

    async def _set_activity(self, activity: turn.Activity) -> None:
        """Say it at once; should that fail, the next renewal says it."""
        self._activity = activity
        with contextlib.suppress(ports.DeliveryError):
            await self._attach()

    async def _take(self, taken: turn.Turn) -> int:
        """Run the command for a turn: 1 when it was completed."""
        await self._set_activity(turn.Activity.BUSY)
        keeping = asyncio.create_task(self._keep(taken))
        try:
            async with self.environment(taken) as environment:
                result = await self._command.run(taken.envelope, environment)
            if result.code != 0:
                say(f"the command ended with {result.code}: the turn is given back")
                await self._release(taken)
                return 0
            return await self._complete(taken, result.report)
        except OSError as error:
            say(f"the command cannot be run: {error.strerror}")
            await self._release(taken)
            raise ports.DeliveryError(
                failures.Failure(failures.Category.CONFIG, f"the command cannot be run: {error.strerror}")
            ) from error
        finally:
            keeping.cancel()
            await asyncio.gather(keeping, return_exceptions=True)
            if not self._stopping.is_set():
                await self._set_activity(turn.Activity.IDLE)

    async def _keep(self, taken: turn.Turn) -> None:
        """Renew the lease until cancelled, or until the turn is lost: the command is then left to end by itself."""
        while True:
            await self._clock.sleep(taken.lease_seconds / 3)
            try:
                await self._until_reached(lambda: self._client.renew(taken))
            except session.StaleTurnError as error:
                say(f"the turn is lost: {error}")
                return

    async def _complete(self, taken: turn.Turn, report: turn.Report) -> int:
        try:
            await self._until_reached(lambda: self._client.complete(taken, report), within=taken.lease_seconds)
        except session.StaleTurnError as error:
            say(f"the turn was not completed: {error}")
            return 0
        return 1

    async def _release(self, taken: turn.Turn) -> None:
        """Best effort: without it the lease runs out."""
        with contextlib.suppress(ports.DeliveryError, session.StaleTurnError):
            await self._client.release(taken)

    @contextlib.asynccontextmanager
    async def environment(self, taken: turn.Turn) -> AsyncGenerator[dict[str, str]]:
        """What the command is told beside the envelope; the file of the evidence is there until the context ends."""
        main = taken.main
        with tempfile.TemporaryDirectory(prefix="vigil-") as folder:
            path = taken.evidence_path
            if not path or not os.access(path, os.R_OK):
                path = await self._fetch(taken, pathlib.Path(folder) / "evidence.txt")
            yield {
                "VIGIL_WAKE_ID": main.wake_id,
                "VIGIL_WATCH": f"{main.watch.namespace}/{main.watch.name}",
                "VIGIL_REASON": main.reason,
                "VIGIL_EVIDENCE": path,
            }

    async def _fetch(self, taken: turn.Turn, path: pathlib.Path) -> str:
        """The evidence as a file of ours: the sidecar's may be on another machine."""
        try:
            _keep(path, await self._client.evidence(taken))
        except (ports.DeliveryError, OSError) as error:
            say(f"the evidence cannot be fetched: {error}")
            return ""
        return str(path)

    async def _until_reached(self, ask: Callable[[], Coroutine[Any, Any, T]], within: ids.Seconds | None = None) -> T:
        """Ask until there is an answer, at most so many seconds; what time does not heal is raised at once."""
        begun, pause = self._clock.monotonic(), FIRST_RETRY
        while True:
            try:
                answer = await ask()
            except ports.DeliveryError as error:
                over = within is not None and self._clock.monotonic() - begun + pause > within
                given_up = over or (within is None and self._stopping.is_set())
                if error.failure.category in FATAL or given_up:
                    raise
                self._say_once(error.failure.message)
            else:
                self._say_once(None)
                return answer
            await self._clock.sleep(pause)
            pause = min(LAST_RETRY, pause * 2)

    def _say_once(self, trouble: str | None) -> None:
        if trouble is not None and not self._unreachable:
            say(f"{trouble}; trying again")
        if trouble is None and self._unreachable:
            say("the sidecar is reached again")
        self._unreachable = trouble is not None


def _keep(path: pathlib.Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


def say(text: str) -> None:
    """A line for whoever watches."""
    click.echo(f"vigil: {text}", err=True)
