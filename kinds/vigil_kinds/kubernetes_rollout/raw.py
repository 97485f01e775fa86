"""The parts of the API server's objects that this kind reads, parsed as strictly as their documentation allows.

An absent counter is 0, since the API server leaves zeros out. Anything of a wrong type is malformed: it is never
guessed at.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, cast

import pydantic
from pydantic import alias_generators

from vigil.kind import transport
from vigil.model import failures


def mapping(value: object) -> Mapping[str, Any] | None:
    """The value if it is a JSON object."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else None


def sequence(value: object) -> Sequence[Any] | None:
    """The value if it is a JSON array."""
    return cast("Sequence[Any]", value) if isinstance(value, list) else None


Counter = Annotated[int, pydantic.Field(ge=0, le=2**31 - 1)]
Generation = Annotated[int, pydantic.Field(ge=0, le=2**63 - 1)]


class Raw(pydantic.BaseModel):
    """The base: unknown fields are ignored, null means absent, types are not converted."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        extra="ignore", frozen=True, strict=True, alias_generator=alias_generators.to_camel
    )

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        fields = mapping(value)
        return value if fields is None else {name: part for name, part in fields.items() if part is not None}


class Owner(Raw):
    """One entry of metadata.ownerReferences."""

    kind: str
    uid: str
    controller: bool = False


class Meta(Raw):
    """metadata."""

    name: str = ""
    uid: str = pydantic.Field(min_length=1)
    generation: Generation = 0
    deletion_timestamp: str = ""
    labels: dict[str, str] = {}
    owner_references: list[Owner] = []

    @property
    def controller(self) -> Owner | None:
        """The owner that controls the object."""
        return next((owner for owner in self.owner_references if owner.controller), None)


class Condition(Raw):
    """One entry of status.conditions."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Conditions(Raw):
    """A status that has conditions."""

    conditions: list[Condition] = []

    def find(self, kind: str) -> Condition | None:
        """The condition of that type, whatever its status."""
        return next((condition for condition in self.conditions if condition.type == kind), None)

    def true(self, kind: str) -> Condition | None:
        """The condition of that type, if its status is "True"."""
        condition = self.find(kind)
        return condition if condition is not None and condition.status == "True" else None


class Requirement(Raw):
    """One entry of matchExpressions."""

    key: str
    operator: str
    values: list[str] = []


class Selector(Raw):
    """spec.selector."""

    match_labels: dict[str, str] = {}
    match_expressions: list[Requirement] = []


class RollingUpdate(Raw):
    """spec.updateStrategy.rollingUpdate."""

    partition: Counter = 0


class UpdateStrategy(Raw):
    """spec.updateStrategy of a StatefulSet or a DaemonSet."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()


class DeploymentSpec(Raw):
    """spec of a Deployment. The API server always fills replicas in."""

    replicas: Counter
    paused: bool = False
    selector: Selector = Selector()
    template: dict[str, Any] = {}


class DeploymentStatus(Conditions):
    """status of a Deployment."""

    observed_generation: Generation = 0
    replicas: Counter = 0
    updated_replicas: Counter = 0
    available_replicas: Counter = 0
    terminating_replicas: Counter = 0


class Deployment(Raw):
    """apps/v1 Deployment."""

    metadata: Meta
    spec: DeploymentSpec
    status: DeploymentStatus = DeploymentStatus()


class StatefulSetSpec(Raw):
    """spec of a StatefulSet. The API server always fills replicas in."""

    replicas: Counter
    min_ready_seconds: Counter = 0
    update_strategy: UpdateStrategy = UpdateStrategy()
    selector: Selector = Selector()
    template: dict[str, Any] = {}


class StatefulSetStatus(Conditions):
    """status of a StatefulSet. An API server before 1.22 has no availableReplicas."""

    observed_generation: Generation = 0
    replicas: Counter = 0
    updated_replicas: Counter = 0
    ready_replicas: Counter = 0
    available_replicas: Counter = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Raw):
    """apps/v1 StatefulSet."""

    metadata: Meta
    spec: StatefulSetSpec
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Raw):
    """spec of a DaemonSet."""

    min_ready_seconds: Counter = 0
    update_strategy: UpdateStrategy = UpdateStrategy()
    selector: Selector = Selector()
    template: dict[str, Any] = {}


class DaemonSetStatus(Conditions):
    """status of a DaemonSet. The API server always fills desiredNumberScheduled in, once its controller has."""

    observed_generation: Generation = 0
    desired_number_scheduled: Counter | None = None
    current_number_scheduled: Counter = 0
    updated_number_scheduled: Counter = 0
    number_ready: Counter = 0
    number_available: Counter = 0


class DaemonSet(Raw):
    """apps/v1 DaemonSet."""

    metadata: Meta
    spec: DaemonSetSpec
    status: DaemonSetStatus = DaemonSetStatus()


class JobSpec(Raw):
    """spec of a Job."""

    suspend: bool = False
    selector: Selector = Selector()


class JobStatus(Conditions):
    """status of a Job."""

    active: Counter = 0
    succeeded: Counter = 0
    failed: Counter = 0


class Job(Raw):
    """batch/v1 Job."""

    metadata: Meta
    spec: JobSpec
    status: JobStatus = JobStatus()


class Waiting(Raw):
    """state.waiting of a container."""

    reason: str = ""
    message: str = ""


class Running(Raw):
    """state.running of a container."""

    started_at: str = ""


class Terminated(Raw):
    """state.terminated or lastState.terminated of a container."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(Raw):
    """state or lastState of a container."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class Container(Raw):
    """One entry of containerStatuses or initContainerStatuses."""

    name: str
    restart_count: Counter = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()


class PodStatus(Conditions):
    """status of a pod."""

    phase: str = ""
    init_container_statuses: list[Container] = []
    container_statuses: list[Container] = []


class Pod(Raw):
    """v1 Pod."""

    metadata: Meta
    status: PodStatus = PodStatus()


Object: TypeAlias = Deployment | StatefulSet | DaemonSet | Job
"""A workload of any of the four sorts."""

Model = TypeVar("Model", bound=pydantic.BaseModel)


def parse(model: type[Model], value: object, what: str) -> Model:
    """The object as that model; raises ReadError `malformed` with the path of the first field that is wrong."""
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "it"
        raise malformed(f"{what} is not what the API server documents: {path}: {first['msg']}") from error


def malformed(message: str) -> transport.ReadError:
    """The error of a payload that is not what the API server documents."""
    return transport.ReadError(failures.Failure(failures.Category.MALFORMED, message))
