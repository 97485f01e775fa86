"""Which pods belong to a workload, and why one of them will not get any further by itself. Pure."""

import dataclasses
import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, assert_never

from vigil.model import ids
from vigil_kinds.kubernetes_rollout import raw, text

CRASH_LOOP: Final = "CrashLoopBackOff"
IMAGE_PULL: Final = "ImagePullBackOff"
UNSCHEDULABLE: Final = "Unschedulable"
STUCK: Final = "TerminationStuck"

CRASHES: Final = 3
"""From so many restarts on, a container that failed and runs again is still in its crash loop."""

CALM_AFTER: Final = 600.0
"""Seconds after which the kubelet forgets the crashes of a container that runs."""

STUCK_AFTER: Final = 300.0
"""Seconds past its grace period after which the end of a pod is stuck: its node is gone, or a finalizer stays."""

_STARTING = frozenset({"", "ContainerCreating", "PodInitializing"})
_SAME = {"ErrImagePull": IMAGE_PULL}
_GATED = "SchedulingGated"
_ENDED = frozenset({"Succeeded", "Failed"})


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Blocker:
    """One reason, where it was seen, and what the cluster says about it."""

    reason: str
    where: str
    message: str


def belongs(pod: raw.Pod, workload: raw.Object) -> bool:
    """Whether the workload owns the pod; a Deployment owns by way of its ReplicaSets, so its selector decides."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    match workload:
        case raw.Deployment():
            return owner.kind == "ReplicaSet" and selects(workload.spec.selector, pod.metadata.labels)
        case raw.StatefulSet() | raw.DaemonSet() | raw.Job():
            return owner.uid == workload.metadata.uid
        case _:
            assert_never(workload)


def selects(selector: raw.Selector, labels: Mapping[str, str]) -> bool:
    """Whether the selector matches; an empty one matches nothing here, since no workload may have it."""
    if not selector.match_labels and not selector.match_expressions:
        return False
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _meets(requirement, labels) for requirement in selector.match_expressions
    )


def _meets(requirement: raw.Requirement, labels: Mapping[str, str]) -> bool:
    present = requirement.key in labels
    listed = labels.get(requirement.key) in requirement.values
    return {"In": listed, "NotIn": not listed, "Exists": present, "DoesNotExist": not present}.get(
        requirement.operator, False
    )


def label_selector(selector: raw.Selector) -> str:
    """The same selector as a value of the parameter `labelSelector`; "" if a part of it cannot be said there."""
    parts = [f"{key}={value}" for key, value in sorted(selector.match_labels.items())]
    for requirement in selector.match_expressions:
        match requirement.operator:
            case "In" | "NotIn":
                parts.append(f"{requirement.key} {requirement.operator.lower()} ({','.join(requirement.values)})")
            case "Exists":
                parts.append(requirement.key)
            case "DoesNotExist":
                parts.append(f"!{requirement.key}")
            case _:
                return ""
    return ",".join(parts)


def blockers(pod: raw.Pod, now: ids.Instant) -> Sequence[Blocker]:
    """Why this pod will not get any further by itself: none for one that runs, starts or has ended."""
    where = f"pod {pod.metadata.name}"
    if pod.metadata.deletion_timestamp:
        since = _instant(pod.metadata.deletion_timestamp)
        stuck = since is not None and now - since >= STUCK_AFTER
        return [Blocker(STUCK, where, f"should have ended at {pod.metadata.deletion_timestamp}")] if stuck else []
    if pod.status.phase in _ENDED:
        return []
    return [*_scheduling(pod, where), *_containers(pod, where, now)]


def _scheduling(pod: raw.Pod, where: str) -> Iterator[Blocker]:
    scheduled = pod.status.find("PodScheduled")
    if scheduled is not None and scheduled.status == "False" and scheduled.reason != _GATED:
        yield Blocker(_reason(scheduled.reason or UNSCHEDULABLE), where, scheduled.message)


def _containers(pod: raw.Pod, where: str, now: ids.Instant) -> Iterator[Blocker]:
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        reason = _waits_for(container) or (CRASH_LOOP if _crashes(container, now) else "")
        if reason:
            yield Blocker(_reason(reason), f"{where}, container {container.name}", _message(container))


def _waits_for(container: raw.Container) -> str:
    waiting = container.state.waiting
    return "" if waiting is None or waiting.reason in _STARTING else _SAME.get(waiting.reason, waiting.reason)


def _crashes(container: raw.Container, now: ids.Instant) -> bool:
    """Whether a container that happens to run, or has just crashed, is in a crash loop all the same."""
    if container.restart_count < CRASHES:
        return False
    if container.state.terminated is not None:
        return container.state.terminated.exit_code != 0
    last, running = container.last_state.terminated, container.state.running
    if last is None or last.exit_code == 0 or running is None:
        return False
    started = _instant(running.started_at)
    return started is not None and now - started < CALM_AFTER


def _message(container: raw.Container) -> str:
    ended = container.state.terminated or container.last_state.terminated
    if ended is not None:
        told = " ".join(part for part in (ended.reason, ended.message) if part)
        return f"last exit code {ended.exit_code}" + (f", {told}" if told else "")
    return container.state.waiting.message if container.state.waiting is not None else ""


def _reason(word: str) -> str:
    return text.cut(word, text.REASON_LIMIT)


def _instant(timestamp: str) -> ids.Instant | None:
    """The time of an RFC 3339 text, or None if it is none."""
    try:
        moment = datetime.datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def is_well(item: Any) -> bool:
    """Whether a raw pod surely has nothing to tell: it runs, is ready, hardly ever restarted, and stays.

    Anything odd is not well.
    """
    match item:
        case {"metadata": {"deletionTimestamp": str()}}:
            return False
        case {"status": {"conditions": [*conditions]}} if any(map(_is_unready, conditions)):
            return False
        case {"status": {"phase": "Running", "containerStatuses": [*containers]}}:
            return all(_is_calm(container) for container in containers)
        case _:
            return False


def _is_unready(condition: Any) -> bool:
    """Whether it says that the pod is not ready: its node may be lost, or a readiness gate closed."""
    match condition:
        case {"type": "Ready", "status": str(status)}:
            return status != "True"
        case _:
            return False


def _is_calm(container: Any) -> bool:
    match container:
        case {"ready": True, "restartCount": int(restarts)}:
            return restarts < CRASHES
        case _:
            return False
