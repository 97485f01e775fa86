"""The port of the store. Each method is one transaction: it happened whole or not at all.

The rules of turns and the ladder are applied inside the transactions, by the pure modules, so that no two requests can
both be right about the same wake. Every method takes `now` and reads no clock. All raise StoreError when the database
fails, and nothing is known then of what became of the transaction.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

from vigil import ports
from vigil.api import ledger
from vigil.model import ids, wakes
from vigil.sidecar import evidence, sessions, turns


class StoreError(Exception):
    """The database failed; the message is for the log."""


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """One wake as the store holds it.

    `message` is None once its retention has passed, and never has its evidence. `fence` is that of the turn that has or
    had it.
    """

    id: ids.WakeId
    watch: wakes.WatchRef
    state: wakes.WakeState
    sequence: int
    type: wakes.WakeType
    reason: str
    entries: int
    submitted_at: ids.Instant
    offers: int
    fence: int | None
    tries: int
    evidence: evidence.Ref | None
    message: wakes.WakeMessage | None


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A wake, and why it is not delivered yet, or what became of it."""

    held: Held
    reason: wakes.QueuedReason | None = None
    event: wakes.OutcomeEvent | None = None

    @property
    def result(self) -> wakes.SubmitResult:
        """As the operator is told."""
        return wakes.SubmitResult(self.held.state, self.held.sequence, self.reason, self.event)


