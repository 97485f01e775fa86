"""The chart on a real control plane: it installs under the restricted standard, may do its work, and nothing else."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.chart import charts
from tests.controlplane import plane

pytestmark = pytest.mark.e2e

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
WATCH = {
    "apiVersion": "vigil.dev/v1alpha1",
    "kind": "Watch",
    "metadata": {"name": "status"},
    "spec": {"kind": "http_json", "objective": "matches", "subjects": [{"url": "https://status.example/api"}]},
}
# Another test may have applied the CRD by hand: it is taken over as the README says.
INSTALL = ("--take-ownership", "--force-conflicts", "--wait", "--timeout=2m")

WORK = [
    # (verb, resource, in the release's namespace (""), a team's or "*" for all)
    ("get", "watches", "*"),
    ("list", "watches", "*"),
    ("watch", "watches", "*"),
    ("patch", "watches", "*"),
    ("get", "watches/status", "*"),
    ("update", "watches/status", "*"),
    ("list", "deployments.apps", "*"),
    ("list", "statefulsets.apps", "*"),
    ("list", "daemonsets.apps", "*"),
    ("list", "jobs.batch", "*"),
    ("list", "pods", "*"),
    ("create", "leases", ""),
    ("get", "leases/vigil", ""),
    ("update", "leases/vigil", ""),
    ("get", "secrets", "team"),
]
FORBIDDEN = [
    ("get", "secrets", "*"),
    ("get", "secrets", ""),
    ("get", "secrets", "other"),
    ("list", "secrets", "team"),
    ("watch", "secrets", "team"),
    ("create", "secrets", "team"),
    ("update", "secrets", "team"),
    ("create", "events", "team"),
    ("create", "watches", "team"),
    ("update", "watches", "team"),
    ("delete", "watches", "team"),
    ("patch", "watches/status", "team"),
    ("get", "leases/other", ""),
    ("update", "leases/other", ""),
    ("delete", "leases/vigil", ""),
    ("create", "leases", "team"),
    ("patch", "deployments.apps", "team"),
    ("update", "deployments.apps/scale", "team"),
    ("delete", "pods", "team"),
    ("create", "pods", "team"),
    ("create", "pods/exec", "team"),
    ("get", "pods/log", "team"),
    ("get", "configmaps", "team"),
    ("delete", "jobs.batch", "team"),
    ("create", "jobs.batch", "team"),
    ("list", "namespaces", "*"),
    ("list", "nodes", "*"),
    ("list", "customresourcedefinitions", "*"),
    ("update", "customresourcedefinitions", "*"),
    ("delete", "customresourcedefinitions", "*"),
    ("create", "tokenreviews.authentication.k8s.io", "*"),
    ("impersonate", "users", "*"),
    ("create", "serviceaccounts/token", ""),
    ("update", "clusterroles.rbac.authorization.k8s.io", "*"),
]


class Release:
    """An installed chart and what its ServiceAccount may do."""

    def __init__(self, control_plane: plane.ControlPlane, namespace: str, team: str, other: str) -> None:
        self.plane = control_plane
        self.namespace = namespace
        self.places = {"": namespace, "team": team, "other": other}
        self._kubeconfig: pathlib.Path | None = None

    def helm(self, command: str, *arguments: str, values: dict[str, Any] | None = None) -> str:
        given = json.dumps(values) if values is not None else None
        extra = ("--values", "-") if values is not None else ()
        return self.plane.helm(command, "vigil", *arguments, *extra, f"--namespace={self.namespace}", input=given)

    @property
    def kubeconfig(self) -> pathlib.Path:
        """A kubeconfig with the rights of the release's ServiceAccount."""
        if self._kubeconfig is None:
            self._kubeconfig = self.plane.service_account_kubeconfig(self.namespace, "vigil")
        return self._kubeconfig

    def may(self, verb: str, resource: str, place: str) -> bool:
        where = "--all-namespaces" if place == "*" else f"--namespace={self.places[place]}"
        resource, name, subresource = _parts(resource)
        arguments = [verb, f"{resource}/{name}" if name else resource, where]
        if subresource:
            arguments.append(f"--subresource={subresource}")
        try:
            answer = self.plane.kubectl("auth", "can-i", *arguments, kubeconfig=self.kubeconfig)
        except plane.CommandError as error:
            if error.code != 1 or "error:" in error.stderr:
                raise
            return False
        return answer.strip().splitlines()[-1] == "yes"


def _parts(resource: str) -> tuple[str, str, str]:
    """(resource, name, subresource) of `pods`, `pods/log` or `leases/vigil`."""
    resource, _, rest = resource.partition("/")
    if resource == "leases":
        return resource, rest, ""
    return resource, "", rest


def make_namespace(control_plane: plane.ControlPlane, name: str, *labels: str) -> str:
    control_plane.kubectl("create", "namespace", name)
    if labels:
        control_plane.kubectl("label", "namespace", name, *labels)
    return name


