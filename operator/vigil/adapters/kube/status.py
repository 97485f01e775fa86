"""The status of a Watch is its checkpoint: written as a whole, to the version that is known, and compared.

1. What is equal to the stored status is not written.
2. A conflict is settled on the object as it is now: gone, or of another generation (the result is dropped), or of the
   same one with other labels or annotations (the same result is written to it).
3. Less came back than was sent: the schema in the cluster is not ours, and the memory cannot be kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar, cast

from vigil import ports
from vigil.adapters.kube import client, errors, known, watches
from vigil.api import status, v1alpha1
from vigil.model import failures, ids, wakes
from vigil.tick import checkpoint

CONCURRENT: Final = 8
TRIES: Final = 5
"""Writes of one status that meet a conflict, or are throttled, before it is left to the next change."""
LONGEST_HOLD: Final[ids.Seconds] = 10.0
"""A throttle that lasts longer is not waited for: the write fails, and is tried again along with the next change."""
DEFAULT_HOLD: Final[ids.Seconds] = 1.0

T = TypeVar("T")
Status: TypeAlias = dict[str, Any]
Render: TypeAlias = Callable[[Mapping[str, Any]], Status]
"""From the status that is stored to the one to be stored."""


class StatusWriter:
    """ports.StateStore over the status of Watches. All methods belong to one event loop."""

    def __init__(self, api: client.ApiClient, clock: ports.Clock, signals: ports.Signals) -> None:
        self._api = api
        self._watches = watches.Watches(api)
        self._clock = clock
        self._signals = signals
        self._newest = known.Newest()
        self._slots = asyncio.Semaphore(CONCURRENT)
        self._held_until: ids.Seconds = 0.0

    def observe(self, watch: Mapping[str, Any]) -> None:
        """Take note of a version of a Watch that an event brought; to be called before the Watch is enrolled."""
        self._newest.observe(watch)

    def forget(self, uid: ids.WatchUid) -> None:
        """The Watch is deleted."""
        self._newest.forget(uid)

    def keep_only(self, uids: Collection[ids.WatchUid]) -> None:
        """Forget all Watches but these, which a list of the cluster has."""
        self._newest.keep_only(uids)

    async def save(self, checkpoint: checkpoint.Checkpoint) -> ports.SaveResult:
        """Write the status after a tick; never raises an ApiError."""

        def render(prior: Mapping[str, Any]) -> Status:
            return status.render(checkpoint, prior, self._clock.now())

        return await self._guarded(checkpoint.watch.ref, render)

    async def write_invalid(self, watch: Mapping[str, Any], path: str, message: str) -> ports.SaveResult:
        """Say in its status that this Watch is not valid, in which field and why; never raises an ApiError."""
        seen = known.Known.of(watch)
        self._newest.observe(watch)

        def render(prior: Mapping[str, Any]) -> Status:
            return status.render_invalid(path, message, seen.generation, prior, self._clock.now())

        return await self._guarded(wakes.WatchRef(seen.uid, seen.namespace, seen.name, seen.generation), render)

    async def _guarded(self, ref: wakes.WatchRef, render: Render) -> ports.SaveResult:
        try:
            result = await self._settled(ref, render)
        except errors.NotFoundError:
            result = ports.SaveResult.GONE
        except errors.ApiError as error:
            self._signals.emit(ports.StatusWriteFailed(_reason(error)))
            return ports.SaveResult.FAILED
        if result is ports.SaveResult.GONE:
            self._newest.forget(ref.uid)
        elif result is ports.SaveResult.PRUNED:
            self._signals.emit(ports.StatusWriteFailed(ports.StatusWriteError.PRUNED))
        return result

    async def _settled(self, ref: wakes.WatchRef, render: Render) -> ports.SaveResult:
        """Write to the newest version, again after each conflict. Raises ApiError: the last conflict is one."""
        target = self._newest.get(ref.uid)
        if target is None or target.generation < ref.generation:
            target = await self._fresh(ref)
        wanted: Status | None = None
        for left in reversed(range(TRIES)):
            if target is None or target.uid != ref.uid or target.deleting:
                return ports.SaveResult.GONE
            if target.generation != ref.generation:
                return ports.SaveResult.STALE
            wanted = render(target.status) if wanted is None else wanted
            if target.status == wanted:
                return ports.SaveResult.SAVED
            try:
                return await self._put(target, wanted)
            except errors.ConflictError:
                if not left:
                    raise
            target = await self._fresh(ref)
        raise AssertionError("the last try returns or raises")

    async def _put(self, target: known.Known, wanted: Status) -> ports.SaveResult:
        body = {
            "apiVersion": v1alpha1.API_VERSION,
            "kind": v1alpha1.KIND,
            "metadata": {
                "namespace": target.namespace,
                "name": target.name,
                "uid": target.uid,
                "resourceVersion": target.version,
            },
            "status": wanted,
        }
        where = watches.path(target.namespace, target.name, "status")
        answer = await self._patiently(lambda: self._api.request("PUT", where, body=body))
        self._newest.observe(answer)
        return ports.SaveResult.SAVED if holds(answer.get("status"), wanted) else ports.SaveResult.PRUNED

    async def _fresh(self, ref: wakes.WatchRef) -> known.Known | None:
        """The Watch of this name as the API server has it now; another one may have taken the name."""
        found = await self._patiently(lambda: self._watches.get(ref.namespace, ref.name))
        return None if found is None else self._newest.replace(found)

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to a request, after the throttles that it meets; none is sent in a pause that was asked for."""
        for left in reversed(range(TRIES)):
            await self._hold()
            try:
                async with self._slots:
                    return await ask()
            except errors.ThrottledError as error:
                pause = DEFAULT_HOLD if error.retry_after is None else error.retry_after
                self._held_until = max(self._held_until, self._clock.monotonic() + pause)
                if not left:
                    raise
        raise AssertionError("the last try returns or raises")

    async def _hold(self) -> None:
        """Wait until the API server may be asked again. Raises ThrottledError where that is too long."""
        pause = self._held_until - self._clock.monotonic()
        if pause > LONGEST_HOLD:
            message = f"the API server asked not to be written to for another {pause:.0f} s"
            raise errors.ThrottledError(failures.Failure(failures.Category.THROTTLED, message, pause))
        if pause > 0:
            await self._clock.sleep(pause)


