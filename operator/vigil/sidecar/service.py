"""The use cases of the sidecar, over the store, the clock, the evidence and the notifications; HTTP is not known here.

It is a ports.Delivery itself, so that `vigil run` can hand wakes to it without a request. Every method that changes
something rings the bell, and every long poll waits for it.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from typing import Any, Final

import pydantic
import structlog

from vigil import ports
from vigil.api import base, ledger, turn
from vigil.api import wake as wire
from vigil.model import failures, ids, wakes
from vigil.sidecar import bell, envelope, evidence, notify, observer, sessions, turns, work
from vigil.sidecar.store import port

ORPHANS_AFTER: Final[ids.Seconds] = 3600.0

_log: Any = structlog.get_logger(__name__)


class OtherClaimedError(ports.DeliveryError):
    """Another wake of the same Watch is claimed; this one had no effect and is put again later."""

    def __init__(self, held: port.Held) -> None:
        super().__init__(
            failures.Failure(failures.Category.TRANSIENT, f"the wake {held.id} of the same Watch is claimed")
        )
        self.held = held


async def _here() -> bool:
    return False


class Service:
    """One sidecar. `base_url` is how sessions reach it, empty when that is not known."""

    def __init__(
        self,
        store: port.Store,
        clock: ports.Clock,
        files: evidence.Evidence,
        *,
        rules: turns.Rules,
        notifications: notify.Notifications | None = None,
        heard: observer.Observer | None = None,
        base_url: str = "",
        retention: port.Retention | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._files = files
        self._rules = rules
        self._observer = heard or observer.Silent()
        self._base_url = base_url.rstrip("/")
        self._bell = bell.Bell(clock)
        self._draining = False
        self._task: asyncio.Task[None] | None = None
        self._work = work.Work(
            store,
            clock,
            files,
            self._bell,
            heard=self._observer,
            notifications=notifications,
            retention=retention or port.Retention(),
            url_of=self.evidence_url,
        )

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Service"]:
        """Open the store and work in the background until the context ends. Raises StoreError, OSError."""
        await self._store.open()
        try:
            await self._files.sweep(await self._store.evidence(), self._clock.now() - ORPHANS_AFTER)
            self._task = asyncio.create_task(self._work.run(), name="sidecar-work")
            self._task.add_done_callback(_log_end)
            yield self
        finally:
            self.drain()
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)
            await self._work.stop()
            await self._store.close()

    def drain(self) -> None:
        """Answer all long polls now, and every later one at once."""
        self._draining = True
        self._bell.ring()

    def dead(self) -> str | None:
        """Why the process should be restarted, None when it should not."""
        return "the background work has ended" if self._task is None or self._task.done() else None

    async def ready(self) -> str | None:
        """Why requests would fail now, None when they would not."""
        try:
            await self._store.ready()
        except port.StoreError:
            return "the database does not answer"
        return "stopping" if self._draining else self.dead()

    # The operator's side: ports.Delivery, and what goes beyond it.

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """See ports.Delivery.

        Raises OtherClaimedError, which is a DeliveryError, while another wake of the Watch is claimed.
        """
        with _as_delivery_errors():
            bounded = wire.Wake.of(message).value()
            before = await self._store.get(bounded.id, self._clock.now())
            if before is not None and _settled(before.held, bounded.sequence):
                return before.result
            ref = await self._files.write(bounded)
            result = await self._store.submit(bounded, ref, self._clock.now())
            taken = isinstance(result, port.Submitted) and result.taken
            await self._drop(result, None if taken else ref)
        if isinstance(result, port.OtherClaimed):
            raise OtherClaimedError(result.held)
        self._work.tell(result.ended)
        self._bell.ring()
        return result.shown.result

    async def _drop(self, result: port.Submitted | port.OtherClaimed, refused: evidence.Ref | None) -> None:
        dropped = {refused} if refused else set[evidence.Ref]()
        if isinstance(result, port.Submitted):
            dropped = (dropped | result.dropped) - {result.shown.held.evidence}
        await self._files.remove(dropped)

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """See ports.Delivery."""
        with _as_delivery_errors():
            found = await self._store.withdraw(wake, self._clock.now())
        if found is None:
            return wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 0)
        self._work.tell(found.ended)
        self._bell.ring()
        return found.shown.result

    async def outcomes(self, after: int, wait: ids.Seconds) -> ports.OutcomePage:
        """See ports.Delivery; a page has at most OUTCOMES_LIMIT outcomes."""
        deadline = self._clock.monotonic() + min(wait, base.WAIT_LIMIT)
        with _as_delivery_errors():
            while True:
                heard = self._bell.listen()
                page = await self._store.outcomes(after, base.OUTCOMES_LIMIT)
                left = deadline - self._clock.monotonic()
                if page.events or left <= 0 or self._draining:
                    return page
                await self._bell.wait(heard, left)

    async def record(self, entries: Sequence[ledger.Verdict]) -> int:
        """Append verdicts to the ledger, each once however often it is reported; how many are new.

        Raises DeliveryError.
        """
        with _as_delivery_errors():
            return await self._store.record(entries)

    async def ledger(self, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
        """The ledger of a Watch, the newest first. Raises DeliveryError."""
        with _as_delivery_errors():
            return await self._store.ledger(watch, before, min(limit, ledger.PAGE_LIMIT))

    async def show(self, wake: ids.WakeId) -> port.Shown | None:
        """One wake, None when it is not known. Raises DeliveryError."""
        with _as_delivery_errors():
            return await self._store.get(wake, self._clock.now())

    async def evidence_of(self, held: port.Held) -> bytes | None:
        """The evidence of a wake, UTF-8; None when it is gone. Raises DeliveryError."""
        with _as_delivery_errors():
            return await self._files.read(held.evidence) if held.evidence else None

    def evidence_url(self, wake: ids.WakeId) -> str:
        """Where the evidence of a wake is served."""
        return f"{self._base_url}/v1/wakes/{wake}/evidence" if self._base_url else ""

    # The sessions' side.

    async def attach(self, address: sessions.Address, said: sessions.Attachment) -> turn.Session:
        """Attach or renew a session. Raises DeliveryError."""
        with _as_delivery_errors():
            session, queued = await self._store.attach(address, said, self._clock.now())
        if queued:
            self._bell.ring()
        return turn.Session(
            namespace=address.namespace,
            name=address.name,
            state=session.activity,
            expires_at=base.time_of(session.expires_at),
            waking=turn.Waking.ACTIVE if session.suspended_at is None else turn.Waking.SUSPENDED,
            turns_in_row=session.turns_in_row,
            queued=queued,
        )

    async def detach(self, address: sessions.Address) -> None:
        """The session is gone. Raises DeliveryError."""
        with _as_delivery_errors():
            await self._store.detach(address, self._clock.now())
        self._bell.ring()

    async def next(
        self,
        address: sessions.Address,
        asked: turn.Next,
        wait: ids.Seconds,
        gone: Callable[[], Awaitable[bool]] = _here,
    ) -> turn.Turn | turns.Hold | port.NotAttached:
        """Hand a turn to a session, waiting up to so many seconds for one; nothing is claimed for an asker who is gone.

        Raises DeliveryError.
        """
        deadline = self._clock.monotonic() + min(wait, base.WAIT_LIMIT)
        with _as_delivery_errors():
            while True:
                heard = self._bell.listen()
                if await gone():
                    return turns.Hold(wakes.QueuedReason.NO_RECIPIENT)
                now = self._clock.now()
                found = await self._store.claim(address, asked.request, asked.user_turn, now)
                if isinstance(found, port.Turn):
                    self._observer.turn("handed-out")
                    self._bell.ring()
                    return self._turn(found)
                left = deadline - self._clock.monotonic()
                if isinstance(found, port.NotAttached) or left <= 0 or self._draining:
                    return found
                await self._bell.wait(heard, left if found.until is None else min(left, max(0.01, found.until - now)))

    def _turn(self, found: port.Turn) -> turn.Turn:
        parts = [
            envelope.Part(
                held.message,
                self._files.path(held.evidence) if held.evidence else "",
                self.evidence_url(held.id),
            )
            for held in found.wakes
            if held.message is not None
        ]
        return turn.Turn(
            fence=found.fence,
            lease_seconds=self._rules.lease,
            lease_until=base.time_of(found.lease_until),
            parts=tuple(_part(held) for held in found.wakes),
            envelope=envelope.render(parts),
            evidence_path=parts[0].evidence_path,
            evidence_url=parts[0].evidence_url or None,
        )

    async def renew(self, wake: ids.WakeId, fence: int) -> turn.Lease | port.Stale:
        """Keep a turn for another lease. Raises DeliveryError."""
        with _as_delivery_errors():
            found = await self._store.renew(wake, fence, self._clock.now())
        if isinstance(found, port.Stale):
            return found
        return turn.Lease(lease_seconds=self._rules.lease, lease_until=base.time_of(found))

    async def release(self, wake: ids.WakeId, fence: int) -> wakes.SubmitResult | port.Stale:
        """Give a turn back, as if its lease had run out. Raises DeliveryError."""
        with _as_delivery_errors():
            found = await self._store.release(wake, fence, self._clock.now())
        return self._after_turn(found, "released")

    async def complete(
        self, wake: ids.WakeId, done: port.Completion
    ) -> wakes.SubmitResult | port.Stale | port.NotInTurn:
        """The turn is done; the same completion again changes nothing. Raises DeliveryError."""
        with _as_delivery_errors():
            found = await self._store.complete(wake, done, self._clock.now())
        return found if isinstance(found, port.NotInTurn) else self._after_turn(found, "completed")

    def _after_turn(self, found: port.Ended | port.Stale, result: str) -> wakes.SubmitResult | port.Stale:
        if isinstance(found, port.Stale):
            self._observer.turn("stale")
            return found
        if not found.repeated:
            self._observer.turn(result)
            self._work.tell(found.ended)
            self._bell.ring()
        return found.shown.result


def _settled(held: port.Held, sequence: int) -> bool:
    """Whether another version can change nothing."""
    return held.state is not wakes.WakeState.QUEUED or held.sequence >= sequence


def _part(held: port.Held) -> turn.Part:
    return turn.Part(
        wake_id=held.id,
        sequence=held.sequence,
        watch=wire.Watch.of(held.watch),
        type=held.type,
        reason=held.reason,
        entries=held.entries,
    )


def _log_end(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.error("the sidecar's work has ended", error=str(error), exc_info=error)


@contextlib.contextmanager
def _as_delivery_errors() -> Generator[None]:
    try:
        yield
    except port.StoreError as error:
        _log.warning("the database failed", error=str(error))
        raise ports.DeliveryError(failures.Failure(failures.Category.TRANSIENT, "the database failed")) from error
    except OSError as error:
        _log.warning("the evidence failed", error=str(error))
        reason = f"the evidence failed: {error.strerror}"
        raise ports.DeliveryError(failures.Failure(failures.Category.TRANSIENT, reason)) from error
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ports.DeliveryError(
            failures.Failure(failures.Category.MALFORMED, f"the wake cannot be sent: {where}: {first['msg']}")
        ) from error
