"""What a tick leaves behind: everything from which the status of a Watch is rendered and its memory restored."""

import dataclasses
from collections.abc import Mapping

from vigil.model import failures, ids, observations, readings, states, verdicts, wakes
from vigil.tick import enrolment


@dataclasses.dataclass(frozen=True, slots=True)
class WakeRecord:
    """One of the last wakes of a Watch, as its status shows it."""

    id: ids.WakeId
    type: wakes.WakeType
    reason: str
    state: wakes.WakeState
    keys: tuple[str, ...]
    at: ids.Instant


@dataclasses.dataclass(frozen=True, slots=True)
class DeliveryTrouble:
    """Why the wake in flight is not delivered: the reason of the condition `Delivered=False`."""

    reason: wakes.QueuedReason
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Checkpoint:
    """The Watch after one tick.

    `reading` holds the latest reading of each live subject, `verdict` is None before the first decision. `since` says
    when each open entry was first shown, `anchors` the provider's own ids. `wakes` are the last few wakes, newest
    first. `quarantined` is the reason for which the stored document could not be used (`StateVersionUnknown`: nothing
    is decided; `StateUnreadable`: a fresh document was begun); `blocked` a reason outside the reading
    (`StatusPruned`). `paced` is the time between two reads where it is longer than the Watch's own, since the allowance
    of its credential has to last.
    """

    watch: enrolment.Enrolment
    state: states.State
    verdict: verdicts.Verdict | None = None
    reading: readings.Reading = dataclasses.field(default_factory=dict[ids.SubjectId, observations.ReadingOf])
    since: Mapping[verdicts.Identity, ids.Instant] = dataclasses.field(
        default_factory=dict[verdicts.Identity, ids.Instant]
    )
    anchors: Mapping[ids.SubjectId, str] = dataclasses.field(default_factory=dict[ids.SubjectId, str])
    wakes: tuple[WakeRecord, ...] = ()
    trouble: DeliveryTrouble | None = None
    quarantined: str = ""
    quarantined_document: str = ""
    blocked: failures.Failure | None = None
    paced: ids.Seconds | None = None
