"""One Watch in the queue."""

import asyncio
import dataclasses

from vigil import ports
from vigil.model import failures, ids, observations, states, wakes
from vigil.scheduler import groups
from vigil.tick import enrolment, memory, phase


@dataclasses.dataclass(slots=True)
class Announced:
    """What the signals were last told of a Watch, so that they are told of changes only."""

    phase: str | None = None
    queued: wakes.QueuedReason | None = None
    blind: bool = False


@dataclasses.dataclass(slots=True)
class Entry:
    """One Watch: its memory, when it is due, and what is under way.

    `lock` is held while its memory changes. `busy` says that a round has it. `settle_at` is when an unstored or
    undelivered result is tried again without a read. `beat` is when its timer was last heard of. `asked` says that it
    is to be read again right after the round that has it. `keys` are the groups of its subjects, `pending` the task
    that shows a new Watch as Pending.
    """

    memory: memory.Memory
    due: ids.Instant
    beat: ids.Seconds
    lock: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)
    busy: bool = False
    gone: bool = False
    settle_at: ids.Instant | None = None
    tries: int = 0
    rechecks: int = 0
    changed_at: ids.Instant = 0.0
    timer_lost: bool = False
    poke: str = ""
    asked: bool = False
    keys: frozenset[groups.GroupKey] = frozenset()
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

    def hurry(self, now: ids.Instant) -> None:
        """Be read now; what is under way began before the reason for this, and is read once more."""
        self.due, self.asked = min(self.due, now), self.busy

    def read_at_last(self) -> None:
        """There is more to show than that it is Pending."""
        if self.pending is not None:
            self.pending.cancel()

    def announce(self, signals: ports.Signals) -> None:
        """Tell the signals what changed."""
        kind, told = self.watch.kind.name, self.announced
        current = self.memory.current
        now = Announced(
            phase=None if self.gone else phase.phase_of(current).value,
            queued=None if self.gone or current.trouble is None else current.trouble.reason,
            blind=not self.gone and _blind(self.memory),
        )
        if told.phase != now.phase:
            signals.emit(ports.PhaseChanged(kind, told.phase, now.phase))
        if told.queued is not now.queued:
            signals.emit(ports.QueueChanged(told.queued, now.queued))
        if told.blind != now.blind:
            signals.emit(ports.BlindChanged(kind, now.blind))
        self.announced = now


def _blind(known: memory.Memory) -> bool:
    after = known.watch.limits.policy.blind_after
    return after > 0 and known.probed and any(_row(known.state, name) >= after for name in known.current.reading)


def _row(state: states.State, name: ids.SubjectId) -> int:
    return state.subject(name).errors


def computing(known: memory.Memory) -> bool:
    """Whether a provider asked for an early look again."""
    return any(
        of.recheck_after is not None
        for of in known.current.reading.values()
        if isinstance(of, observations.ProbeResult)
    )


def pruned() -> failures.Failure:
    """Why a Watch is Blocked whose status loses fields on its way through the API server."""
    return failures.Failure(
        failures.Category.CONFIG,
        "StatusPruned: the API server dropped a part of the status; the installed CRD is older than this Vigil",
    )
