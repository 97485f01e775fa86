"""How far a workload's rollout or run has come, by its own counters and conditions. Pure.

- A status that is older than the spec says nothing.
- Counters win over the text of a condition: a reason may be stale, and some controllers never set one.
- Ready pods prove nothing while some of them are old.
"""

import dataclasses
import enum
import hashlib
import json
from collections.abc import Mapping
from typing import Final, assert_never

from vigil_kinds.kubernetes_rollout import raw, text

ON_DELETE: Final = "OnDelete"
ROLLED_OUT_BEFORE: Final = "NewReplicaSetAvailable"


class Standing(enum.Enum):
    """Where a workload stands."""

    UNOBSERVED = "not yet observed by its controller"
    MOVING = "under way"
    PAUSED = "paused"
    DEGRADED = "degraded"
    DONE = "complete"
    FAILED = "failed"


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """A workload's standing, in words too, and the reasons of a stall that its conditions give, with their messages."""

    standing: Standing
    brief: str
    reasons: Mapping[str, str] = dataclasses.field(default_factory=dict[str, str])

    @property
    def asks_for_pods(self) -> bool:
        """Whether its pods may know more: it is unfinished and not held by its owner, or it has lost pods."""
        return self.standing in (Standing.MOVING, Standing.DEGRADED)


def assess(workload: raw.Object) -> Progress:
    """The progress of any workload."""
    match workload:
        case raw.Job():
            return _job(workload)
        case raw.Deployment() | raw.StatefulSet() | raw.DaemonSet():
            return _early(workload) or _counted(workload)
        case _:
            assert_never(workload)


def revision(workload: raw.Object) -> str:
    """What a rollout or a run is about: the object's uid and, but for a Job, a digest of its pod template.

    The generation would change with each scaling, which rolls nothing out.
    """
    if isinstance(workload, raw.Job):
        return workload.metadata.uid
    template = json.dumps(workload.spec.template, sort_keys=True, separators=(",", ":"))
    return f"{workload.metadata.uid}/{hashlib.sha256(template.encode()).hexdigest()[:12]}"


def _early(workload: raw.Deployment | raw.StatefulSet | raw.DaemonSet) -> Progress | None:
    observed, generation = workload.status.observed_generation, workload.metadata.generation
    if 0 in (observed, generation) or observed < generation:
        return Progress(Standing.UNOBSERVED, Standing.UNOBSERVED.value)
    if workload.metadata.deletion_timestamp:
        return Progress(Standing.MOVING, "is being deleted")
    return None


def _counted(workload: raw.Deployment | raw.StatefulSet | raw.DaemonSet) -> Progress:
    match workload:
        case raw.Deployment():
            return _deployment(workload)
        case raw.StatefulSet():
            return _stateful_set(workload)
        case raw.DaemonSet():
            return _daemon_set(workload)
        case _:
            assert_never(workload)


def _counts(updated: int, wanted: int, available: int, note: str = "") -> str:
    return f"{updated} of {wanted} updated{note}, {available} available"


def _deployment(deployment: raw.Deployment) -> Progress:
    status, wanted, paused = deployment.status, deployment.spec.replicas, deployment.spec.paused
    counts = _counts(status.updated_replicas, wanted, status.available_replicas) + _leaving(status)
    only_new = status.replicas == status.updated_replicas == wanted
    available = status.available_replicas >= wanted
    if only_new and available and status.terminating_replicas == 0 and not (paused and wanted == 0):
        return Progress(Standing.DONE, counts if wanted else "scaled to zero")
    if paused:
        return Progress(Standing.PAUSED, f"paused: {counts}")
    progressing = status.find("Progressing")
    if only_new and not available and progressing is not None and progressing.reason == ROLLED_OUT_BEFORE:
        return Progress(Standing.DEGRADED, counts)
    return Progress(Standing.MOVING, counts, _reasons(status))


