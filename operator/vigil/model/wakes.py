"""What is handed to a session, and what became of it."""

import dataclasses
import enum

from vigil.model import ids, observations


class WakeType(enum.StrEnum):
    """What the message is; a notice is about the Watch itself and never starts a turn."""

    WAKE = "Wake"
    TERMINAL = "Terminal"
    NOTICE = "Notice"


class Mode(enum.StrEnum):
    """Whose context takes the turn: the session's own, or a fresh one for every wake."""

    SESSION = "Session"
    FRESH = "Fresh"


@dataclasses.dataclass(frozen=True, slots=True)
class SecretKey:
    """A key of a Secret in the Watch's own namespace."""

    name: str
    key: str


@dataclasses.dataclass(frozen=True, slots=True)
class Notify:
    """Where a notification goes: either a URL from a Secret, or a receiver that the operator's settings name."""

    url_from: SecretKey | None = None
    receiver: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Fresh:
    """What starts a fresh context for a wake: an endpoint or a command that the settings name, or a CronJob."""

    endpoint: str | None = None
    command: str | None = None
    cron_job: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Deliver:
    """How the news of a Watch reaches somebody (spec.deliver)."""

    session: str | None = None
    mode: Mode = Mode.SESSION
    wake: bool = True
    prompt: str = ""
    prompts: tuple[tuple[str, str], ...] = ()
    """(reason, prompt) pairs, sorted; the prompt of a reason takes the place of `prompt`."""
    notify: Notify | None = None
    fresh: Fresh | None = None
    """Set if and only if `mode` is FRESH."""

    def prompt_for(self, reason: str) -> str:
        """The prompt of a wake with this reason."""
        return dict(self.prompts).get(reason, self.prompt)


@dataclasses.dataclass(frozen=True, slots=True)
class WatchRef:
    """Which Watch: its uid says whether it is still the same one."""

    uid: ids.WatchUid
    namespace: str
    name: str
    generation: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class WakeEntry:
    """One entry as it is told: `subject` is the subject's label for people, `since` when it was first seen."""

    subject: str
    key: str
    severity: observations.Severity
    brief: str
    since: ids.Instant
    revision: str = ""
    outcome: observations.Outcome | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class WakeMessage:
    """One wake on its way to the sidecar.

    `sequence` counts the versions of one wake: it is amended until it is claimed, and an older version never replaces
    a newer one. `evidence` is the text of the evidence file, rendered from the snapshots.
    """

    id: ids.WakeId
    sequence: int
    watch: WatchRef
    type: WakeType
    reason: str
    brief: str
    entries: tuple[WakeEntry, ...]
    decided_at: ids.Instant
    observed_at: ids.Instant
    evidence: str
    deliver: Deliver | None
    kind: str = ""
    description: str = ""


class WakeState(enum.StrEnum):
    """Where a wake stands with the sidecar; all but the first two are outcomes and final."""

    QUEUED = "Queued"
    CLAIMED = "Claimed"
    DELIVERED = "Delivered"
    NOTIFIED = "Notified"
    RECORDED = "Recorded"
    WITHDRAWN = "Withdrawn"
    LOST = "Lost"


OUTCOMES = frozenset(WakeState) - {WakeState.QUEUED, WakeState.CLAIMED}
STAMPING = frozenset({WakeState.DELIVERED, WakeState.NOTIFIED, WakeState.RECORDED})
"""The outcomes after which the entries count as told."""
CHARGED = frozenset({WakeState.DELIVERED, WakeState.LOST})
"""The outcomes that cost a turn."""


class QueuedReason(enum.StrEnum):
    """Why a wake is not delivered yet: the reason of the condition `Delivered=False`."""

    BUSY = "Busy"
    NO_RECIPIENT = "NoRecipient"
    WAKING_SUSPENDED = "WakingSuspended"
    NOT_ALLOWED = "NotAllowed"
    BUDGET_EXCEEDED = "BudgetExceeded"
    UNREACHABLE = "Unreachable"
    """The sidecar did not answer; the operator's own word, never the sidecar's."""


class Disposition(enum.StrEnum):
    """What an agent says of an entry that it was told about."""

    OPEN = "open"
    DISPATCHED = "dispatched"
    CLAIMED = "claimed"
    PARKED = "parked"


@dataclasses.dataclass(frozen=True, slots=True)
class DispositionOf:
    """One disposition, bound to the entries with this key (of this subject label, or of all when it is empty)."""

    key: str
    disposition: Disposition
    subject: str = ""
    invariant: str = ""
    question: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class OutcomeEvent:
    """What became of one wake, in the order in which it happened.

    `cursor` orders the events of one sidecar. `sequence` is the version of the wake that was claimed or ended.
    `tokens` is 0 where no usage was reported.
    """

    cursor: int
    wake: ids.WakeId
    watch: ids.WatchUid
    state: WakeState
    sequence: int
    at: ids.Instant
    tokens: int = 0
    dispositions: tuple[DispositionOf, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class SubmitResult:
    """The sidecar's answer to a submitted version of a wake.

    `sequence` is the version that the sidecar holds: with CLAIMED or an outcome it may be older than the one
    submitted, which then had no effect. `reason` says why it is still queued.
    """

    state: WakeState
    sequence: int
    reason: QueuedReason | None = None
    event: OutcomeEvent | None = None
    """The outcome, where the wake has ended: the feed may be past it when a state was restored from an older copy."""
