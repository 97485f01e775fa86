"""From what kopf saw to what the scheduler holds: level-triggered, so that any message can be lost or come twice."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from vigil.api import enrol, manifest, problems, restore, v1alpha1
from vigil.handlers import messages
from vigil.kind import registry
from vigil.model import ids
from vigil.scheduler import scheduler
from vigil.tick import enrolment

_LOG = logging.getLogger(__name__)


class Cluster(Protocol):
    """What the intake needs of the API server."""

    def observe(self, watch: Mapping[str, Any]) -> object:
        """Remember the newest version of a Watch, for the next write of its status."""
        ...

    def forget(self, uid: ids.WatchUid) -> None:
        """Forget a Watch that is gone."""
        ...

    async def write_invalid(self, watch: Mapping[str, Any], path: str, message: str) -> object:
        """Say in the status of a Watch what is wrong with its spec; writes only on change and never raises."""
        ...


class Intake:
    """One consumer of all messages, in their order; `relisted` is set when the stream of events began anew."""

    def __init__(self, queue_of: scheduler.Scheduler, kinds: registry.Registry, cluster: Cluster) -> None:
        self._scheduler = queue_of
        self._kinds = kinds
        self._cluster = cluster
        self._messages: asyncio.Queue[messages.Message] = asyncio.Queue()
        self.relisted = asyncio.Event()
        self._known: dict[str, tuple[object, ...]] = {}

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
            await self.drop(message.uid)
        finally:
            if message.done is not None and not message.done.done():
                message.done.set_result(None)

    async def _take(self, message: messages.Seen | messages.Ticked) -> None:
        try:
            await self.reconcile(message.uid, message.body)
        except Exception:
            # One Watch must not stop the intake of the others; its next timer brings it again.
            _LOG.exception("the Watch %s could not be taken in", message.uid)
        if isinstance(message, messages.Ticked):
            self._scheduler.beat(ids.WatchUid(message.uid))

    async def resync(self, bodies: Sequence[Mapping[str, Any]]) -> None:
        """Compare what is enrolled with all Watches that there are: kopf does not say what was deleted during a 410."""
        present = {str(body["metadata"]["uid"]): body for body in bodies}
        for gone in self._scheduler.uids() - present.keys():
            await self.drop(gone)
        for uid, body in present.items():
            await self.reconcile(uid, body)

    async def reconcile(self, uid: str, body: Mapping[str, Any]) -> None:
        """Make the scheduler hold the Watch as it is now."""
        if "deletionTimestamp" in body["metadata"]:
            await self.drop(uid)
            return
        self._cluster.observe(body)
        mark = _mark(body)
        if self._known.get(uid) == mark:
            return
        try:
            watch = enrol.enrol(manifest.parse_watch(body), self._kinds)
        except problems.InvalidManifest as error:
            await self._refuse(uid, body, error)
        else:
            self._accept(watch, body)
        self._known[uid] = mark

    async def drop(self, uid: str) -> None:
        """Hold this Watch no longer."""
        self._known.pop(uid, None)
        self._cluster.forget(ids.WatchUid(uid))
        await self._scheduler.drop(ids.WatchUid(uid))

    def _accept(self, watch: enrolment.Enrolment, body: Mapping[str, Any]) -> None:
        self._scheduler.enrol(watch, restore.restore(body.get("status"), watch))

    async def _refuse(self, uid: str, body: Mapping[str, Any], error: problems.InvalidManifest) -> None:
        await self._scheduler.drop(ids.WatchUid(uid))
        _LOG.warning("the Watch %s is invalid: %s", uid, error)
        await self._cluster.write_invalid(body, error.path, error.message)


def _mark(body: Mapping[str, Any]) -> tuple[object, ...]:
    """What of a Watch matters to the scheduler: its spec and Vigil's annotations, never its status."""
    metadata = body["metadata"]
    annotations: Mapping[str, Any] = metadata.get("annotations") or {}
    ours = tuple(annotations.get(name) for name in (v1alpha1.POKE, v1alpha1.SILENCE_UNTIL, v1alpha1.RESET))
    return (metadata.get("generation"), ours)