@dataclasses.dataclass(frozen=True, slots=True)
class Submitted:
    """What a submitted version came to.

    `taken` is whether this version is held now. `dropped` is evidence that nothing refers to any more. `ended` are the
    outcomes that the submission brought about.
    """

    shown: Shown
    taken: bool
    dropped: frozenset[evidence.Ref] = frozenset()
    ended: tuple[wakes.OutcomeEvent, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class OtherClaimed:
    """Another wake of the same Watch is claimed:

    there is one undelivered wake per Watch, so this one comes again later.
    """

    held: Held


@dataclasses.dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was handed out: its wakes in order, and until when they are its own."""

    fence: int
    lease_until: ids.Instant
    wakes: tuple[Held, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class NotAttached:
    """The session is not known, or its time is over: it has to attach first."""


@dataclasses.dataclass(frozen=True, slots=True)
class Stale:
    """The claim is not the asker's any more, or never was; nothing changed.

    `held` is None when the wake is not known.
    """

    held: Held | None


@dataclasses.dataclass(frozen=True, slots=True)
class NotInTurn:
    """A disposition names a Watch that the turn is not about; nothing changed."""

    watch: str


Claimed: TypeAlias = Turn | turns.Hold | NotAttached


@dataclasses.dataclass(frozen=True, slots=True)
class Completion:
    """What a session says of a turn that it took.

    `dispositions` are by the name of the Watch, empty for the turn's first.
    """

    fence: int
    watch: ids.WatchUid
    generation: int
    tokens: int = 0
    dispositions: Mapping[str, tuple[wakes.DispositionOf, ...]] = dataclasses.field(
        default_factory=dict[str, tuple[wakes.DispositionOf, ...]]
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Ended:
    """Wakes that came to an end in a transaction, or were released to be offered again."""

    shown: Shown
    ended: tuple[wakes.OutcomeEvent, ...] = ()
    repeated: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done now, and when something is due next: `due` is None when nothing waits for a time."""

    notify: tuple[ids.WakeId, ...] = ()
    tell: tuple[sessions.Session, ...] = ()
    queued: Mapping[wakes.QueuedReason | None, int] = dataclasses.field(
        default_factory=dict[wakes.QueuedReason | None, int]
    )
    live_sessions: int = 0
    suspended_sessions: int = 0
    due: ids.Instant | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Retention:
    """How long what is over is kept, in seconds, and how much of the ledger.

    Of a final wake the text and the evidence go first, and its id, which keeps it from being told twice, much later.
    """

    texts_for: ids.Seconds = 7 * 86_400.0
    ids_for: ids.Seconds = 30 * 86_400.0
    sessions_for: ids.Seconds = 30 * 86_400.0
    ledger_for: ids.Seconds = 30 * 86_400.0
    ledger_entries_of_watch: int = 500
    ledger_entries: int = 100_000


class Store(Protocol):
    """The sidecar's memory."""

    async def open(self) -> None:
        """Bring the database to this version's form and be ready.

        Raises StoreError, also for a database of a newer version.
        """
        ...

    async def close(self) -> None:
        """Let go of the database."""
        ...

    async def ready(self) -> None:
        """Ask the database something. Raises StoreError."""
        ...

    async def submit(
        self, message: wakes.WakeMessage, ref: evidence.Ref | None, now: ids.Instant
    ) -> Submitted | OtherClaimed:
        """Hold this version of a wake, unless a newer one is held or it is claimed or ended.

        An older queued wake of the same Watch is withdrawn: events and notices are counted apart. One without `deliver`
        is Recorded.
        """
        ...

    async def withdraw(self, wake: ids.WakeId, now: ids.Instant) -> Ended | None:
        """Take a queued wake back; any other stays as it is. None when it is not known."""
        ...

    async def get(self, wake: ids.WakeId, now: ids.Instant) -> Shown | None:
        """One wake, and why it is not delivered yet."""
        ...

    async def attach(
        self, address: sessions.Address, said: sessions.Attachment, now: ids.Instant
    ) -> tuple[sessions.Session, int]:
        """Attach or renew a session; with it the number of wakes that wait for it."""
        ...

    async def detach(self, address: sessions.Address, now: ids.Instant) -> None:
        """The session is gone; one that is not known is so already."""
        ...

    async def claim(self, address: sessions.Address, request: str | None, user_turn: bool, now: ids.Instant) -> Claimed:
        """Hand out a turn, or say why there is none.

        The same `request` gets the turn that it got before, while that lasts.
        """
        ...

    async def renew(self, wake: ids.WakeId, fence: int, now: ids.Instant) -> ids.Instant | Stale:
        """Until when the turn's wakes are its own now."""
        ...

    async def release(self, wake: ids.WakeId, fence: int, now: ids.Instant) -> Ended | Stale:
        """Give a turn back: as if its lease had run out."""
        ...

    async def complete(self, wake: ids.WakeId, done: Completion, now: ids.Instant) -> Ended | Stale | NotInTurn:
        """The turn is done and its wakes are Delivered; the same completion again changes nothing."""
        ...

    async def expire(self, now: ids.Instant) -> tuple[wakes.OutcomeEvent, ...]:
        """End the turns whose lease has run out: their wakes are offered again, or Lost."""
        ...

    async def plan(self, now: ids.Instant) -> Plan:
        """What is to be done now, for every queued wake and session."""
        ...

    async def begin_notification(self, wake: ids.WakeId, now: ids.Instant, until: ids.Instant) -> Held | None:
        """Keep a queued wake for a notification until that time; None when its rung is another by now."""
        ...

    async def end_notification(
        self, wake: ids.WakeId, sequence: int, again_at: ids.Instant | None, now: ids.Instant
    ) -> tuple[wakes.OutcomeEvent, ...]:
        """The notification of this version was accepted, or is to be tried again at that time."""
        ...

    async def end_telling(self, address: sessions.Address, again_at: ids.Instant | None) -> None:
        """It was said that the session's waking is suspended (or given up), or is to be tried again at that time."""
        ...

    async def outcomes(self, after: int, limit: int) -> ports.OutcomePage:
        """The outcomes after a cursor.

        One that is ahead of all is of another database: it starts from the first again.
        """
        ...

    async def record(self, entries: Sequence[ledger.Verdict]) -> int:
        """Append verdicts to the ledger; those that it has are no second entry. How many are new."""
        ...

    async def ledger(self, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
        """The ledger of a Watch, the newest first."""
        ...

    async def prune(self, retention: Retention, now: ids.Instant) -> frozenset[evidence.Ref]:
        """Forget what is over for long enough; the evidence that may go."""
        ...

    async def evidence(self) -> frozenset[evidence.Ref]:
        """All evidence that a wake refers to."""
        ...
