"""What the tests of the API server's adapters share."""

import pathlib
from collections.abc import AsyncIterator

import pytest

from tests.adapters.kube import objects, servers
from tests.controlplane import plane
from vigil.adapters import clock
from vigil.adapters.kube import client, configuration

CRD = pathlib.Path(__file__).parents[3] / "crds" / "vigil.dev_watches.yaml"


@pytest.fixture(scope="session")
def crd(control_plane: plane.ControlPlane) -> None:
    """The CustomResourceDefinition of the Watch, served."""
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", str(CRD))


@pytest.fixture
async def api(control_plane: plane.ControlPlane) -> AsyncIterator[client.ApiClient]:
    """A client that may do everything."""
    async with await connected(control_plane.admin_kubeconfig) as made:
        yield made


@pytest.fixture
async def proxy(control_plane: plane.ControlPlane) -> AsyncIterator[servers.Proxy]:
    """A proxy in front of the API server."""
    async with servers.proxied(control_plane) as made:
        yield made


@pytest.fixture
async def through(control_plane: plane.ControlPlane, proxy: servers.Proxy) -> AsyncIterator[client.ApiClient]:
    """A client that may do everything, through the proxy."""
    async with await connected(control_plane.kubeconfig("proxied", server=proxy.url)) as made:
        yield made


@pytest.fixture
def signals() -> objects.Signals:
    """What was said."""
    return objects.Signals()


async def connected(kubeconfig: pathlib.Path) -> client.ApiClient:
    """A client of one kubeconfig."""
    return await client.connect(configuration.Kubeconfig(kubeconfig), clock.SystemClock())


class TurningClock(clock.SystemClock):
    """The machine's clock, set forward by hand."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def turn(self, seconds: float) -> None:
        """Set it forward by so many seconds."""
        self._ahead += seconds

    def monotonic(self) -> float:
        """The machine's, and what it was set forward by."""
        return super().monotonic() + self._ahead
