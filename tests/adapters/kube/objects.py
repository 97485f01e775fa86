"""Watches, their checkpoints, and what stands in for the rest of the operator."""

from collections.abc import Mapping
from typing import Any

from tests.controlplane import plane
from vigil import ports
from vigil.adapters.kube import watches
from vigil.api import enrol, manifest
from vigil.kind import registry
from vigil.model import ids, observations, states, verdicts
from vigil.tick import checkpoint, enrolment
from vigil_kinds import kubernetes_rollout

KINDS = registry.Registry([kubernetes_rollout.KIND])
NAME = "api-rollout"


class Signals:
    """Keeps what was emitted."""

    def __init__(self) -> None:
        self.records: list[ports.Record] = []

    def emit(self, record: ports.Record) -> None:
        """Take note of one record."""
        self.records.append(record)


def spec(**changes: Any) -> dict[str, Any]:
    """The spec of a Watch of a rollout."""
    subject = {"workload": "Deployment", "name": "api"}
    return {"kind": "kubernetes_rollout", "objective": "rolled_out", "subjects": [subject], **changes}


def create(control_plane: plane.ControlPlane, namespace: str, name: str = NAME, **changes: Any) -> Any:
    """Make a Watch; gives it as it is stored."""
    metadata = {"name": name, "namespace": namespace}
    body = {"apiVersion": "vigil.dev/v1alpha1", "kind": "Watch", "metadata": metadata, "spec": spec(**changes)}
    return control_plane.api("POST", watches.path(namespace), body)


def stored(control_plane: plane.ControlPlane, namespace: str, name: str = NAME) -> Any:
    """A Watch as it is stored."""
    return control_plane.api("GET", watches.path(namespace, name))


def change(control_plane: plane.ControlPlane, namespace: str, *, annotation: str = "", **of_spec: Any) -> Any:
    """Change the annotation `note`, or some fields of the spec, as somebody else."""
    watch = stored(control_plane, namespace)
    watch["spec"].update(of_spec)
    if annotation:
        watch["metadata"].setdefault("annotations", {})["note"] = annotation
    return control_plane.api("PUT", watches.path(namespace, NAME), watch)


def enrolled(watch: Mapping[str, Any]) -> enrolment.Enrolment:
    """The Watch as the scheduler has it."""
    return enrol.enrol(manifest.parse_watch(watch), KINDS)


def left(watch: Mapping[str, Any], key: str = "progressing", **fields: Any) -> checkpoint.Checkpoint:
    """What a tick left that saw one entry."""
    of = enrolled(watch)
    seen = observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.REVISION, brief="it is red")
    result = observations.ProbeResult((seen,), revision="r1", complete=True)
    name = of.targets[0].id
    identity = verdicts.identify(name, result, seen)
    made: dict[str, Any] = {
        "watch": of,
        "state": states.State(ids.WatchUid(of.ref.uid), generation=of.ref.generation),
        "verdict": verdicts.Quiet(verdicts.QuietReason.COALESCING),
        "reading": {name: result},
        "since": {identity: 1_770_000_000.0},
    }
    return checkpoint.Checkpoint(**{**made, **fields})
