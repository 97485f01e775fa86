"""From what kopf saw to what the scheduler holds: level-triggered, so that any message can be lost or come twice."""

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from vigil import ports
from vigil.api import enrol, manifest, problems, restore, v1alpha1
from vigil.handlers import messages
from vigil.kind import registry
from vigil.model import ids
from vigil.scheduler import scheduler
from vigil.tick import enrolment

_LOG = logging.getLogger(__name__)

GONE_REMEMBERED: Final = 10_000
"""kopf is not told of what is deleted during a 410, and its timer goes on: so many of them are known to be dead."""


class Cluster(Protocol):
    """What the intake needs of the API server."""

    def observe(self, watch: Mapping[str, Any]) -> object:
        """Remember the newest version of a Watch, for the next write of its status."""
        ...

    def forget(self, uid: ids.WatchUid) -> None:
        """Forget a Watch that is gone."""
        ...

    async def write_invalid(self, watch: Mapping[str, Any], path: str, message: str) -> ports.SaveResult:
        """Say in the status of a Watch what is wrong with its spec; writes only on change and never raises."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class _Taken:
    """What was last taken in of a Watch: the mark of what matters, whether it was valid, and its version."""

    mark: tuple[object, ...]
    valid: bool
    version: int


class Intake:
    """One consumer of all messages, in their order; `relisted` is set when the stream of events began anew."""

    def __init__(self, queue_of: scheduler.Scheduler, kinds: registry.Registry, cluster: Cluster) -> None:
        self._scheduler = queue_of
        self._kinds = kinds
        self._cluster = cluster
        self._messages: asyncio.Queue[messages.Message] = asyncio.Queue()
        self.relisted = asyncio.Event()
        self._taken: dict[str, _Taken] = {}
        self._gone: dict[str, None] = {}

    def put(self, message: messages.Message) -> None:
        """Take a message; only in the loop of the scheduler."""
        self._messages.put_nowait(message)

    async def run(self) -> None:
        """Work off messages until cancelled."""
        async with asyncio.TaskGroup() as leavings:
            while True:
                message = await self._messages.get()
                if isinstance(message, messages.Relisted):
                    self.relisted.set()
                elif isinstance(message, messages.Seen) and message.leaving:
                    # Taking a wake back may take the sidecar its time; the other Watches do not wait for that.
                    leavings.create_task(self._leave(message))
                else:
                    await self._take(message)

    async def _leave(self, message: messages.Seen) -> None:
        try:
            self._let_go(message.uid, message.body)
            await self._scheduler.drop(ids.WatchUid(message.uid))
        except Exception:
            # A wake that was not taken back completes into nothing; the deletion and the other Watches go on.
            _LOG.exception("the Watch %s is deleted, and its wake could not be taken back", message.uid)
        finally:
            if message.done is not None:
                # Its handler may give up waiting at this very moment, in its own thread.
                with contextlib.suppress(concurrent.futures.InvalidStateError):
                    message.done.set_result(None)

    def _let_go(self, uid: str, body: Mapping[str, Any]) -> None:
        """Drop a Watch that is being deleted; one that this process never held is held first, for its queued wake."""
        if uid not in self._taken and uid not in self._gone:
            try:
                self._accept(enrol.enrol(manifest.parse_watch(body), self._kinds), body)
            except problems.InvalidManifest:
                _LOG.info("the Watch %s is deleted and is not valid: no wake of it is taken back", uid)
        self.drop(uid)

    async def _take(self, message: messages.Seen | messages.Ticked) -> None:
        if isinstance(message, messages.Ticked):
            if message.uid in self._gone:
                return
        else:
            self._gone.pop(message.uid, None)
        await self._reconcile_safely(message.uid, message.body)
        if isinstance(message, messages.Ticked):
            self._scheduler.beat(ids.WatchUid(message.uid))

    async def _reconcile_safely(self, uid: str, body: Mapping[str, Any], *, listed: bool = False) -> None:
        try:
            await self.reconcile(uid, body, listed=listed)
        except Exception:
            # One Watch must not stop the intake of the others; its next timer brings it again.
            _LOG.exception("the Watch %s could not be taken in", uid)

    async def resync(self, list_all: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]) -> None:
        """Compare what is held with all Watches that there are: kopf does not say what was deleted during a 410.

        What comes in while they are listed is newer than the list, and is left alone.
        """
        taken, held = dict(self._taken), self._scheduler.uids()
        present = {str(body["metadata"]["uid"]): body for body in await list_all()}
        for gone in (held | taken.keys()) - present.keys():
            self.drop(gone)
        for uid, body in present.items():
            if self._taken.get(uid) is taken.get(uid):
                await self._reconcile_safely(uid, body, listed=True)

    async def reconcile(self, uid: str, body: Mapping[str, Any], *, listed: bool = False) -> None:
        """Make the scheduler hold the Watch as it is now.

        A version that is older than what was taken in changes nothing, unless it was just `listed`: the store of the
        cluster may have been restored.
        """
        if "deletionTimestamp" in body["metadata"]:
            self._let_go(uid, body)
            return
        mark, version, before = _mark(body), _version(body), self._taken.get(uid)
        if before is not None and version < before.version and not listed:
            return
        self._cluster.observe(body)
        if before is not None and before.mark == mark and (ids.WatchUid(uid) in self._scheduler or not before.valid):
            self._taken[uid] = dataclasses.replace(before, version=version)
            return
        try:
            watch = enrol.enrol(manifest.parse_watch(body), self._kinds)
        except problems.InvalidManifest as error:
            if await self._refuse(uid, body, error):
                self._taken[uid] = _Taken(mark, False, version)
        else:
            self._accept(watch, body)
            self._taken[uid] = _Taken(mark, True, version)

    def drop(self, uid: str) -> None:
        """Hold this Watch no longer, and know that it is gone; its wake is taken back in the background."""
        self._taken.pop(uid, None)
        self._gone[uid] = None
        if len(self._gone) > GONE_REMEMBERED:
            self._gone.pop(next(iter(self._gone)))
        self._cluster.forget(ids.WatchUid(uid))
        self._scheduler.release(ids.WatchUid(uid))

    def _accept(self, watch: enrolment.Enrolment, body: Mapping[str, Any]) -> None:
        self._scheduler.enrol(watch, restore.restore(body.get("status"), watch))

    async def _refuse(self, uid: str, body: Mapping[str, Any], error: problems.InvalidManifest) -> bool:
        """Whether its status says now that it is invalid; where not, its next timer tries again."""
        self._scheduler.release(ids.WatchUid(uid))
        _LOG.warning("the Watch %s is invalid: %s", uid, error)
        return await self._cluster.write_invalid(body, error.path, error.message) is not ports.SaveResult.FAILED


def _mark(body: Mapping[str, Any]) -> tuple[object, ...]:
    """What of a Watch matters to the scheduler: its spec and Vigil's annotations, never its status."""
    metadata = body["metadata"]
    annotations: Mapping[str, Any] = metadata.get("annotations") or {}
    ours = tuple(annotations.get(name) for name in (v1alpha1.POKE, v1alpha1.SILENCE_UNTIL, v1alpha1.RESET))
    return (metadata.get("generation"), ours)


def _version(body: Mapping[str, Any]) -> int:
    """The version as a number, which tells the older of two apart; 0 where it is none."""
    version = str(body["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0
