"""The rollout of a Deployment, StatefulSet or DaemonSet, and the run of a Job, in the Watch's own namespace."""

from vigil.kind import api
from vigil.model import observations
from vigil_kinds.kubernetes_rollout import evidence, observe, read, subject

_WAKE = frozenset({observations.Severity.WAKE})
_TERMINAL = frozenset({observations.Severity.TERMINAL})
_REVISION = frozenset({observations.ResetsOn.REVISION})
_NEVER = frozenset({observations.ResetsOn.NEVER})

KIND = api.Kind(
    name="kubernetes_rollout",
    summary="The rollout of a Deployment, StatefulSet or DaemonSet, or the run of a Job, in the Watch's own namespace.",
    subject=subject.RolloutSubject,
    options=subject.RolloutOptions,
    objectives={
        subject.ROLLED_OUT: api.Objective(
            "All pods of a Deployment, StatefulSet or DaemonSet are new and available, and no old ones are left."
        ),
        subject.JOB_COMPLETE: api.Objective("A Job has completed."),
    },
    keys=(
        api.Key("rolled-out", "rollout", _TERMINAL, _REVISION, "All pods are new and available. Succeeded."),
        api.Key(
            "stalled",
            "rollout",
            _WAKE,
            _REVISION,
            "Unfinished, and waiting may not help: one entry a reason, which is its episode, such as "
            "ProgressDeadlineExceeded, ImagePullBackOff, CrashLoopBackOff or Unschedulable (held for `policy.settle`).",
        ),
        api.Key(
            "degraded",
            "rollout",
            _WAKE,
            _REVISION,
            "All pods are new, and some are not available, outside a rollout: held for `policy.settle`.",
        ),
        api.Key(
            "paused",
            "rollout",
            _WAKE,
            _REVISION,
            "Unfinished, and a person holds it: `paused`, a partition that keeps every pod, or OnDelete with old pods.",
        ),
        api.Key("job-complete", "rollout", _TERMINAL, _REVISION, "The Job's condition Complete is True. Succeeded."),
        api.Key("job-failed", "rollout", _TERMINAL, _REVISION, "The Job's condition Failed is True. Failed."),
        api.Key("job-suspended", "rollout", _WAKE, _REVISION, "The Job is unfinished and suspended."),
        api.Key(
            "gone",
            "rollout",
            _TERMINAL,
            _NEVER,
            "It was there and is not any more, so that its outcome is unknown. Failed.",
        ),
    ),
    reader=read.RolloutReader,
    observe=observe.observe,
    access=api.Access.CLUSTER,
    default_host=subject.HOST,
    partition=subject.partition,
    evidence=evidence.render,
    check=subject.check,
)
