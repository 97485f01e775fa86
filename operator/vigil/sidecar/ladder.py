"""What happens with a queued wake now. Pure; the first rung that applies is taken.

1. No `deliver`: it is recorded.
2. A fresh context that nothing is configured to start: not allowed.
3. A notice waits for the event that it summarises, and is never a turn: it is notified, or rides.
4. A live session takes the turn when the turn rules let it; what may not start a turn rides with the next one.
5. A session that is gone: a notification, if the Watch has a receiver for one.
6. Otherwise it stays queued, without a recipient.
"""

import dataclasses
from collections.abc import Sequence
from typing import TypeAlias

from vigil.model import ids, wakes
from vigil.sidecar import turns


@dataclasses.dataclass(frozen=True, slots=True)
class Candidate:
    """What the ladder needs to know of a queued wake.

    `behind` is whether an event of the same Watch is not delivered yet, which a notice must not overtake. `notify_at`
    is when a notification may be tried (again); until `notifying_until` one is on its way, and nobody else may have the
    wake.
    """

    id: ids.WakeId
    watch: ids.WatchUid
    namespace: str
    type: wakes.WakeType
    deliver: wakes.Deliver | None
    queued_at: ids.Instant
    behind: bool = False
    notify_at: ids.Instant = 0.0
    notifying_until: ids.Instant = 0.0

    @property
    def starts(self) -> bool:
        """Whether it may start a turn."""
        return self.type is not wakes.WakeType.NOTICE and self.deliver is not None and self.deliver.wake


@dataclasses.dataclass(frozen=True, slots=True)
class Record:
    """Nobody is to be told: keep it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Offer:
    """The session may claim it now."""


@dataclasses.dataclass(frozen=True, slots=True)
class Ride:
    """It goes along with the session's next turn."""


@dataclasses.dataclass(frozen=True, slots=True)
class Notify:
    """Send a notification now."""


Rung: TypeAlias = Record | Offer | Ride | Notify | turns.Hold


def rung(wake: Candidate, ground: turns.Ground | None, rules: turns.Rules, now: ids.Instant) -> Rung:
    """The rung of a wake; `ground` is its session's, None when that is gone or the Watch names none."""
    deliver = wake.deliver
    if deliver is None:
        return Record()
    if held := _held(wake, deliver, rules, now):
        return held
    if ground is None or (wake.type is wakes.WakeType.NOTICE and deliver.notify is not None):
        return _notification(wake, deliver, now)
    if not wake.starts:
        return Ride()
    return turns.hold(ground, rules, now) or Offer()


def _held(wake: Candidate, deliver: wakes.Deliver, rules: turns.Rules, now: ids.Instant) -> turns.Hold | None:
    if deliver.mode is wakes.Mode.FRESH and not rules.fresh:
        return turns.Hold(wakes.QueuedReason.NOT_ALLOWED)
    if now < wake.notifying_until:
        return turns.Hold(wakes.QueuedReason.NO_RECIPIENT, wake.notifying_until)
    return turns.Hold(wakes.QueuedReason.BUSY) if wake.behind else None


def reason(taken: Rung) -> wakes.QueuedReason | None:
    """Why a wake on this rung is not delivered yet, None while it is on offer."""
    match taken:
        case turns.Hold():
            return taken.reason
        case Ride():
            return wakes.QueuedReason.BUSY
        case Notify():
            return wakes.QueuedReason.NO_RECIPIENT
        case Record() | Offer():
            return None


def _notification(wake: Candidate, deliver: wakes.Deliver, now: ids.Instant) -> Rung:
    if deliver.notify is None:
        return turns.Hold(wakes.QueuedReason.NO_RECIPIENT)
    if now < wake.notify_at:
        return turns.Hold(wakes.QueuedReason.NO_RECIPIENT, wake.notify_at)
    return Notify()


def choose(
    queue: Sequence[Candidate],
    ground: turns.Ground,
    rules: turns.Rules,
    now: ids.Instant,
    user_turn: bool = False,
) -> tuple[Candidate, ...] | turns.Hold:
    """What the next turn of a live session is about: what it is started for, then what rides along; `queue` is the
    oldest first.

    A user's turn is not ours to hold back: it takes what waits, and may be about nothing but what rides.
    """
    if user_turn:
        if ground.outstanding:
            return turns.Hold(wakes.QueuedReason.BUSY)
        ground = turns.Ground()
    rungs = [(wake, rung(wake, ground, rules, now)) for wake in queue]
    riding = [wake for wake, taken in rungs if isinstance(taken, Ride)]
    main = next((wake for wake, taken in rungs if isinstance(taken, Offer)), None)
    if main is None:
        return tuple(riding[: 1 + rules.riders]) if user_turn and riding else _earliest([taken for _, taken in rungs])
    notices = [wake for wake in queue if wake.behind and wake.watch == main.watch and now >= wake.notifying_until]
    return (main, *(notices + riding)[: rules.riders])


def _earliest(rungs: Sequence[Rung]) -> turns.Hold:
    holds = [taken for taken in rungs if isinstance(taken, turns.Hold)]
    times = [taken.until for taken in holds if taken.until is not None]
    first = holds[0].reason if holds else wakes.QueuedReason.BUSY
    return turns.Hold(first, min(times, default=None))
