"""Which replica is the active one, by a Lease: never two at once, and none that does not know.

1. A holder is active until `renew_deadline` after it sent its last good renewal, by its own monotonic clock.
2. A standby takes over when it has seen the same version for the holder's whole `duration`, by its own monotonic clock,
   or when the Lease has no holder. No clock is ever compared with another's: the times in the Lease are for people.
3. Every write names the version that was read, so that of two that try only one succeeds.
4. A holder that is in doubt stops: a Lease that is gone or held by another ends it at once, a silent API server at the
   deadline, which is before the duration is over.
"""

import asyncio
import dataclasses
import datetime
import logging
import math
import secrets
from collections.abc import Mapping
from typing import Any, Final

from vigil import ports
from vigil.adapters.kube import client, errors
from vigil.model import ids

RELEASE_TIMEOUT: Final[ids.Seconds] = 2.0

_LOG = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Which Lease, and its times in seconds; `retry` < `renew_deadline` < `duration`.

    `identity` names the replica for people, such as its pod; a process adds a part of its own to it.
    """

    namespace: str
    name: str
    identity: str
    duration: ids.Seconds = 15.0
    renew_deadline: ids.Seconds = 10.0
    retry: ids.Seconds = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError("retry must be shorter than renew_deadline, and that shorter than duration")


@dataclasses.dataclass(frozen=True, slots=True)
class _Record:
    """A Lease as it is stored."""

    uid: str
    version: str
    holder: str
    duration: ids.Seconds
    acquired: str
    transitions: int


class Election:
    """One candidate: `acquire`, then work until `lost`, and `release` at the end. It is for one run.

    It needs a client of its own: a renewal must not wait for a connection that a long list has.
    """

    def __init__(self, api: client.ApiClient, clock: ports.Clock, signals: ports.Signals, settings: Settings) -> None:
        self._api = api
        self._clock = clock
        self._signals = signals
        self._settings = settings
        # Two processes on one machine, or two containers of one pod, must not take each other for themselves.
        self.identity: Final = f"{settings.identity}_{secrets.token_hex(4)}"
        self.lost: Final = asyncio.Event()
        self.why_lost = ""
        self._path = client.path(
            "apis", "coordination.k8s.io", "v1", "namespaces", settings.namespace, "leases", settings.name
        )
        self._record: _Record | None = None
        self._seen_at: ids.Seconds = 0.0
        self._active_until: ids.Seconds | None = None
        self._renewing: asyncio.Task[None] | None = None

    @property
    def leading(self) -> bool:
        """Whether this replica is the active one now; false from the deadline on, even before `lost` is set."""
        return self._active_until is not None and self._clock.monotonic() < self._active_until

    @property
    def holder(self) -> str:
        """The identity of whoever held the Lease when it was last read, empty for nobody."""
        return "" if self._record is None else self._record.holder

    async def acquire(self) -> None:
        """Wait as a standby until this replica is the active one, and renew the Lease from then on.

        Raises ApiError where waiting does not help: the Lease may not be read or written, or has no namespace.
        """
        while not await self._tried():
            await self._clock.sleep(self._settings.retry)
        self._renewing = asyncio.create_task(self._renew())
        self._renewing.add_done_callback(self._stopped)
        self._signals.emit(ports.LeadershipChanged(leading=True))

    async def release(self) -> None:
        """Give the Lease back, so that a standby takes over at its next look; never raises an ApiError."""
        if self._renewing is not None:
            self._renewing.cancel()
            await asyncio.gather(self._renewing, return_exceptions=True)
            self._renewing = None
        if self._active_until is None:
            return
        self._ended()
        try:
            async with asyncio.timeout(RELEASE_TIMEOUT):
                await self._give_back()
        except (errors.ApiError, TimeoutError) as error:
            _LOG.warning("the Lease could not be given back, and a standby waits until it is over: %s", error)

    # --- standing by -----------------------------------------------------------------------------------------------

    async def _tried(self) -> bool:
        """Whether the Lease is ours after one look at it."""
        try:
            await self._look()
            record = self._record
            if record is None:
                return await self._take(None, transitions=0)
            if record.holder and record.holder != self.identity and not self._over(record):
                return False
            return await self._take(record, record.transitions + (record.holder != self.identity))
        except errors.ConflictError:
            return False
        except errors.ApiError as error:
            if not error.failure.heals:
                raise
            _LOG.warning("the Lease could not be looked at: %s", error.message)
            return False

    async def _look(self) -> None:
        """Read the Lease, and note since when it is of this version."""
        try:
            found = _record(await self._api.request("GET", self._path, timeout=self._patience))
        except errors.NotFoundError:
            found = None
        if found is None or self._record is None or found.version != self._record.version:
            self._seen_at = self._clock.monotonic()
        self._record = found

    def _over(self, record: _Record) -> bool:
        return self._clock.monotonic() - self._seen_at >= record.duration

    async def _take(self, record: _Record | None, transitions: int) -> bool:
        """Write ourselves into the Lease. Raises ApiError: a ConflictError when another was faster."""
        now = _micro_time(self._clock.now())
        acquired = record.acquired if record is not None and record.holder == self.identity else now
        spec = self._spec(acquired or now, now, transitions)
        await self._write(record, spec)
        return True

    # --- holding ---------------------------------------------------------------------------------------------------

    async def _renew(self) -> None:
        """Renew the Lease until it is lost."""
        while True:
            left = self._left()
            if left <= 0:
                return self._lose(f"the Lease could not be renewed within {self._settings.renew_deadline:g} s")
            await self._clock.sleep(min(self._settings.retry, left))
            try:
                await self._renewed()
            except _LostError as error:
                return self._lose(str(error))
            except errors.ApiError as error:
                _LOG.warning("the Lease could not be renewed: %s", error.message)

    async def _renewed(self) -> None:
        """Renew the Lease once, if there is time left for it. Raises _LostError, or ApiError for what may pass."""
        left, record = self._left(), self._record
        if left <= 0 or record is None:
            return
        try:
            async with asyncio.timeout(left):
                await self._renew_or_check(record)
        except TimeoutError:
            return

    async def _renew_or_check(self, record: _Record) -> None:
        try:
            spec = self._spec(record.acquired, _micro_time(self._clock.now()), record.transitions)
            await self._write(record, spec)
        except errors.ConflictError:
            # Somebody wrote a label or deleted it, or an earlier renewal was carried out although its answer was lost.
            await self._check_holder()

    async def _check_holder(self) -> None:
        await self._look()
        if self._record is None:
            raise _LostError("the Lease was deleted")
        if self._record.holder != self.identity:
            raise _LostError(f"the Lease is held by {self._record.holder or 'nobody'}")

    def _left(self) -> ids.Seconds:
        return (self._active_until or 0.0) - self._clock.monotonic()

    def _stopped(self, task: asyncio.Task[None]) -> None:
        """A renewal that ends in what nobody foresaw must not leave a leader that does not know."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._lose(f"the renewal failed: {type(error).__name__}: {error}")

    def _lose(self, why: str) -> None:
        self.why_lost = why
        self._ended()
        _LOG.error("this replica is no longer the active one: %s", why)
        self.lost.set()

    def _ended(self) -> None:
        self._active_until = None
        self._signals.emit(ports.LeadershipChanged(leading=False))

    async def _give_back(self) -> None:
        record = self._record
        while record is not None and record.holder == self.identity:
            # A duration of a second, for standbys of other programs that do not take an empty holder for none.
            spec = self._spec(record.acquired, _micro_time(self._clock.now()), record.transitions)
            try:
                await self._put(record, {**spec, "holderIdentity": "", "leaseDurationSeconds": 1})
            except errors.ConflictError:
                await self._look()
                record = self._record
            else:
                return

    # --- the Lease -------------------------------------------------------------------------------------------------

    @property
    def _patience(self) -> ids.Seconds:
        """One request may take half of the time that there is for several."""
        return self._settings.renew_deadline / 2

    def _spec(self, acquired: str, renewed: str, transitions: int) -> dict[str, Any]:
        return {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": math.ceil(self._settings.duration),
            "acquireTime": acquired,
            "renewTime": renewed,
            "leaseTransitions": transitions,
        }

    async def _write(self, record: _Record | None, spec: Mapping[str, Any]) -> None:
        """Write the Lease as its holder: active from the moment before the request was sent."""
        sent_at = self._clock.monotonic()
        self._record = await self._put(record, spec)
        self._active_until = sent_at + self._settings.renew_deadline

    async def _put(self, record: _Record | None, spec: Mapping[str, Any]) -> _Record:
        metadata = {"namespace": self._settings.namespace, "name": self._settings.name}
        body: dict[str, Any] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": dict(spec)}
        if record is not None:
            # The uid as well: the API server makes a Lease that is gone anew for a PUT, whatever version that names.
            body["metadata"] = {**metadata, "resourceVersion": record.version, "uid": record.uid}
            return _record(await self._api.request("PUT", self._path, body=body, timeout=self._patience))
        body["metadata"] = metadata
        path = self._path.rpartition("/")[0]
        return _record(await self._api.request("POST", path, body=body, timeout=self._patience))


class _LostError(Exception):
    """Another holds the Lease, or nobody does."""


def _record(lease: Mapping[str, Any]) -> _Record:
    spec: Mapping[str, Any] = lease.get("spec") or {}
    return _Record(
        uid=lease["metadata"]["uid"],
        version=lease["metadata"]["resourceVersion"],
        holder=spec.get("holderIdentity") or "",
        duration=float(spec.get("leaseDurationSeconds") or 1),
        acquired=spec.get("acquireTime") or "",
        transitions=int(spec.get("leaseTransitions") or 0),
    )


def _micro_time(instant: ids.Instant) -> str:
    """As Kubernetes writes a MicroTime: UTC, with six digits."""
    return datetime.datetime.fromtimestamp(instant, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
