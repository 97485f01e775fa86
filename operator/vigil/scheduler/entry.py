"""One Watch in the queue."""

import asyncio
import dataclasses
from typing import Final

from vigil import ports
from vigil.model import failures, ids, observations, states, wakes
from vigil.scheduler import due, groups
from vigil.tick import enrolment, essence, phase, tick
from vigil.tick import memory as memories

RETRY_FIRST: Final[ids.Seconds] = 2.0
_RETRY_LONGEST: Final[ids.Seconds] = 60.0
STRETCHED: Final = 1.25
"""A cadence that is longer by this factor than the Watch's own is one that has to be told."""
_ALONG: Final = 4
"""A Watch that is due within this part of its interval is read along with its groups."""


@dataclasses.dataclass(slots=True)
class Announced:
    """What the signals were last told of a Watch, so that they are told of changes only."""

    phase: str | None = None
    queued: wakes.QueuedReason | None = None
    blind: bool = False
    paced: bool = False


@dataclasses.dataclass(slots=True)
class Entry:
    """One Watch: its memory, when it is due, and what is under way.

    `lock` is held while its memory changes. `busy` says that a round has it. `settle_at` is when an unstored or
    undelivered result is tried again without a read, `pause` how long after another failure. `beat` is when its timer
    was last heard of. `asked` says that it is to be read again right after the round that has it. `keys` are the
    groups that its subjects were last placed in, `unbound` says that they could not be when it was last to be read.
    `pending` is the task that shows a new Watch as Pending.
    """

    memory: memories.Memory
    due: ids.Instant
    beat: ids.Seconds
    lock: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)
    busy: bool = False
    gone: bool = False
    settle_at: ids.Instant | None = None
    pause: ids.Seconds = RETRY_FIRST
    rechecks: int = 0
    changed_at: ids.Instant = 0.0
    timer_lost: bool = False
    poke: str = ""
    asked: bool = False
    keys: frozenset[groups.GroupKey] = frozenset()
    unbound: bool = False
    pending: asyncio.Task[None] | None = None
    announced: Announced = dataclasses.field(default_factory=Announced)

    @property
    def watch(self) -> enrolment.Enrolment:
        """The Watch as it is enrolled."""
        return self.memory.watch

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do: the Watch has ended and its last word was taken."""
        return self.memory.state.quiet_for_good and self.settle_at is None

    @property
    def next(self) -> ids.Instant:
        """When there is something to do for it."""
        return self.due if self.settle_at is None else min(self.due, self.settle_at)

    def hurry(self, now: ids.Instant) -> None:
        """Be read now; what is under way began before the reason for this, and is read once more."""
        self.due, self.asked = min(self.due, now), self.busy

    def soon(self, now: ids.Instant) -> bool:
        """Whether it can be read along with others, since it is due soon."""
        if self.gone or self.busy or not self.memory.probed:
            return False
        return self.due - now <= self.watch.cadence.interval / _ALONG

    def read_at_last(self) -> None:
        """There is more to show than that it is Pending."""
        if self.pending is not None:
            self.pending.cancel()

    def ticked(self, before: memories.Memory, now: ids.Instant) -> None:
        """Take note of whether a tick changed anything, and of whether its provider is still computing."""
        if essence.essence(before.current) != essence.essence(self.memory.current):
            self.changed_at = now
        self.rechecks = self.rechecks + 1 if _computing(self.memory) else 0

    def paced(self, apart: ids.Seconds) -> memories.Memory:
        """Its memory with the cadence that its allowance leaves to it, as it was first told; None for its own."""
        own, told = self.watch.cadence.interval, self.memory.current.paced
        if apart <= own:
            return self.memory.with_current(paced=None)
        return self.memory.with_current(paced=told or (apart if apart >= own * STRETCHED else None))

    def next_due(self, now: ids.Instant, apart: ids.Seconds) -> ids.Instant:
        """When it is read again, if nothing is heard of it before; `apart` is how far apart two reads have to be."""
        if self.memory.current.blocked is not None:
            return now + max(self.watch.cadence.interval, due.SLOW)
        if not self.memory.probed:
            return now + self.watch.cadence.interval
        return due.next_due(self.memory, now, self.changed_at, self.rechecks, apart)

    def take(self, ticked: tick.Ticked, now: ids.Instant) -> None:
        """Take over what a tick left, and see to it that what was not stored or delivered is tried again."""
        watch, self.memory = self.watch, ticked.memory
        if self.watch is not watch:
            # It was enrolled anew meanwhile: what this tick stored and sent counts, for the Watch as it is now.
            self.memory = memories.renew(ticked.memory, watch, now)
        blocked = _blocked(ticked)
        untold = blocked != self.memory.current.blocked
        self.memory = self.memory.with_current(blocked=blocked) if untold else self.memory
        trouble = self.memory.current.trouble
        unreached = trouble is not None and trouble.reason is wakes.QueuedReason.UNREACHABLE
        if ticked.saved is ports.SaveResult.FAILED or unreached:
            self.settle_at = now + self.pause
            self.pause = min(2 * self.pause, _RETRY_LONGEST)
        elif untold:
            # What the status says of this write can only be said by the next one, which is not a read away.
            self.settle_at, self.pause = now, RETRY_FIRST
        else:
            self.settle_at, self.pause = None, RETRY_FIRST

    def announce(self, signals: ports.Signals) -> None:
        """Tell the signals what changed."""
        kind, told = self.watch.kind.name, self.announced
        current = self.memory.current
        now = Announced(
            phase=None if self.gone else phase.phase_of(current).value,
            queued=None if self.gone or current.trouble is None else current.trouble.reason,
            blind=not self.gone and _blind(self.memory),
            paced=not self.gone and current.paced is not None,
        )
        if told.phase != now.phase:
            signals.emit(ports.PhaseChanged(kind, told.phase, now.phase))
        if told.queued is not now.queued:
            signals.emit(ports.QueueChanged(told.queued, now.queued))
        if told.blind != now.blind:
            signals.emit(ports.BlindChanged(kind, now.blind))
        if told.paced != now.paced:
            signals.emit(ports.PacedChanged(kind, now.paced))
        self.announced = now


def _blind(known: memories.Memory) -> bool:
    after = known.watch.limits.policy.blind_after
    return after > 0 and known.probed and any(_row(known.state, name) >= after for name in known.current.reading)


def _row(state: states.State, name: ids.SubjectId) -> int:
    return state.subject(name).errors


def _computing(known: memories.Memory) -> bool:
    """Whether a provider asked for an early look again."""
    return any(
        of.recheck_after is not None
        for of in known.current.reading.values()
        if isinstance(of, observations.ProbeResult)
    )


def _blocked(ticked: tick.Ticked) -> failures.Failure | None:
    """Why the Watch is Blocked by what became of its checkpoint; a write that was not made changes nothing."""
    match ticked.saved:
        case ports.SaveResult.PRUNED:
            return _pruned()
        case ports.SaveResult.SAVED:
            return None
        case _:
            return ticked.memory.current.blocked


def _pruned() -> failures.Failure:
    """Why a Watch is Blocked whose status loses fields on its way through the API server."""
    return failures.Failure(
        failures.Category.CONFIG,
        "StatusPruned: the API server dropped a part of the status; the installed CRD is older than this Vigil",
    )
