"""The pure half: what a workload, as it was read, says about the objective.

The payload is made of raw objects of the API server:
- `subject`: `{workload, namespace, name}`, as the Watch names it
- `workload`: the object, null if there is none
- `lastSeen`: the object as an earlier read saw it, only where `workload` is null and it is still known
- `seen`: whether any earlier read saw it; `absentSince`: when it was first found absent (seconds since the epoch)
- `pods`: those of its pods that are not well, null if they were not asked for; `podsError`: why they are not all there
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, assert_never

import pydantic

from vigil.kind import api, durations, transport
from vigil.model import failures, ids, observations
from vigil_kinds.kubernetes_rollout import pods, progress, raw, subject, text

PARTS: Final = ("subject", "workload", "lastSeen", "seen", "absentSince", "pods", "podsError")

RECHECK_SECONDS: Final = 10.0
"""A controller that has not yet seen a new spec is about to."""

_MODELS: Final[Mapping[subject.Workload, type[raw.Object]]] = {
    subject.Workload.DEPLOYMENT: raw.Deployment,
    subject.Workload.STATEFUL_SET: raw.StatefulSet,
    subject.Workload.DAEMON_SET: raw.DaemonSet,
    subject.Workload.JOB: raw.Job,
}

REVISION: Final = observations.ResetsOn.REVISION
WAKE: Final = observations.Severity.WAKE
TERMINAL: Final = observations.Severity.TERMINAL


class _Subject(raw.Raw):
    workload: str
    namespace: str
    name: str


class _PodsError(raw.Raw):
    category: str
    message: str
    retry_after: float | None = pydantic.Field(default=None, ge=0, allow_inf_nan=False)


class _Payload(raw.Raw):
    subject: _Subject
    workload: dict[str, Any] | None = None
    last_seen: dict[str, Any] | None = None
    seen: bool
    absent_since: float | None = pydantic.Field(default=None, allow_inf_nan=False)
    pods: list[raw.Pod] | None = None
    pods_error: _PodsError | None = None


def parse(workload: subject.Workload, value: object) -> raw.Object:
    """The raw object as a workload of that sort; raises ReadError `malformed`."""
    return raw.parse(_MODELS[workload], value, f"the {workload}")


def observe(
    snapshot: api.Snapshot, objective: str, options: subject.RolloutOptions, now: ids.Instant
) -> observations.ProbeResult:
    """The entries of one workload.

    Raises transport.ReadError: `malformed`; `not_found` for a workload that did not appear in time; `config` for an
    objective that does not fit the workload.
    """
    payload = _payload(snapshot.payload)
    sort = _sort(payload.subject, objective)
    if payload.workload is not None:
        return _present(parse(sort, payload.workload), payload, now)
    if payload.seen:
        return _gone(None if payload.last_seen is None else parse(sort, payload.last_seen))
    return _awaited(payload, options, now)


def _payload(value: object) -> _Payload:
    parts = raw.mapping(value) or {}
    missing = [part for part in PARTS if part not in parts]
    if missing:
        raise raw.malformed(f"the snapshot has no part {missing[0]}")
    return raw.parse(_Payload, value, "the snapshot")


def _sort(named: _Subject, objective: str) -> subject.Workload:
    try:
        sort = subject.Workload(named.workload)
    except ValueError as error:
        raise raw.malformed(f"the snapshot is of no known workload: {text.cut(named.workload, 60)}") from error
    if (sort is subject.Workload.JOB) != (objective == subject.JOB_COMPLETE):
        raise transport.ReadError(
            failures.Failure(failures.Category.CONFIG, f"the objective {objective} does not fit a {sort}")
        )
    return sort


def _present(workload: raw.Object, payload: _Payload, now: ids.Instant) -> observations.ProbeResult:
    state = progress.assess(workload)
    told = _blocked(payload.pods or () if state.asks_for_pods else (), now)
    entries = _entries(workload, state, told)
    # Lost pods are a fact without a reason; that nothing blocks a rollout is one only if all its pods were read.
    unread = state.standing is progress.Standing.MOVING and (payload.pods is None or payload.pods_error is not None)
    return observations.ProbeResult(
        observations=tuple(sorted(entries, key=lambda entry: (entry.key, entry.episode))),
        revision=progress.revision(workload),
        complete=not unread,
        error=_failure(payload.pods_error) if unread else None,
        pending=0 if entries else 1,
        recheck_after=RECHECK_SECONDS if state.standing is progress.Standing.UNOBSERVED else None,
    )


def _failure(error: _PodsError | None) -> failures.Failure | None:
    if error is None:
        return None
    known = error.category in list(failures.Category)
    category = failures.Category(error.category) if known else failures.Category.UNKNOWN
    return failures.Failure(category, error.message, error.retry_after)


def _blocked(seen: Sequence[raw.Pod], now: ids.Instant) -> Mapping[str, Sequence[pods.Blocker]]:
    by_reason: dict[str, list[pods.Blocker]] = {}
    for blocker in sorted(blocker for pod in seen for blocker in pods.blockers(pod, now)):
        by_reason.setdefault(blocker.reason, []).append(blocker)
    return by_reason


def _entries(
    workload: raw.Object, state: progress.Progress, told: Mapping[str, Sequence[pods.Blocker]]
) -> list[observations.Observation]:
    job = isinstance(workload, raw.Job)
    match state.standing:
        case progress.Standing.UNOBSERVED:
            return []
        case progress.Standing.MOVING:
            return _stalled(state, told)
        case progress.Standing.DEGRADED:
            return [_degraded(state, told)]
        case progress.Standing.PAUSED:
            return [_entry("job-suspended" if job else "paused", WAKE, state.brief)]
        case progress.Standing.DONE:
            key = "job-complete" if job else "rolled-out"
            return [_entry(key, TERMINAL, state.brief, outcome=observations.Outcome.SUCCEEDED)]
        case progress.Standing.FAILED:
            return [_entry("job-failed", TERMINAL, state.brief, outcome=observations.Outcome.FAILED)]
        case _:
            assert_never(state.standing)


def _stalled(state: progress.Progress, told: Mapping[str, Sequence[pods.Blocker]]) -> list[observations.Observation]:
    """One entry a reason, which is its episode; an autoscaler may yet bring the node that a pod waits for."""
    lines = {reason: _line(reason, message) for reason, message in state.reasons.items()}
    lines |= {reason: _pods_line(reason, found) for reason, found in told.items()}
    return [
        _entry(
            "stalled",
            WAKE,
            f"{line}; {state.brief}",
            episode=reason,
            hold=observations.SETTLE if reason == pods.UNSCHEDULABLE else 0,
        )
        for reason, line in lines.items()
    ]


def _degraded(state: progress.Progress, told: Mapping[str, Sequence[pods.Blocker]]) -> observations.Observation:
    lines = [state.brief, *(_pods_line(reason, found) for reason, found in told.items())]
    return _entry("degraded", WAKE, "; ".join(lines), hold=observations.SETTLE)


def _line(reason: str, message: str) -> str:
    return f"{reason}: {text.cut(message, text.MESSAGE_LIMIT)}" if message else reason


def _pods_line(reason: str, found: Sequence[pods.Blocker]) -> str:
    """`CrashLoopBackOff in 2 places, first pod api-1, container main: last exit code 1`."""
    first = found[0]
    many = f"{len(found)} places, first {first.where}" if len(found) > 1 else first.where
    return _line(f"{reason} in {text.cut(many, text.MESSAGE_LIMIT)}", first.message)


def _entry(
    key: str,
    severity: observations.Severity,
    brief: str,
    *,
    outcome: observations.Outcome | None = None,
    hold: observations.Hold = 0,
    episode: str = "",
) -> observations.Observation:
    return observations.Observation(
        key=key,
        severity=severity,
        resets_on=REVISION,
        brief=text.cut(brief, text.BRIEF_LIMIT),
        outcome=outcome,
        hold=hold,
        episode=episode,
    )


def _gone(last: raw.Object | None) -> observations.ProbeResult:
    """An end whose outcome was not seen is a failure, whatever was seen before it."""
    seen = "it was last seen" if last is None else f"last seen {_words(last)}"
    when = "since" if last is None else "after"
    entry = observations.Observation(
        key="gone",
        severity=TERMINAL,
        resets_on=observations.ResetsOn.NEVER,
        brief=f"outcome unknown: deleted {when} {seen}",
        outcome=observations.Outcome.FAILED,
    )
    return observations.ProbeResult((entry,), revision="" if last is None else progress.revision(last))


def _words(last: raw.Object) -> str:
    standing = progress.assess(last).standing
    moving = standing is progress.Standing.MOVING
    return "active" if moving and isinstance(last, raw.Job) else standing.value


def _awaited(payload: _Payload, options: subject.RolloutOptions, now: ids.Instant) -> observations.ProbeResult:
    if payload.absent_since is None:
        raise raw.malformed("the snapshot has neither a workload nor the time since which it is absent")
    if now - payload.absent_since < durations.seconds(options.appear_within):
        return observations.ProbeResult((), revision="", pending=1)
    named = payload.subject
    raise transport.ReadError(
        failures.Failure(
            failures.Category.NOT_FOUND,
            f"{named.workload} {named.name} does not exist in {named.namespace}, "
            f"and did not appear within {options.appear_within}",
        )
    )
