"""The order of one tick: gather, decide, store, deliver. Each step is somewhere else; here stands what follows what.

1. What was read becomes the reading of the Watch.
2. The chain decides. A wake that it takes back is withdrawn first: if a session was faster, it is decided again.
3. What changed is stored, and only then
4. the wake in flight is put to the sidecar, in every tick until it has an outcome: that is idempotent, tells why it
   waits and whether it was claimed, and heals a sidecar that lost it.
"""

import dataclasses

from vigil import ports
from vigil.decision import decide, outcomes
from vigil.model import ids, readings, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import bound, checkpoint, churn, essence, gather, memory, message

_FAST_FINGERS = 3
"""How often a tick is decided again because a session claimed what was being taken back."""

_UNREACHABLE = wakes.QueuedReason.UNREACHABLE
_NOTHING: readings.Reading = {}


@dataclasses.dataclass(frozen=True, slots=True)
class Ticked:
    """The Watch after a tick, and what became of its checkpoint (SAVED also where there was nothing to store)."""

    memory: memory.Memory
    saved: ports.SaveResult


class Ticker:
    """Runs the ticks of all Watches; it remembers nothing of any of them."""

    def __init__(
        self,
        store: ports.StateStore[checkpoint.Checkpoint],
        delivery: ports.Delivery,
        signals: ports.Signals,
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._signals = signals

    async def tick(self, before: memory.Memory, reads: gather.Reads, now: ids.Instant) -> Ticked:
        """One tick of a Watch that was read, is suspended, or has ended and is not told yet."""
        if before.current.quarantined == codec.QuarantineReason.VERSION_UNKNOWN:
            return await self.settle(before, now)
        if before.probed:
            gathered = await gather.gather(before, reads, now)
            return await self.settle(await self._decided(gathered, now), now)
        if before.state.ended is not None:
            return await self.settle(await self._decided(before, now), now)
        waiting = before.with_current(verdict=verdicts.Quiet(verdicts.QuietReason.SUSPENDED))
        return await self.settle(waiting, now)

    async def outcome(self, before: memory.Memory, event: wakes.OutcomeEvent, now: ids.Instant) -> Ticked:
        """What became of the wake in flight; the outcome of another wake changes nothing and stores nothing."""
        after = self._ended(before, event)
        return Ticked(before, ports.SaveResult.SAVED) if after is before else await self.settle(after, now)

    async def settle(self, after: memory.Memory, now: ids.Instant) -> Ticked:
        """Store what changed, deliver what is in flight, store what that told."""
        stored = await self._saved(after)
        if stored.saved is ports.SaveResult.SAVED:
            stored = await self._saved(await self._delivered(stored.memory, now))
        return stored

    async def _decided(self, gathered: memory.Memory, now: ids.Instant) -> memory.Memory:
        known = gathered
        for _ in range(_FAST_FINGERS):
            reading = known.current.reading if known.probed else _NOTHING
            made = decide.decide(reading, known.state, known.watch.limits, now)
            taken_back = _taken_back(known.state.in_flight, made.state.in_flight)
            if taken_back is None:
                return _with_decision(known, made)
            try:
                answer = await self._delivery.withdraw(taken_back)
            except ports.DeliveryError as error:
                return _waiting(known, checkpoint.DeliveryTrouble(_UNREACHABLE, error.failure.message))
            if answer.state in {wakes.WakeState.QUEUED, wakes.WakeState.WITHDRAWN}:
                self._signals.emit(ports.WakeEnded(wakes.WakeState.WITHDRAWN))
                return _with_decision(_with_wake_state(known, taken_back, wakes.WakeState.WITHDRAWN), made)
            known = self._answered(known, taken_back, answer, now)
        return _waiting(known, None)

    async def _saved(self, after: memory.Memory) -> Ticked:
        if after.saved is not None and essence.essence(after.saved) == essence.essence(after.current):
            return Ticked(after, ports.SaveResult.SAVED)
        fitting = bound.fit(after.state, after.shown)
        after = after if fitting is after.state else after.with_current(state=fitting)
        result = await self._store.save(after.current)
        if result is ports.SaveResult.SAVED:
            return Ticked(dataclasses.replace(after, saved=after.current), result)
        return Ticked(after, result)

    async def _delivered(self, stored: memory.Memory, now: ids.Instant) -> memory.Memory:
        flown = stored.state.in_flight
        if flown is None:
            return stored.with_current(trouble=None) if stored.current.trouble is not None else stored
        try:
            answer = await self._delivery.submit(message.message_of(stored, flown))
        except ports.DeliveryError as error:
            trouble = checkpoint.DeliveryTrouble(_UNREACHABLE, error.failure.message)
            return stored.with_current(trouble=trouble)
        return self._answered(stored, flown.id, answer, now)

    def _answered(
        self, known: memory.Memory, wake: ids.WakeId, answer: wakes.SubmitResult, now: ids.Instant
    ) -> memory.Memory:
        """What the sidecar's answer says of the wake: claimed, waiting for a reason, or ended."""
        if answer.state in wakes.OUTCOMES:
            event = wakes.OutcomeEvent(0, wake, known.watch.ref.uid, answer.state, answer.sequence, now)
            return self._ended(known, answer.event or event)
        if answer.state is wakes.WakeState.CLAIMED:
            state = outcomes.claimed(known.state, wake, answer.sequence)
            return _with_wake_state(known, wake, answer.state).with_current(state=state, trouble=None)
        trouble = None if answer.reason is None else checkpoint.DeliveryTrouble(answer.reason, "")
        return known.with_current(state=outcomes.held(known.state, wake, answer.sequence), trouble=trouble)

    def _ended(self, known: memory.Memory, event: wakes.OutcomeEvent) -> memory.Memory:
        state = outcomes.ended(known.state, _by_id(known, event), known.watch.limits, known.shown)
        if state is known.state:
            return known
        state = dataclasses.replace(state, churn=churn.of_outcome(state.churn, event))
        self._signals.emit(ports.WakeEnded(event.state, event.tokens))
        return _with_wake_state(known, event.wake, event.state).with_current(state=state, trouble=None)


def _by_id(known: memory.Memory, event: wakes.OutcomeEvent) -> wakes.OutcomeEvent:
    """The outcome with its dispositions by the names of subjects: an agent knows their labels."""
    targets = known.watch.targets
    named = tuple(
        dataclasses.replace(said, subject=name)
        for said in event.dispositions
        for name in [target.id for target in targets if target.label == said.subject] or [ids.SubjectId(said.subject)]
    )
    return dataclasses.replace(event, dispositions=named)


def _waiting(known: memory.Memory, trouble: checkpoint.DeliveryTrouble | None) -> memory.Memory:
    """The Watch as it was, waiting for what became of its wake."""
    return known.with_current(verdict=verdicts.Quiet(verdicts.QuietReason.IN_FLIGHT), trouble=trouble)


def _taken_back(before: states.InFlight | None, after: states.InFlight | None) -> ids.WakeId | None:
    """The wake that a decision takes back: it was in flight and unclaimed, and is no more."""
    if before is None or before.claimed is not None or (after is not None and after.id == before.id):
        return None
    return before.id


def _with_decision(known: memory.Memory, made: decide.Decision) -> memory.Memory:
    """The Watch as decided; one that has ended keeps its last word while there is nothing left to say."""
    over = known.state.ended is not None and isinstance(made.verdict, verdicts.Quiet)
    stream_of = known.watch.kind.stream_of
    facts = churn.of_wake(churn.of_reading(made.state.churn, known.current.reading), made.verdict, stream_of)
    state = made.state if facts == made.state.churn else dataclasses.replace(made.state, churn=facts)
    decided = known.with_current(state=state, verdict=known.current.verdict if over else made.verdict)
    flown = made.state.in_flight
    if flown is None or any(one.id == flown.id and one.type is flown.current.type for one in known.current.wakes):
        return decided
    record = checkpoint.WakeRecord(
        id=flown.id,
        type=flown.current.type,
        reason=flown.current.reason,
        state=wakes.WakeState.QUEUED,
        keys=tuple(dict.fromkeys(one.identity.key for one in flown.present)),
        at=flown.decided_at,
    )
    others = tuple(one for one in known.current.wakes if one.id != flown.id)
    return decided.with_current(wakes=(record, *others)[: memory.WAKES_SHOWN])


def _with_wake_state(known: memory.Memory, wake: ids.WakeId, state: wakes.WakeState) -> memory.Memory:
    shown = tuple(dataclasses.replace(one, state=state) if one.id == wake else one for one in known.current.wakes)
    return known.with_current(wakes=shown)
