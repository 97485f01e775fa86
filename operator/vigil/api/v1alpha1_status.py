"""The status of a Watch, as the API server stores it: every string and list is bounded."""

import enum
from typing import Annotated, Any, ClassVar, Final, TypeAlias

import pydantic

from vigil.api import schema
from vigil.model import failures, observations, wakes
from vigil.tick import phase as phases

ID_LIMIT: Final = 1024
LABEL_LIMIT: Final = 256
TEXT_LIMIT: Final = 256
KEY_LIMIT: Final = observations.KEY_LIMIT
PREFIXED_KEY_LIMIT: Final = LABEL_LIMIT + 1 + KEY_LIMIT
MESSAGE_LIMIT: Final = 1024
DOCUMENT_LIMIT: Final = 32768
MAX_SUBJECTS: Final = 50
MAX_OBSERVATIONS: Final = 150
MAX_KEYS: Final = 150
MAX_WAKES: Final = 5


class SubjectPhase(enum.StrEnum):
    """Where one subject stands."""

    PENDING = "Pending"
    WATCHING = "Watching"
    UNREADABLE = "Unreadable"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


class Standing(enum.StrEnum):
    """What became of an observation so far."""

    OPEN = "Open"
    HOLDING = "Holding"
    WITHHELD = "Withheld"
    COALESCING = "Coalescing"
    SENT = "Sent"
    ALERTED = "Alerted"
    DISPATCHED = "Dispatched"
    CLAIMED = "Claimed"
    PARKED = "Parked"


class VerdictType(enum.StrEnum):
    """The type of a verdict."""

    QUIET = "Quiet"
    WAKE = "Wake"
    TERMINAL = "Terminal"
    STOP = "Stop"


class ConditionType(enum.StrEnum):
    """The conditions of a Watch, in their order."""

    READY = "Ready"
    RECONCILING = "Reconciling"
    STALLED = "Stalled"
    OBSERVED = "Observed"
    DELIVERED = "Delivered"
    WITHIN_BUDGET = "WithinBudget"


class ConditionStatus(enum.StrEnum):
    """The three values of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class _Status(schema.Model):
    """The base of what the operator writes, by names, and reads again, where another version may have written more."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        strict=False, extra="ignore", validate_by_name=True
    )


Text: TypeAlias = Annotated[str, pydantic.Field(max_length=TEXT_LIMIT)]
Label: TypeAlias = Annotated[str, pydantic.Field(max_length=LABEL_LIMIT)]
Message: TypeAlias = Annotated[str, pydantic.Field(max_length=MESSAGE_LIMIT)]
Reason: TypeAlias = Annotated[str, pydantic.Field(max_length=64)]
Time: TypeAlias = Annotated[str, pydantic.Field(json_schema_extra={"format": "date-time"}, max_length=64)]
Key: TypeAlias = Annotated[str, pydantic.Field(max_length=KEY_LIMIT)]
Keys: TypeAlias = Annotated[
    tuple[Annotated[str, pydantic.Field(max_length=PREFIXED_KEY_LIMIT)], ...],
    pydantic.Field(max_length=MAX_KEYS, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
]
Number: TypeAlias = Annotated[int, pydantic.Field(json_schema_extra={"format": "int64"})]
_ATOMIC: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}


class Condition(_Status):
    """A condition as every Kubernetes resource has it."""

    type: Annotated[str, pydantic.Field(max_length=316)]
    status: ConditionStatus
    reason: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$", max_length=1024)]
    message: Annotated[str, pydantic.Field(max_length=32768)]
    last_transition_time: Time = pydantic.Field(description="When `status` last changed.")
    observed_generation: Number


class SubjectError(_Status):
    """Why a subject, or a part of it, could not be read."""

    category: failures.Category
    message: Annotated[str, pydantic.Field(max_length=failures.MESSAGE_LIMIT)] = ""


class SubjectStatus(_Status):
    """What is known of one subject."""

    id: Annotated[str, pydantic.Field(max_length=ID_LIMIT)] = pydantic.Field(description="Its stable name.")
    label: Label = pydantic.Field(description="Its name for people.")
    phase: SubjectPhase
    revision: Text | None = pydantic.Field(default=None, description="The revision of its last read.")
    anchor: Annotated[str, pydantic.Field(max_length=ID_LIMIT)] | None = pydantic.Field(
        default=None, description="The provider's own id of it."
    )
    last_error: SubjectError | None = pydantic.Field(
        default=None,
        description="Why its last read failed, or a part of it. The message is that of the first such read.",
    )