def holds(stored: object, sent: object) -> bool:
    """Whether all that was sent is in what is stored; more may be."""
    if isinstance(sent, Mapping) and isinstance(stored, Mapping):
        there = cast(Mapping[str, object], stored)
        return all(
            name in there and holds(there[name], value) for name, value in cast(Mapping[str, object], sent).items()
        )
    if isinstance(sent, list) and isinstance(stored, list):
        wanted, found = cast(Sequence[object], sent), cast(Sequence[object], stored)
        return len(wanted) == len(found) and all(holds(one, other) for one, other in zip(found, wanted, strict=True))
    return stored == sent


def _reason(error: errors.ApiError) -> ports.StatusWriteError:
    reasons: Sequence[tuple[type[errors.ApiError], ports.StatusWriteError]] = (
        (errors.ConflictError, ports.StatusWriteError.CONFLICT),
        (errors.DeniedError, ports.StatusWriteError.FORBIDDEN),
        (errors.InvalidError, ports.StatusWriteError.INVALID),
        (errors.ThrottledError, ports.StatusWriteError.UNAVAILABLE),
        (errors.UnavailableError, ports.StatusWriteError.UNAVAILABLE),
        (errors.UnreachableError, ports.StatusWriteError.UNAVAILABLE),
    )
    return next((reason for kind, reason in reasons if isinstance(error, kind)), ports.StatusWriteError.UNKNOWN)
