"""What the tests of the handlers share."""

import pathlib

import pytest

from tests.controlplane import plane
from tests.handlers import parts
from vigil.handlers import intake

CRD = pathlib.Path(__file__).parents[2] / "crds" / "vigil.dev_watches.yaml"


@pytest.fixture
async def one() -> parts.Parts:
    """A scheduler with its ports."""
    return parts.Parts()


@pytest.fixture
async def door(one: parts.Parts) -> intake.Intake:
    """The intake of that scheduler."""
    return intake.Intake(one.queue, one.kinds, one.cluster)


@pytest.fixture(scope="session")
def served(control_plane: plane.ControlPlane) -> plane.ControlPlane:
    """The control plane once it serves Watches."""
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRD))
    return control_plane


@pytest.fixture
def as_admin(served: plane.ControlPlane, monkeypatch: pytest.MonkeyPatch) -> plane.ControlPlane:
    """The control plane, where kopf logs in as one who may do everything."""
    monkeypatch.setenv("KUBECONFIG", str(served.admin_kubeconfig))
    return served


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """No cluster that kopf could log in to."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
