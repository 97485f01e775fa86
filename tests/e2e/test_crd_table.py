"""The API server and the models judge every manifest alike, and complete it alike."""

import copy
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane import plane
from tests.unit.api import status_cases, table
from vigil.api import crd, manifest, schema, status, v1alpha1

pytestmark = pytest.mark.e2e

ROWS = table.rows()
STATUSES = status_cases.cases()
WATCHES = "/apis/vigil.dev/v1alpha1"


@pytest.fixture(scope="module")
def with_crd(control_plane: plane.ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> plane.ControlPlane:
    """The control plane once it serves Watches."""
    file = tmp_path_factory.mktemp("crd") / "watches.yaml"
    crd.generate([file])
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(file))
    control_plane.kubectl("wait", "--for=condition=Established", f"crd/{crd.NAME}", "--timeout=30s")
    return control_plane


@pytest.fixture
def watch(with_crd: plane.ControlPlane, namespace: str) -> Iterator[dict[str, Any]]:
    """One Watch that exists, as it is stored; nobody reconciles it."""
    made = with_crd.api("POST", f"{WATCHES}/namespaces/{namespace}/watches", table.BASE)
    yield made
    with_crd.kubectl("delete", "watch", "api", "-n", namespace, "--ignore-not-found")


def test_the_api_server_has_no_objection_to_the_definition(with_crd: plane.ControlPlane) -> None:
    stored = with_crd.api("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{crd.NAME}")
    conditions = {one["type"]: one["status"] for one in stored["status"]["conditions"]}
    assert conditions["Established"] == "True"
    assert "NonStructuralSchema" not in conditions
    assert stored["spec"]["versions"][0]["schema"] == crd.definition()["spec"]["versions"][0]["schema"]


@pytest.mark.parametrize("row", [row for row in ROWS if not row.valid], ids=lambda row: row.claim)
def test_the_api_server_refuses_what_the_models_refuse(row: table.Row, with_crd: plane.ControlPlane) -> None:
    with pytest.raises(plane.CommandError) as refused:
        _create(with_crd, row.manifest)
    assert row.at in refused.value.stderr
    assert row.says in refused.value.stderr


@pytest.mark.parametrize("row", [row for row in ROWS if row.valid], ids=lambda row: row.claim)
def test_the_api_server_completes_a_manifest_as_the_models_do(row: table.Row, with_crd: plane.ControlPlane) -> None:
    completed = _create(with_crd, row.manifest)
    ours = manifest.parse_watch(row.manifest).spec
    assert completed["spec"] == _completed(ours)
    assert manifest.parse_watch(completed).spec == ours


def test_the_kind_of_a_watch_cannot_be_changed(with_crd: plane.ControlPlane, watch: dict[str, Any]) -> None:
    changed = copy.deepcopy(watch)
    changed["spec"]["kind"] = "another"
    with pytest.raises(plane.CommandError, match="kind cannot be changed: make another Watch"):
        with_crd.kubectl("replace", "--dry-run=server", "-f", "-", input=json.dumps(changed))


@pytest.mark.parametrize("case", STATUSES, ids=lambda case: case.claim)
def test_a_status_comes_back_as_it_was_sent(
    case: status_cases.Case, with_crd: plane.ControlPlane, watch: dict[str, Any]
) -> None:
    sent = case.rendered()
    back = _put_status(with_crd, watch, sent)
    assert back["status"] == sent
    assert status.render_invalid("spec.kind", "is wrong", 2, back["status"], 0.0)["engine"] == sent.get("engine")


def test_the_columns_tell_how_a_watch_stands(with_crd: plane.ControlPlane, watch: dict[str, Any]) -> None:
    case = next(case for case in STATUSES if case.name == "several-subjects")
    _put_status(with_crd, watch, case.rendered())
    table_of = with_crd.kubectl("get", "watches", "-n", watch["metadata"]["namespace"])
    header, row = table_of.splitlines()
    assert header.split() == ["NAME", "KIND", "SUBJECT", "PHASE", "READY", "OPEN", "WAKES", "TURNS", "AGE"]
    assert row.split()[:-1] == ["api", "toy", "toy/api,", "+2", "Watching", "True", "10", "2", "3/8"]
    for name in ("wt", "vigil"):
        assert with_crd.kubectl("get", name, "-n", watch["metadata"]["namespace"]).splitlines()[0] == header


def test_watches_are_selected_by_kind_and_phase(with_crd: plane.ControlPlane, watch: dict[str, Any]) -> None:
    _put_status(with_crd, watch, STATUSES[0].rendered())
    phase = STATUSES[0].rendered()["phase"]
    for selector, found in (
        (f"status.phase={phase}", ["watch.vigil.dev/api"]),
        ("status.phase=Superseded", []),
        ("spec.kind=toy", ["watch.vigil.dev/api"]),
        ("spec.kind=another", []),
    ):
        names = with_crd.kubectl(
            "get", "watches", "-n", watch["metadata"]["namespace"], f"--field-selector={selector}", "-o", "name"
        )
        assert names.split() == found


def test_the_examples_are_taken_by_the_api_server(with_crd: plane.ControlPlane) -> None:
    examples = sorted((pathlib.Path(__file__).parents[2] / "crds" / "examples").glob("*.yaml"))
    assert examples
    for file in examples:
        for example in manifest.load_manifests(file.read_bytes(), file.name):
            body = example.model_dump(mode="json", by_alias=True, exclude_unset=True)
            body["metadata"] = {"name": example.metadata.name}
            _create(with_crd, body)


def _create(control_plane: plane.ControlPlane, body: dict[str, Any]) -> dict[str, Any]:
    """What the API server would store; JSON is sent, so that no YAML has a say. Raises CommandError."""
    answer = control_plane.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=json.dumps(body))
    stored: dict[str, Any] = json.loads(answer)
    return stored


def _put_status(control_plane: plane.ControlPlane, watch: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    path = f"{WATCHES}/namespaces/{watch['metadata']['namespace']}/watches/api"
    current = control_plane.api("GET", path)
    answer: dict[str, Any] = control_plane.api("PUT", f"{path}/status", {**current, "status": sent})
    return answer


def _completed(spec: v1alpha1.WatchSpec) -> dict[str, Any]:
    """The spec with its defaults as a structural schema has them: null only where it was given and says "no limit"."""
    return dict(_parts(spec))


def _parts(model: schema.Model) -> Iterator[tuple[str, Any]]:
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        extra = field.json_schema_extra
        no_limit = isinstance(extra, dict) and "nullable" in extra and name in model.model_fields_set
        if isinstance(value, schema.Model):
            yield field.alias or name, dict(_parts(value))
        elif value is not None or no_limit:
            yield field.alias or name, value
