"""The chart installed once, and one stack of processes a test behind a proxy of its own."""

import pathlib
from collections.abc import Callable, Generator

import pytest

from tests.chart import charts
from tests.controlplane import plane
from tests.e2e import proxy, scene, stack

RELEASE_NAMESPACE = "vigil-e2e"


@pytest.fixture(scope="package")
def release(control_plane: plane.ControlPlane) -> Generator[str]:
    """The chart with no replicas: CRD, ServiceAccount and rights; gives the namespace of the release."""
    control_plane.kubectl("create", "namespace", RELEASE_NAMESPACE)
    arguments = ["--take-ownership", "--force-conflicts", "--wait", "--timeout=2m", "--set", "replicas=0"]
    control_plane.helm("install", "vigil", str(charts.CHART), f"--namespace={RELEASE_NAMESPACE}", *arguments)
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/watches.vigil.dev")
    yield RELEASE_NAMESPACE
    control_plane.helm("uninstall", "vigil", f"--namespace={RELEASE_NAMESPACE}", "--wait", "--ignore-not-found")
    control_plane.kubectl("delete", "namespace", RELEASE_NAMESPACE, "--wait=false")


@pytest.fixture
def faults(control_plane: plane.ControlPlane) -> Generator[proxy.Proxy]:
    """A proxy in front of the API server."""
    with proxy.before_api_server(control_plane) as running:
        yield running


@pytest.fixture(scope="package")
def shared(
    control_plane: plane.ControlPlane, release: str, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[stack.Stack, proxy.Proxy]]:
    """A stack that tests share, each in a namespace of its own, and the proxy in front of its API server.

    It ends with this package: its operator would work on the Watches of the tests that come after it.
    """
    with proxy.before_api_server(control_plane) as api:
        kubeconfig = control_plane.service_account_kubeconfig(release, "vigil", server=api.url)
        running = stack.Stack(control_plane, kubeconfig, tmp_path_factory.mktemp("stack"))
        yield running, api
        running.stop()


@pytest.fixture
def alone(shared: tuple[stack.Stack, proxy.Proxy], namespace: str) -> Generator[scene.Scene]:
    """A namespace of the shared stack, which runs; no session is attached."""
    running, api = shared
    running.ensure()
    yield scene.Scene(running, api, namespace)
    running.end_session(namespace)


@pytest.fixture
def attended(alone: scene.Scene) -> scene.Scene:
    """The same with its session."""
    alone.attach()
    return alone


@pytest.fixture
def make_stack(
    control_plane: plane.ControlPlane, release: str, tmp_path: pathlib.Path
) -> Generator[Callable[[proxy.Proxy | None], stack.Stack]]:
    """Makes the stack of a test: its operator has the chart's rights and no others, perhaps through a proxy."""
    made: list[stack.Stack] = []

    def make(through: proxy.Proxy | None = None) -> stack.Stack:
        server = None if through is None else through.url
        kubeconfig = control_plane.service_account_kubeconfig(release, "vigil", server=server)
        made.append(stack.Stack(control_plane, kubeconfig, tmp_path))
        return made[0]

    yield make
    for one in made:
        one.stop()
