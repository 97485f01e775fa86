"""What the other tests rely on: work makes real progress here, and rights are really checked."""

import http
import http.server
import json
import pathlib
import ssl
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from tests.controlplane import assets, build, plane, processes

pytestmark = pytest.mark.e2e

PROGRESS_SECONDS = 60.0


def workload(kind: str, name: str, image: str = "example.test/app:1", **spec: object) -> str:
    """The manifest of one workload with one container."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image}]}}
    content: dict[str, object] = {"template": template, "selector": {"matchLabels": labels}, **spec}
    return json.dumps({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": content})


def job(name: str, image: str) -> str:
    """The manifest of one Job."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "app", "image": image}]}
    spec = {"template": {"spec": pod}, "completions": 2}
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})


def get(control_plane: plane.ControlPlane, namespace: str, *what: str) -> Any:
    """One object, or a list of them."""
    return json.loads(control_plane.kubectl("get", *what, "-n", namespace, "-o", "json"))


def waiting_reasons(control_plane: plane.ControlPlane, namespace: str) -> list[str]:
    """The waiting reason of every container in a namespace."""
    pods = get(control_plane, namespace, "pods")["items"]
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", ())]
    return [status["state"]["waiting"]["reason"] for status in statuses if "waiting" in status["state"]]


def succeeds(control_plane: plane.ControlPlane, command: Sequence[str], kubeconfig: pathlib.Path) -> bool:
    """Whether one kubectl command succeeds."""
    try:
        control_plane.kubectl(*command, kubeconfig=kubeconfig)
    except plane.CommandError:
        return False
    return True


def test_the_server_is_the_pinned_version(control_plane: plane.ControlPlane) -> None:
    if not control_plane.pinned:
        pytest.skip("KUBEBUILDER_ASSETS gave another API server.")
    assert control_plane.api("GET", "/version")["gitVersion"] == build.KUBERNETES.version


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_replicated_workload_becomes_ready(control_plane: plane.ControlPlane, namespace: str, kind: str) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=workload(kind, "web", replicas=3))
    control_plane.wait_until(
        lambda: get(control_plane, namespace, kind, "web")["status"].get("readyReplicas") == 3,
        f"3 ready replicas of the {kind}",
        PROGRESS_SECONDS,
    )


def test_a_daemon_set_has_a_ready_pod_on_every_node(control_plane: plane.ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=workload("DaemonSet", "agent"))
    nodes = len(control_plane.api("GET", "/api/v1/nodes")["items"])
    control_plane.wait_until(
        lambda: get(control_plane, namespace, "daemonset", "agent")["status"].get("numberReady") == nodes,
        "a ready pod on every node",
        PROGRESS_SECONDS,
    )


def test_a_job_completes(control_plane: plane.ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=job("task", "example.test/task:1"))
    control_plane.kubectl("wait", "-n", namespace, "--for=condition=Complete", "job/task", "--timeout=60s")
    assert get(control_plane, namespace, "job", "task")["status"]["succeeded"] == 2


def test_a_claim_is_bound(control_plane: plane.ControlPlane, namespace: str) -> None:
    claim = {"metadata": {"name": "data"}, "spec": volume_claim()}
    manifest = workload("StatefulSet", "store", replicas=1, volumeClaimTemplates=[claim])
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=manifest)
    control_plane.kubectl("rollout", "status", "-n", namespace, "statefulset/store", "--timeout=60s")
    assert get(control_plane, namespace, "pvc", "data-store-0")["status"]["phase"] == "Bound"


def volume_claim() -> dict[str, object]:
    """The spec of a claim on the default storage class."""
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize("image", ["example.test/unpullable:1", "example.test/app:missing"])
def test_an_image_that_cannot_be_pulled_stays_in_back_off_until_it_is_replaced(
    control_plane: plane.ControlPlane, namespace: str, image: str
) -> None:
    manifest = workload("Deployment", "web", image, replicas=2, progressDeadlineSeconds=3)
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=manifest)

    def overdue() -> bool:
        status = get(control_plane, namespace, "deployment", "web")["status"]
        reasons = {condition.get("reason") for condition in status.get("conditions", ())}
        return "ProgressDeadlineExceeded" in reasons

    control_plane.wait_until(overdue, "the Deployment's deadline", PROGRESS_SECONDS)
    assert waiting_reasons(control_plane, namespace) == ["ImagePullBackOff"] * 2
    control_plane.kubectl("set", "image", "-n", namespace, "deployment/web", "app=example.test/app:2")
    control_plane.kubectl("rollout", "status", "-n", namespace, "deployment/web", "--timeout=60s")
    control_plane.wait_until(lambda: not waiting_reasons(control_plane, namespace), "no pod that waits")


def test_a_pod_in_back_off_is_not_written_to_again(control_plane: plane.ControlPlane, namespace: str) -> None:
    pod = {
        "initContainers": [{"name": "first", "image": "example.test/first:1"}],
        "containers": [{"name": "app", "image": "example.test/app:missing"}, {"name": "side", "image": "side:1"}],
    }
    manifest = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "lone"}, "spec": pod})
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=manifest)
    control_plane.wait_until(lambda: waiting_reasons(control_plane, namespace) == ["ImagePullBackOff"], "the back-off")
    before = get(control_plane, namespace, "pod", "lone")
    control_plane.kubectl("annotate", "-n", namespace, "pod/lone", "touched=yes")
    control_plane.kubectl("wait", "-n", namespace, "pod/lone", "--for=jsonpath={.metadata.annotations.touched}=yes")
    after = get(control_plane, namespace, "pod", "lone")
    assert after["status"] == before["status"]
    assert after["status"]["phase"] == "Pending"
    assert after["status"]["initContainerStatuses"][0]["state"]["terminated"]["reason"] == "Completed"


