"""The seams of the core: what the tick and the scheduler need of the world, and nothing of how it is done."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias, TypeVar

from vigil.kind import api as kind_api
from vigil.kind import transport
from vigil.model import failures, ids, verdicts, wakes


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> ids.Instant:
        """The wall clock, seconds since the epoch, UTC. It may step back."""
        ...

    def monotonic(self) -> ids.Seconds:
        """A clock that never steps back, for lengths of time within one process."""
        ...

    async def sleep(self, delay: ids.Seconds) -> None:
        """Wait for so many seconds; 0 only yields."""
        ...


class SaveResult(enum.StrEnum):
    """What became of a checkpoint that was to be stored."""

    SAVED = "saved"
    GONE = "gone"
    """The Watch is no more: its result is dropped, quietly and for good."""
    STALE = "stale"
    """The Watch has a newer generation: the result is dropped, and decided again for the new one."""
    PRUNED = "pruned"
    """Less came back than was sent: nothing may be delivered on memory that cannot be kept."""
    FAILED = "failed"
    """Not stored this time: it is stored along with the next change, and nothing is delivered before."""


C_contra = TypeVar("C_contra", contravariant=True)


class StateStore(Protocol[C_contra]):
    """Where the checkpoint of a Watch is kept: its status in a cluster, a file without one."""

    async def save(self, checkpoint: C_contra) -> SaveResult:
        """Store the Watch as a whole; never raises."""
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """A transport bound to a host and a credential.

    `account` names the credential by what it is and not by where it lies (a digest, never the secret): two Secrets
    with the same token are one account with the provider, and share its limits.
    """

    account: str
    transport: transport.Transport


class Transports(Protocol):
    """Where the transports of the groups come from: Secrets, the guarded client, the API server."""

    async def bind(
        self, kind: kind_api.Kind, host: str, namespace: str, credential: wakes.SecretKey | None
    ) -> Bound | failures.Failure:
        """Bind a kind to a host with a credential of this namespace; cheap, since what it reads is cached.

        The same host and credential give the same transport, so that the readers keep their memory. Never raises.

        The Failure is `config` (no such Secret or key, or a host that the Secret does not allow), `forbidden` (the
        Secret may not be read) or one that heals.
        """
        ...


class DeliveryError(Exception):
    """The sidecar could not be asked: nothing is known of what became of the request, and it is repeated."""

    def __init__(self, failure: failures.Failure) -> None:
        super().__init__(f"{failure.category}: {failure.message}")
        self.failure = failure


@dataclasses.dataclass(frozen=True, slots=True)
class OutcomePage:
    """Some outcomes in order, and the cursor from which to ask for the next ones."""

    events: Sequence[wakes.OutcomeEvent]
    cursor: int


class Delivery(Protocol):
    """The sidecar, as the operator sees it."""

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """Put one version of a wake: an upsert until it is claimed. Raises DeliveryError."""
        ...

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """Take a wake back if it is not claimed; an unknown one counts as withdrawn. Raises DeliveryError."""
        ...

    async def outcomes(self, after: int, wait: ids.Seconds) -> OutcomePage:
        """The outcomes after a cursor, waiting up to so many seconds for the first. Raises DeliveryError."""
        ...


# What the core says about itself: a record is a fact that just happened, and who listens decides what to make of it.


class StatusWriteError(enum.StrEnum):
    """Why a status could not be written, in a closed list that is also the metric's label."""

    CONFLICT = "conflict"
    """The Watch changed under the write, again and again."""
    PRUNED = "pruned"
    """Less came back than was sent: the schema of the cluster is not ours."""
    FORBIDDEN = "forbidden"
    INVALID = "invalid"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeDone:
    """A plural read of so many `subjects` ended at `at` after `seconds`; `failed` counts those that were not read."""

    kind: str
    subjects: int
    seconds: ids.Seconds
    at: ids.Instant
    failed: Mapping[failures.Category, int] = dataclasses.field(default_factory=dict[failures.Category, int])


@dataclasses.dataclass(frozen=True, slots=True)
class TickDone:
    """One Watch was decided, `lateness` seconds after it was due."""

    kind: str
    verdict: verdicts.Verdict
    lateness: ids.Seconds


@dataclasses.dataclass(frozen=True, slots=True)
class WakeEnded:
    """A wake came to its outcome; `tokens` is 0 where no usage was reported."""

    state: wakes.WakeState
    tokens: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class QueueChanged:
    """The reason for which one wake is not delivered changed; None is a wake that is not, or no longer, held up."""

    old: wakes.QueuedReason | None
    new: wakes.QueuedReason | None


@dataclasses.dataclass(frozen=True, slots=True)
class PhaseChanged:
    """One Watch changed its phase; `old` is None for one that is new to this process, `new` for one that is gone."""

    kind: str
    old: str | None
    new: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class BlindChanged:
    """One Watch became blind (`blindAfter` failed ticks in a row), or sees again, or is gone."""

    kind: str
    blind: bool


@dataclasses.dataclass(frozen=True, slots=True)
class PacedChanged:
    """One Watch began to be read more seldom for its credential's allowance to last, or has its own cadence again."""

    kind: str
    paced: bool


@dataclasses.dataclass(frozen=True, slots=True)
class OutageChanged:
    """A whole group of several Watches fails, fails otherwise, or answers again or is gone (`new` is None)."""

    kind: str
    old: failures.Category | None
    new: failures.Category | None


@dataclasses.dataclass(frozen=True, slots=True)
class RateLimit:
    """What the provider said at `at` of one credential's allowance; `credential` is a name of it, never a secret."""

    host: str
    credential: str
    limit: int
    remaining: int
    resets_at: ids.Instant
    at: ids.Instant


@dataclasses.dataclass(frozen=True, slots=True)
class TimerLost:
    """The timer of one Watch went silent; the scheduler ticks it all the same."""

    kind: str


@dataclasses.dataclass(frozen=True, slots=True)
class StatusWriteFailed:
    """A status was not written; it is written along with the next change."""

    reason: StatusWriteError


@dataclasses.dataclass(frozen=True, slots=True)
class LeadershipChanged:
    """This replica became the active one, or is it no longer."""

    leading: bool


Record: TypeAlias = (
    ProbeDone
    | TickDone
    | WakeEnded
    | QueueChanged
    | PhaseChanged
    | BlindChanged
    | PacedChanged
    | OutageChanged
    | RateLimit
    | TimerLost
    | StatusWriteFailed
    | LeadershipChanged
)


class Signals(Protocol):
    """Where the core says what happened: called often and from any thread, it returns at once and never raises."""

    def emit(self, record: Record) -> None:
        """Take note of one record."""
        ...
