"""What an item of `subjects` and the `options` of a Watch of a rollout may hold."""

import enum
from typing import Annotated, Final

import pydantic

from vigil.kind import api, durations

HOST: Final = "kubernetes.default.svc"
"""The API server of the operator's own cluster, which is the only one that this kind reads."""

ROLLED_OUT: Final = "rolled_out"
JOB_COMPLETE: Final = "job_complete"

_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_LONGEST_APPEAR_WITHIN = 7 * 24 * 3600.0


class Workload(enum.StrEnum):
    """The workloads whose rollout or run can be watched."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"
    JOB = "Job"

    @property
    def resource(self) -> str:
        """The resource's plural name, as in a URL and in RBAC."""
        return f"{self.lower()}s"

    @property
    def group_path(self) -> str:
        """The path of the API group and version that serve it."""
        return "/apis/batch/v1" if self is Workload.JOB else "/apis/apps/v1"


class RolloutSubject(api.Subject):
    """A workload in the Watch's own namespace."""

    workload: Workload = pydantic.Field(description="What it is.")
    name: Annotated[str, pydantic.Field(min_length=1, max_length=253, pattern=_NAME)] = pydantic.Field(
        description="Its metadata.name."
    )

    def host(self, scope: api.Scope) -> str:  # noqa: ARG002 - the base class names it
        """Always HOST: a Watch that names another host means the same workload."""
        return HOST

    def identity(self, scope: api.Scope) -> str:
        """`team-a/Deployment/api`: the name, whatever object has it at the time."""
        return f"{scope.namespace}/{self.workload}/{self.name}"

    def label(self) -> str:
        """`Deployment/api`."""
        return f"{self.workload}/{self.name}"


class RolloutOptions(api.Model):
    """The options of a Watch of a rollout."""

    appear_within: durations.Duration = pydantic.Field(
        default="10m",
        description="How long a workload may be absent at first, since Watch and workload are often applied together: "
        "a Go duration, from 0s to 168h.",
    )

    @pydantic.field_validator("appear_within")
    @classmethod
    def _bounded(cls, text: str) -> str:
        if durations.seconds(text) > _LONGEST_APPEAR_WITHIN:
            raise ValueError("is at most 168h")
        return text


def partition(subject: RolloutSubject, scope: api.Scope) -> str:
    """`team-a/deployments`: what one list request spans."""
    return f"{scope.namespace}/{subject.workload.resource}"


def check(subject: RolloutSubject, objective: str, _options: RolloutOptions) -> str | None:
    """Why the objective does not fit the workload, or None."""
    if (subject.workload is Workload.JOB) == (objective == JOB_COMPLETE):
        return None
    fitting = JOB_COMPLETE if subject.workload is Workload.JOB else ROLLED_OUT
    return f"objective: {objective} does not fit a {subject.workload}; use {fitting}"


def of(wanted: api.Wanted) -> RolloutSubject:
    """The subject that is wanted; raises TypeError for one of another kind, which no caller may hand in."""
    if not isinstance(wanted.subject, RolloutSubject):
        raise TypeError(f"not a subject of this kind: {wanted.subject!r}")
    return wanted.subject
