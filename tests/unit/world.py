"""The world of the core in memory: small and honest implementations of its ports, which keep a log."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from vigil import ports
from vigil.model import failures, ids, wakes
from vigil.state import codec
from vigil.tick import checkpoint, memory

Log = list[tuple[str, Any]]
"""What was stored, submitted and withdrawn, in its order."""

DOWN = failures.Failure(failures.Category.TRANSIENT, "connection refused")


class Store:
    """ports.StateStore: keeps what was saved as a document, as a store outside of the process does.

    `answers` are given one after another instead of SAVED; `gate`, once set, holds every save back until it is opened.
    """

    def __init__(self, log: Log) -> None:
        self.saved: list[checkpoint.Checkpoint] = []
        self.documents: dict[ids.WatchUid, str] = {}
        self.answers: list[ports.SaveResult] = []
        self.gate: asyncio.Event | None = None
        self._log = log

    async def save(self, checkpoint: checkpoint.Checkpoint) -> ports.SaveResult:
        """Store the Watch as a whole."""
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else ports.SaveResult.SAVED
        self._log.append(("store", answer))
        if answer is ports.SaveResult.SAVED:
            self.saved.append(checkpoint)
            self.documents[checkpoint.watch.ref.uid] = codec.encode(checkpoint.state)
        return answer

    def stored(self, uid: str = "w1") -> memory.Stored:
        """What another process finds."""
        document = self.documents[ids.WatchUid(uid)]
        last = next(one for one in reversed(self.saved) if one.watch.ref.uid == uid)
        state = codec.decode(document, ids.WatchUid(uid))
        return memory.Stored(state, last.since, last.anchors, last.wakes)


@dataclasses.dataclass
class Held:
    """One wake as the sidecar holds it."""

    message: wakes.WakeMessage
    state: wakes.WakeState = wakes.WakeState.QUEUED
    event: wakes.OutcomeEvent | None = None


class Sidecar:
    """ports.Delivery: the contract of the sidecar, and the session's half of it for the test.

    A wake is upserted until it is claimed, and no older version replaces a newer one; then every submission answers
    what became of it. `down` refuses every request. `meanwhile` is called once, just before the next request is seen:
    for what a session does at that moment.
    """

    def __init__(self, log: Log, clock: ports.Clock | None = None) -> None:
        self.wakes: dict[ids.WakeId, Held] = {}
        self.events: list[wakes.OutcomeEvent] = []
        self.down = False
        self.busy: wakes.QueuedReason | None = wakes.QueuedReason.BUSY
        self.meanwhile: Callable[[], Any] | None = None
        self.asked_after: list[int] = []
        self._log = log
        self._clock = clock
        self._news = asyncio.Event()

    def _arrive(self) -> None:
        if self.meanwhile is not None:
            do, self.meanwhile = self.meanwhile, None
            do()
        if self.down:
            raise ports.DeliveryError(DOWN)

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """Put one version of a wake."""
        self._log.append(("submit", message))
        self._arrive()
        for id_, other in list(self.wakes.items()):
            if id_ != message.id and other.message.watch.uid == message.watch.uid:
                if other.state is wakes.WakeState.CLAIMED:
                    raise ports.DeliveryError(DOWN)
                if other.state is wakes.WakeState.QUEUED:
                    self._end(id_, wakes.WakeState.WITHDRAWN)
        held = self.wakes.setdefault(message.id, Held(message))
        if held.state is wakes.WakeState.QUEUED and message.sequence > held.message.sequence:
            held.message = message
        if held.state is wakes.WakeState.QUEUED and message.deliver is None:
            self._end(message.id, wakes.WakeState.RECORDED)
        return self._standing(held)

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """Take a wake back if it is not claimed."""
        self._log.append(("withdraw", wake))
        self._arrive()
        held = self.wakes.get(wake)
        if held is None:
            return wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 0)
        if held.state is wakes.WakeState.QUEUED:
            self._end(wake, wakes.WakeState.WITHDRAWN)
        return self._standing(held)

    async def outcomes(self, after: int, wait: ids.Seconds) -> ports.OutcomePage:
        """The outcomes after a cursor, waiting for the first."""
        self.asked_after.append(after)
        self._arrive()
        if len(self.events) <= after and self._clock is not None:
            self._news.clear()
            waits = [asyncio.create_task(self._news.wait()), asyncio.create_task(self._clock.sleep(wait))]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for one in waits:
                    one.cancel()
        return ports.OutcomePage(self.events[after:], max(after, len(self.events)))

    def _standing(self, held: Held) -> wakes.SubmitResult:
        reason = self.busy if held.state is wakes.WakeState.QUEUED else None
        return wakes.SubmitResult(held.state, held.message.sequence, reason, held.event)

    # --- what sessions do ------------------------------------------------------------------------------------------

    @property
    def last(self) -> Held:
        """The wake that was submitted last."""
        return list(self.wakes.values())[-1]

    def claim(self) -> wakes.WakeMessage:
        """A session takes the queued wake."""
        held = next(one for one in self.wakes.values() if one.state is wakes.WakeState.QUEUED)
        held.state = wakes.WakeState.CLAIMED
        return held.message

    def finish(
        self,
        state: wakes.WakeState = wakes.WakeState.DELIVERED,
        *said: wakes.DispositionOf,
        tokens: int = 0,
    ) -> wakes.OutcomeEvent:
        """The queued or claimed wake comes to its outcome."""
        undelivered = {wakes.WakeState.QUEUED, wakes.WakeState.CLAIMED}
        id_ = next(id_ for id_, one in self.wakes.items() if one.state in undelivered)
        return self._end(id_, state, said, tokens)

    def _end(
        self,
        wake: ids.WakeId,
        state: wakes.WakeState,
        said: Sequence[wakes.DispositionOf] = (),
        tokens: int = 0,
    ) -> wakes.OutcomeEvent:
        held = self.wakes[wake]
        event = wakes.OutcomeEvent(
            cursor=len(self.events) + 1,
            wake=wake,
            watch=held.message.watch.uid,
            state=state,
            sequence=held.message.sequence,
            at=held.message.decided_at,
            tokens=tokens,
            dispositions=tuple(said),
        )
        held.state, held.event = state, event
        self.events.append(event)
        self._news.set()
        return event


class Signals:
    """ports.Signals that remembers."""

    def __init__(self) -> None:
        self.records: list[ports.Record] = []

    def emit(self, record: ports.Record) -> None:
        """Take note of one record."""
        self.records.append(record)
