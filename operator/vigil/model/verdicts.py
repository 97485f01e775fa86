"""What a tick decided, with a reason from a closed list that prints well and labels a metric."""

import dataclasses
import enum
from typing import NamedTuple, TypeAlias

from vigil.model import ids, observations


class QuietReason(enum.StrEnum):
    """Why nothing was sent. The order is the order of precedence: the first that applies is the reason."""

    SUSPENDED = "suspended"
    THROTTLED = "throttled"
    UNREADABLE = "unreadable"
    INCOMPLETE = "incomplete"
    IN_FLIGHT = "in-flight"
    SILENCED = "silenced"
    HOLDING = "holding"
    WITHHELD = "withheld"
    COALESCING = "coalescing"
    PARKED = "parked"
    HANDLED = "handled"
    PENDING = "pending"
    NOTHING_OPEN = "nothing-open"


class WakeReason(enum.StrEnum):
    """Why a turn is spent."""

    IMMEDIATE = "immediate"
    CONVERGED = "converged"
    WINDOW_CAP = "window-cap"
    UNDELAYED = "undelayed"
    FLOOR = "floor"
    STALLED = "stalled"
    BLIND = "blind"


class StopReason(enum.StrEnum):
    """Why the Watch ends without an end of its subject."""

    LIFETIME = "lifetime"
    ACTIVE_TIME = "active-time"
    TURNS = "turns"
    TOKENS = "tokens"
    PROVIDER_ERRORS = "provider-errors"
    STALLED = "stalled"
    SUPERSEDED = "superseded"
    QUESTION_EXPIRED = "question-expired"
    CANNOT_ACT = "cannot-act"


class Identity(NamedTuple):
    """What makes an entry the same entry: `revision` is None for entries that belong to the subject.

    A tuple, since the engine does little else than look identities up.
    """

    subject: ids.SubjectId
    key: str
    revision: str | None
    episode: str = ""


def identify(subject: ids.SubjectId, result: observations.ProbeResult, seen: observations.Observation) -> Identity:
    """The identity of an observation of this subject in this read."""
    revision = result.revision if seen.resets_on is observations.ResetsOn.REVISION else None
    return Identity(subject, seen.key, revision, seen.episode)


class Entry(NamedTuple):
    """An observation bound to its subject, as it is sent."""

    identity: Identity
    observation: observations.Observation


@dataclasses.dataclass(frozen=True, slots=True)
class Quiet:
    """Nothing is sent."""

    reason: QuietReason


@dataclasses.dataclass(frozen=True, slots=True)
class Wake:
    """One turn is asked for; `entries` is empty for a wake about blindness or a floor with nothing open."""

    entries: tuple[Entry, ...]
    brief: str
    reason: WakeReason


@dataclasses.dataclass(frozen=True, slots=True)
class Terminal:
    """Subjects came to their end; `outcome` is the worst of these entries."""

    entries: tuple[Entry, ...]
    outcome: observations.Outcome

    @property
    def reason(self) -> str:
        """`succeeded` or `failed`."""
        return self.outcome.value.lower()


@dataclasses.dataclass(frozen=True, slots=True)
class Stop:
    """The Watch ends because a limit was reached."""

    reason: StopReason


Verdict: TypeAlias = Quiet | Wake | Terminal | Stop