def _leaving(status: raw.DeploymentStatus) -> str:
    old = max(0, status.replicas - status.updated_replicas)
    parts = {"old": old, "terminating": status.terminating_replicas}
    return "".join(f", {number} {word}" for word, number in parts.items() if number)


def _reasons(status: raw.DeploymentStatus) -> Mapping[str, str]:
    progressing = status.find("Progressing")
    told = [
        progressing if progressing is not None and progressing.status == "False" else None,
        status.true("ReplicaFailure"),
    ]
    return {text.cut(c.reason or c.type, text.REASON_LIMIT): c.message for c in told if c is not None}


def _stateful_set(stateful: raw.StatefulSet) -> Progress:
    spec, status, wanted = stateful.spec, stateful.status, stateful.spec.replicas
    on_delete = spec.update_strategy.type == ON_DELETE
    partition = 0 if on_delete else spec.update_strategy.rolling_update.partition
    target = max(0, wanted - partition)
    ready = _at_least_ready(status.available_replicas, status.ready_replicas, spec.min_ready_seconds)
    counts = _counts(status.updated_replicas, wanted, ready, f" (partition {partition})" if partition else "")
    two_revisions = status.current_revision != status.update_revision
    if on_delete and status.replicas > status.updated_replicas:
        return _awaiting_deletion(status.replicas - status.updated_replicas, counts)
    if two_revisions and partition and target == 0 < wanted:
        return Progress(Standing.PAUSED, f"partition {partition} keeps all pods on the old revision; {counts}")
    if status.replicas == wanted and status.updated_replicas >= target:
        if ready >= wanted:
            return Progress(Standing.DONE, counts if wanted else "scaled to zero")
        if on_delete or not two_revisions:
            return Progress(Standing.DEGRADED, counts)
    return Progress(Standing.MOVING, counts)


def _daemon_set(daemon: raw.DaemonSet) -> Progress:
    spec, status, wanted = daemon.spec, daemon.status, daemon.status.desired_number_scheduled
    if wanted is None:
        return Progress(Standing.UNOBSERVED, Standing.UNOBSERVED.value)
    ready = _at_least_ready(status.number_available, status.number_ready, spec.min_ready_seconds)
    counts = _counts(status.updated_number_scheduled, wanted, ready)
    old = status.current_number_scheduled - status.updated_number_scheduled
    if spec.update_strategy.type == ON_DELETE and old > 0:
        return _awaiting_deletion(old, counts)
    if status.updated_number_scheduled >= wanted:
        if ready >= wanted:
            return Progress(Standing.DONE, counts if wanted else "0 nodes match")
        return Progress(Standing.DEGRADED, counts)
    return Progress(Standing.MOVING, counts)


def _awaiting_deletion(pods: int, counts: str) -> Progress:
    return Progress(Standing.PAUSED, f"{'1 pod waits' if pods == 1 else f'{pods} pods wait'} for deletion; {counts}")


def _at_least_ready(available: int, ready: int, min_ready_seconds: int) -> int:
    """The available pods: without minReadySeconds a ready one is available by definition, but the counter may lag."""
    return available if min_ready_seconds else max(available, ready)


def _job(job: raw.Job) -> Progress:
    status = job.status
    counts = f"{status.succeeded} succeeded, {status.failed} failed"
    failed = status.true("Failed")
    if failed is not None:
        told = ": ".join(part for part in (failed.reason, text.cut(failed.message, text.MESSAGE_LIMIT)) if part)
        return Progress(Standing.FAILED, f"{told}; {counts}" if told else counts)
    if status.true("Complete") is not None:
        return Progress(Standing.DONE, counts)
    if job.metadata.deletion_timestamp:
        return Progress(Standing.MOVING, "is being deleted")
    if job.spec.suspend:
        return Progress(Standing.PAUSED, f"suspended; {counts}")
    return Progress(Standing.MOVING, f"{status.active} active, {counts}")