@pytest.fixture(scope="module")
def release(control_plane: plane.ControlPlane) -> Iterator[Release]:
    """The chart with its defaults, and one namespace whose Secrets it may read."""
    team, other = (make_namespace(control_plane, f"chart-{name}") for name in ("team", "other"))
    made = Release(control_plane, make_namespace(control_plane, "chart-release", RESTRICTED), team, other)
    made.helm("install", str(charts.CHART), *INSTALL, values={"secretNamespaces": [team]})
    yield made
    made.helm("uninstall", "--ignore-not-found", "--wait")
    for name in made.places.values():
        control_plane.kubectl("delete", "namespace", name, "--wait=false")


def test_the_pod_is_admitted_and_ready_under_the_restricted_standard(release: Release) -> None:
    found = json.loads(release.plane.kubectl("get", "deployment/vigil", f"-n={release.namespace}", "-o=json"))
    assert found["status"]["readyReplicas"] == 1


def test_the_service_account_may_do_all_of_its_work(release: Release) -> None:
    refused = [case for case in WORK if not release.may(*case)]
    assert refused == []


def test_the_service_account_may_do_nothing_else(release: Release) -> None:
    allowed = [case for case in FORBIDDEN if release.may(*case)]
    assert allowed == []


def test_the_service_account_can_hold_back_a_deletion_and_write_a_status(release: Release) -> None:
    team = release.places["team"]
    release.plane.kubectl("apply", f"-n={team}", "-f=-", input=json.dumps(WATCH))
    finalizer = json.dumps({"metadata": {"finalizers": ["vigil.dev/wakes"]}})
    mine = release.kubeconfig
    release.plane.kubectl("patch", "watch/status", f"-n={team}", "--type=merge", f"-p={finalizer}", kubeconfig=mine)
    watch = json.loads(release.plane.kubectl("get", "watch/status", f"-n={team}", "-o=json", kubeconfig=mine))
    assert watch["metadata"]["finalizers"] == ["vigil.dev/wakes"]
    watch["status"] = {"phase": "Watching"}
    release.plane.kubectl(
        "replace", f"-n={team}", "--subresource=status", "-f=-", input=json.dumps(watch), kubeconfig=mine
    )
    phase = release.plane.kubectl("get", "watch/status", f"-n={team}", "-o=jsonpath={.status.phase}")
    assert phase == "Watching"


def test_an_upgrade_keeps_the_token(release: Release) -> None:
    def token() -> str:
        return release.plane.kubectl(
            "get", "secret/vigil-token", f"-n={release.namespace}", "-o=jsonpath={.data.token}"
        )

    before = token()
    values = {"secretNamespaces": [release.places["team"]], "podAnnotations": {"acme/changed": "yes"}}
    release.helm("upgrade", str(charts.CHART), "--wait", "--timeout=2m", values=values)
    assert token() == before != ""


def test_with_named_namespaces_only_those_are_served(release: Release) -> None:
    named = Release(
        release.plane, make_namespace(release.plane, "chart-named", RESTRICTED), "chart-team", "chart-other"
    )
    values = {"watchNamespaces": ["chart-team"], "crds": {"install": False}, "fullnameOverride": "named"}
    named.helm(
        "install", str(charts.CHART), "--wait", "--timeout=2m", values=values | {"serviceAccount": {"name": "vigil"}}
    )
    try:
        assert named.may("list", "watches", "team")
        assert named.may("list", "pods", "team")
        refused = [
            ("list", "watches", "*"),
            ("list", "watches", "other"),
            ("list", "pods", "other"),
            ("get", "secrets", "team"),
            ("list", "customresourcedefinitions", "*"),
        ]
        assert [case for case in refused if named.may(*case)] == []
    finally:
        named.helm("uninstall", "--wait")
        release.plane.kubectl("delete", "namespace", "chart-named", "--wait=false")


def test_an_uninstall_leaves_the_crd_and_the_watches_and_nothing_else(release: Release) -> None:
    team = release.places["team"]
    release.plane.kubectl("apply", f"-n={team}", "-f=-", input=json.dumps(WATCH))
    release.helm("uninstall", "--wait")
    release.plane.kubectl("get", "crd", "watches.vigil.dev")
    release.plane.kubectl("get", "watch/status", f"-n={team}")
    label = "-l=app.kubernetes.io/instance=vigil"
    left = release.plane.kubectl(
        "get", "clusterrole,clusterrolebinding,role,rolebinding,deploy,svc,secret,pvc,sa", "-A", label, "-o=name"
    )
    assert left == ""
    # The runbook's patch for a Watch whose operator is gone.
    patch = json.dumps({"metadata": {"finalizers": None}})
    release.plane.kubectl("patch", "watch/status", f"-n={team}", "--type=merge", f"-p={patch}")
    release.plane.kubectl("delete", "watch/status", f"-n={team}", "--timeout=20s")
