"""Render the chart with helm and look at what came out."""

import functools
import json
import pathlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.controlplane import build

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "vigil"
NAMESPACE = "vigil-system"

Manifest = dict[str, Any]


class NoHelmError(Exception):
    """helm is neither built nor on the PATH; the message says what to run."""


class RenderError(Exception):
    """helm refused; the message is its own."""


def helm() -> str:
    """The file of helm: the pinned one, else that on the PATH. Raises NoHelmError."""
    pinned = next(part.target for part in build.PARTS if part.name == "helm")
    found = str(pinned) if pinned.is_file() else shutil.which("helm")
    if found is None:
        raise NoHelmError("helm is not built and not on the PATH: run `make control-plane`.")
    return found


def run(*arguments: str, values: Mapping[str, Any] | None = None) -> str:
    """The standard output of one helm command with these values. Raises RenderError."""
    given = ("--values", "-") if values is not None else ()
    ran = subprocess.run(
        [helm(), *arguments, *given],
        input=json.dumps(values or {}),
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    if ran.returncode != 0:
        raise RenderError(f"{ran.stderr}{ran.stdout}")
    return ran.stdout


def render(values: Mapping[str, Any] | None = None) -> list[Manifest]:
    """All manifests of a release `vigil` in NAMESPACE. Raises RenderError."""
    text = _rendered(json.dumps(values or {}))
    return [manifest for manifest in yaml.load_all(text, Loader=yaml.CSafeLoader) if manifest]


@functools.cache
def _rendered(values: str) -> str:
    return run("template", "vigil", str(CHART), f"--namespace={NAMESPACE}", values=json.loads(values))


def of_kind(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    """The manifests of these kinds, in their order."""
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def only(manifests: list[Manifest], kind: str) -> Manifest:
    """The one manifest of a kind."""
    [found] = of_kind(manifests, kind)
    return found


def pod(manifests: list[Manifest]) -> dict[str, Any]:
    """The spec of the Deployment's pod."""
    spec: dict[str, Any] = only(manifests, "Deployment")["spec"]["template"]["spec"]
    return spec


def containers(manifests: list[Manifest]) -> dict[str, dict[str, Any]]:
    """The containers of the pod by name, the restartable ones too."""
    spec = pod(manifests)
    return {each["name"]: each for each in (*spec["initContainers"], *spec["containers"])}


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a container; one that comes from a field has the field's path as its value."""
    return {
        each["name"]: each["value"] if "value" in each else each["valueFrom"]["fieldRef"]["fieldPath"]
        for each in container["env"]
    }


def roles(manifests: list[Manifest]) -> list[Manifest]:
    """Every role with its place, its rules and whom it is bound to, as the golden files have them."""
    bindings = list(of_kind(manifests, "ClusterRoleBinding", "RoleBinding"))
    return [
        {
            "kind": role["kind"],
            "namespace": role["metadata"].get("namespace", ""),
            "name": role["metadata"]["name"],
            "rules": role["rules"],
            "boundTo": list(_bound_to(role, bindings)),
        }
        for role in of_kind(manifests, "ClusterRole", "Role")
    ]


def _bound_to(role: Manifest, bindings: list[Manifest]) -> Iterator[str]:
    for binding in bindings:
        reference, metadata = binding["roleRef"], role["metadata"]
        same = (reference["kind"], reference["name"]) == (role["kind"], metadata["name"])
        if same and binding["metadata"].get("namespace") == metadata.get("namespace"):
            yield from (f"{each['namespace']}/{each['name']}" for each in binding["subjects"])
