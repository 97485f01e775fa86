"""Objects for the API server, made from the kind's fixtures, so that there is one set of raw payloads."""

import copy
import json
import pathlib
from collections.abc import Mapping
from typing import Any

import vigil_kinds.kubernetes_rollout as kind_package
from vigil.kind import api
from vigil.model import ids
from vigil_kinds.kubernetes_rollout import KIND, subject

FIXTURES = pathlib.Path(kind_package.__file__).parent / "fixtures"
NOW = 1767225600.0


def payload(state: str) -> dict[str, Any]:
    """A fixture."""
    return dict(json.loads((FIXTURES / f"{state}.json").read_text(encoding="utf-8")))


def workload(state: str, **metadata: Any) -> dict[str, Any]:
    """The workload of a fixture, with other metadata."""
    return _with(payload(state)["workload"], metadata)


def pods(state: str) -> list[dict[str, Any]]:
    """The pods of a fixture."""
    return list(payload(state)["pods"])


def pod(state: str, **metadata: Any) -> dict[str, Any]:
    """The first pod of a fixture, with other metadata."""
    return _with(pods(state)[0], metadata)


def _with(item: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    copied = copy.deepcopy(dict(item))
    copied["metadata"].update(metadata)
    return copied


def wanted(sort: str, *names: str, namespace: str = "team-a", anchor: str = "") -> dict[ids.SubjectId, api.Wanted]:
    """What a read asks for."""
    scope = api.Scope(namespace, subject.HOST)
    subjects = [subject.RolloutSubject(workload=subject.Workload(sort), name=name) for name in names]
    return {KIND.subject_id(one, scope): api.Wanted(one, scope, anchor) for one in subjects}


def subject_id(sort: str, name: str, namespace: str = "team-a") -> ids.SubjectId:
    """The id of one subject."""
    return next(iter(wanted(sort, name, namespace=namespace)))
