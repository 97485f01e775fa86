"""An operator that cannot work says so and ends, or says so in the status of every Watch; never neither."""

import copy
import pathlib
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

from tests.chart import charts
from tests.controlplane import assets, plane, processes
from tests.e2e import manifests, proxy, stack

pytestmark = pytest.mark.e2e

MakeStack = Callable[[proxy.Proxy | None], stack.Stack]
END_SECONDS = 60.0
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/watches.vigil.dev"
NAMESPACE = "default"


def ended(operator: processes.Process) -> tuple[int, str]:
    """Its exit code and its log, once it has ended."""
    return operator.popen.wait(END_SECONDS), operator.log.read_text()


@pytest.fixture(scope="module")
def bare(
    control_plane_assets: assets.Assets, tmp_path_factory: pytest.TempPathFactory
) -> Generator[plane.ControlPlane]:
    """A control plane that nobody has installed anything in."""
    with plane.ControlPlane(control_plane_assets, tmp_path_factory.mktemp("bare"), nodes=1) as running:
        yield running


def test_without_the_definition_the_operator_ends_and_says_so(bare: plane.ControlPlane, tmp_path: pathlib.Path) -> None:
    running = stack.Stack(bare, bare.admin_kubeconfig, tmp_path)
    try:
        code, log = ended(running.launch_operator())
    finally:
        running.stop()
    assert code == 1
    assert "the CRD watches.vigil.dev is not installed in this cluster" in log
    assert "Traceback" not in log


def test_a_definition_that_drops_the_memory_blocks_every_watch_until_it_is_replaced(
    bare: plane.ControlPlane, tmp_path: pathlib.Path
) -> None:
    bare.helm("install", "vigil", str(charts.CHART), "--namespace=default", "--wait", "--set", "replicas=0")
    whole = bare.api("GET", CRD)
    _replace(bare, _older(whole))
    running = stack.Stack(bare, bare.service_account_kubeconfig("default", "vigil"), tmp_path)
    try:
        running.start_sidecar()
        running.start_operator()
        log = running.start_session(NAMESPACE)
        running.apply(NAMESPACE, manifests.job("api"), manifests.job_watch("api"))
        running.wait_for_phase(NAMESPACE, "api", "Blocked", 15.0)
        status, reason, message = running.condition(NAMESPACE, "api", "Ready")
        assert (status, reason) == ("False", "StatusPruned")
        assert "CRD" in message
        for _ in range(2):
            running.poke(NAMESPACE, "api")
            time.sleep(1.5)
        assert stack.turns(log) == []
        wakes = running.wakes(NAMESPACE, "api")
        assert wakes
        assert running.wake_state(wakes[0]["id"]) is None

        _replace(bare, whole)
        running.poke(NAMESPACE, "api")
        running.wait_for_phase(NAMESPACE, "api", "Watching")
        running.wait("it is told", lambda: len(stack.turns(log)) == 1)
        running.wait("it is charged", lambda: running.watch(NAMESPACE, "api")["status"]["budget"]["turns"] == 1)
        assert len(stack.turns(log)) == 1
    finally:
        running.stop()


def test_a_token_that_is_not_valid_ends_the_operator(control_plane: plane.ControlPlane, tmp_path: pathlib.Path) -> None:
    kubeconfig = control_plane.kubeconfig("nobody", token="this-is-nobody")
    running = stack.Stack(control_plane, kubeconfig, tmp_path)
    try:
        code, log = ended(running.launch_operator())
    finally:
        running.stop()
    assert code == 1
    assert "401" in log
    assert "Traceback" not in log


def test_a_login_of_kopf_that_fails_later_ends_the_operator(faults: proxy.Proxy, make_stack: MakeStack) -> None:
    running = make_stack(faults)
    running.start_operator()
    assert running.operator is not None
    faults.wait_for_stream()
    refused = proxy.answer(401, "Unauthorized", "injected")
    faults.fail_next(proxy.Fault(lambda asked: asked.of_kopf, 401, refused, times=1000))
    faults.expire_streams()
    code, log = ended(running.operator)
    assert code == 1
    assert "kopf ended" in log
    assert "login" in log


def _older(whole: dict[str, Any]) -> dict[str, Any]:
    """The definition without `status.engine`, as an older one would be."""
    older = copy.deepcopy(whole)
    for version in older["spec"]["versions"]:
        del version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["engine"]
    return older


def _replace(control_plane: plane.ControlPlane, definition: dict[str, Any]) -> None:
    """Put a definition in the place of the one that is there, and wait until it is used."""
    version = control_plane.api("GET", CRD)["metadata"]["resourceVersion"]
    metadata = {"name": definition["metadata"]["name"], "resourceVersion": version}
    control_plane.api("PUT", CRD, {**definition, "metadata": {**definition["metadata"], **metadata}})
    time.sleep(1.0)