def test_a_service_account_has_the_rights_it_was_given_and_no_others(
    control_plane: plane.ControlPlane, namespace: str
) -> None:
    control_plane.kubectl("create", "serviceaccount", "-n", namespace, "reader")
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "reader")
    with pytest.raises(plane.CommandError, match="Forbidden"):
        control_plane.kubectl("get", "configmaps", kubeconfig=kubeconfig)
    control_plane.kubectl("create", "role", "-n", namespace, "reads", "--verb=get,list", "--resource=configmaps")
    control_plane.kubectl(
        "create", "rolebinding", "-n", namespace, "reads", "--role=reads", f"--serviceaccount={namespace}:reader"
    )
    may_list = ("auth", "can-i", "list", "configmaps", "--quiet")
    control_plane.wait_until(lambda: succeeds(control_plane, may_list, kubeconfig), "the new right")
    assert "kube-root-ca.crt" in control_plane.kubectl("get", "configmaps", kubeconfig=kubeconfig)
    with pytest.raises(plane.CommandError, match="Forbidden"):
        control_plane.kubectl("get", "secrets", kubeconfig=kubeconfig)


def test_a_token_for_another_audience_is_good_only_there(control_plane: plane.ControlPlane, namespace: str) -> None:
    token = control_plane.service_account_token(namespace, "default", ["elsewhere"])
    assert review(control_plane, token, "elsewhere")["authenticated"] is True
    assert not review(control_plane, token, "another").get("authenticated", False)
    with pytest.raises(plane.CommandError, match=r"(?i)unauthorized|must be logged in|credentials"):
        control_plane.kubectl("get", "pods", kubeconfig=control_plane.kubeconfig(namespace, token=token))


def test_a_kubeconfig_for_a_proxy_sends_its_token_there(control_plane: plane.ControlPlane, namespace: str) -> None:
    seen: list[str | None] = []

    class Fault(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            self.send_error(http.HTTPStatus.FORBIDDEN, "a fault of the proxy")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
            pass

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*control_plane.loopback_certificate)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fault) as proxy:
        proxy.socket = tls.wrap_socket(proxy.socket, server_side=True)
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            server = f"https://127.0.0.1:{proxy.server_port}"
            kubeconfig = control_plane.service_account_kubeconfig(namespace, "default", server=server)
            with pytest.raises(plane.CommandError):
                control_plane.kubectl("get", "pods", kubeconfig=kubeconfig)
        finally:
            proxy.shutdown()
            thread.join()
    assert seen
    assert all(header is not None and header.startswith("Bearer ey") for header in seen)


def review(control_plane: plane.ControlPlane, token: str, audience: str) -> Any:
    """The status of one TokenReview."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token, "audiences": [audience]},
    }
    return control_plane.api("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body)["status"]


def test_a_deleted_namespace_goes_with_its_pods(control_plane: plane.ControlPlane, namespace: str) -> None:
    control_plane.kubectl("apply", "-n", namespace, "-f", "-", input=workload("Deployment", "web", replicas=1))
    control_plane.kubectl("rollout", "status", "-n", namespace, "deployment/web", "--timeout=60s")
    control_plane.kubectl("delete", "namespace", namespace, "--timeout=60s")
    with pytest.raises(plane.CommandError, match="NotFound"):
        control_plane.kubectl("get", "namespace", namespace)


def test_helm_installs_and_uninstalls_a_chart(
    control_plane: plane.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: tiny\nversion: 0.1.0\n", encoding="utf-8")
    manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tiny}\ndata: {release: {{ .Release.Name }}}\n"
    (tmp_path / "templates" / "all.yaml").write_text(manifest, encoding="utf-8")
    control_plane.helm("install", "one", str(tmp_path), "-n", namespace, "--wait")
    assert get(control_plane, namespace, "configmap", "tiny")["data"] == {"release": "one"}
    control_plane.helm("uninstall", "one", "-n", namespace, "--wait")
    with pytest.raises(plane.CommandError, match="NotFound"):
        control_plane.kubectl("get", "configmap", "tiny", "-n", namespace)


def test_stop_leaves_no_process_and_no_folder_behind(control_plane_assets: assets.Assets) -> None:
    second = plane.ControlPlane(control_plane_assets, nodes=1)
    with second:
        folder = second.folder
        pids = [process.pid for process in second.started]
        assert len(pids) == 5
        assert all(processes.alive(pid) for pid in pids)
    assert not any(processes.alive(pid) for pid in pids)
    assert not folder.exists()
    assert second.started == ()
    second.stop()


def test_a_start_that_fails_says_why_and_stops_what_it_started(
    control_plane_assets: assets.Assets, tmp_path: pathlib.Path
) -> None:
    broken = plane.ControlPlane(control_plane_assets, tmp_path, api_server_arguments=["--no-such-flag"])
    with pytest.raises(processes.ProcessError, match=r"(?s)kube-apiserver ended.*unknown flag: --no-such-flag"):
        broken.start()
    assert broken.started == ()