class ObservationStatus(_Status):
    """One open entry."""

    subject: Label
    key: Key
    severity: observations.Severity
    state: Standing = pydantic.Field(description="What became of it so far.")
    since: Time = pydantic.Field(description="When it was first shown.")
    brief: Text = pydantic.Field(default="", description="What it is about, as it was first told.")
    revision: Text | None = pydantic.Field(default=None, description="The revision that clears it, if one does.")
    episode: Text | None = pydantic.Field(default=None, description="What it was about, where the kind says so.")


class VerdictStatus(_Status):
    """What the last decision was."""

    type: VerdictType
    reason: Reason
    keys: Keys = pydantic.Field(
        default=(), description="The keys that a wake tells, as subject#key of several subjects."
    )
    since: Time = pydantic.Field(description="Since when every decision was this one.")


class WakeStatus(_Status):
    """One of the last wakes."""

    id: Annotated[str, pydantic.Field(max_length=128)]
    type: wakes.WakeType
    reason: Reason
    state: wakes.WakeState
    keys: Keys = ()
    at: Time = pydantic.Field(description="When it was decided.")


class Limits(_Status):
    """The budgets; one that is absent has no limit."""

    turns: Number | None = None
    tokens: Number | None = None
    provider_errors: Number | None = None
    active_time: Annotated[str, pydantic.Field(max_length=32)] | None = None
    lifetime: Annotated[str, pydantic.Field(max_length=32)] | None = None


class BudgetStatus(_Status):
    """What was spent since the Watch was armed."""

    turns: Number
    tokens: Number
    limits: Limits


class Summary(_Status):
    """What the columns of `kubectl get watches` show."""

    subject: Annotated[str, pydantic.Field(max_length=LABEL_LIMIT + 8)] = pydantic.Field(
        description="The first subject, and how many more there are."
    )
    open: Number = pydantic.Field(description="How many entries are open.")
    wakes: Number = pydantic.Field(description="How many wakes were made.")
    turns: Annotated[str, pydantic.Field(max_length=48)] = pydantic.Field(
        description="Turns spent, and how many may be: 3/8."
    )


class Engine(_Status):
    """The engine's own memory; nobody else's business."""

    version: Number
    document: Annotated[str, pydantic.Field(max_length=DOCUMENT_LIMIT)]
    quarantined: Annotated[str, pydantic.Field(max_length=DOCUMENT_LIMIT)] | None = pydantic.Field(
        default=None, description="An earlier document that could not be read, kept as it was."
    )


class WatchStatus(_Status):
    """What the operator found and did."""

    observed_generation: Number | None = pydantic.Field(default=None, description="The generation that this is about.")
    phase: phases.Phase | None = pydantic.Field(default=None, description="Where the Watch stands, in one word.")
    conditions: tuple[Condition, ...] = pydantic.Field(
        default=(),
        max_length=16,
        description="Ready: the Watch is being evaluated, or has come to its end; never that its subject is good.",
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    )
    summary: Summary | None = pydantic.Field(
        default=None, description="What the columns of `kubectl get watches` show."
    )
    subjects: tuple[SubjectStatus, ...] = pydantic.Field(
        default=(), max_length=MAX_SUBJECTS, description="What is known of each subject.", json_schema_extra=_ATOMIC
    )
    observations: tuple[ObservationStatus, ...] = pydantic.Field(
        default=(), max_length=MAX_OBSERVATIONS, description="The open entries.", json_schema_extra=_ATOMIC
    )
    verdict: VerdictStatus | None = pydantic.Field(default=None, description="What the last decision was.")
    wakes: tuple[WakeStatus, ...] = pydantic.Field(
        default=(), max_length=MAX_WAKES, description="The last wakes, newest first.", json_schema_extra=_ATOMIC
    )
    budget: BudgetStatus | None = pydantic.Field(default=None, description="What was spent.")
    engine: Engine | None = pydantic.Field(default=None, description="The engine's own memory; nobody else's business.")
