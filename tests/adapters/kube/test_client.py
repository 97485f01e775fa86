"""One request: as whom, how long, how large, and what a failure becomes."""

import asyncio
import json
import pathlib

import pytest
from aiohttp import web

from tests.adapters.kube import conftest, servers
from tests.controlplane import plane
from vigil.adapters import clock
from vigil.adapters.kube import client, configuration, errors
from vigil.kind import transport
from vigil.model import failures

pytestmark = pytest.mark.e2e


def pod_folder(folder: pathlib.Path, token: str, ca: pathlib.Path) -> configuration.InCluster:
    """What the kubelet mounts into a pod."""
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_bytes(ca.read_bytes())
    return configuration.InCluster(folder, {})


def in_cluster(control_plane: plane.ControlPlane, folder: pathlib.Path, token: str) -> configuration.InCluster:
    """The source of a process in a pod of this cluster."""
    host, _, port = control_plane.url.removeprefix("https://").rpartition(":")
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    mounted = pod_folder(folder, token, control_plane.ca)
    return configuration.InCluster(mounted.folder, environment)


async def test_a_kubeconfig_says_where_the_api_server_is_and_who_asks(api: client.ApiClient, namespace: str) -> None:
    found = await api.request("GET", client.path("api", "v1", "namespaces", namespace))
    assert found["metadata"]["name"] == namespace


async def test_a_pods_token_is_read_again_when_the_api_server_refuses_the_old_one(
    control_plane: plane.ControlPlane, namespace: str, tmp_path: pathlib.Path
) -> None:
    source = in_cluster(control_plane, tmp_path, "an-old-token\n")
    now = conftest.TurningClock()
    async with await client.connect(source, now) as made:
        with pytest.raises(errors.DeniedError) as refused:
            await made.request("GET", "/api/v1/namespaces")
        (tmp_path / "token").write_text(control_plane.admin_token + "\n")
        now.turn(10)
        await made.request("GET", "/api/v1/namespaces")
    assert (refused.value.status, refused.value.failure.category) == (401, failures.Category.AUTH)


async def test_a_pods_token_is_read_again_once_a_minute_without_a_refusal(
    control_plane: plane.ControlPlane, namespace: str, tmp_path: pathlib.Path, proxy: servers.Proxy
) -> None:
    tokens: list[str | None] = []

    async def note(request: web.Request) -> web.StreamResponse | None:
        tokens.append(request.headers.get("Authorization"))
        return None

    proxy.fault = note
    kubeconfig = control_plane.kubeconfig("rotating", server=proxy.url)
    content = json.loads(kubeconfig.read_text())
    content["users"][0]["user"] = {"tokenFile": str(tmp_path / "token")}
    kubeconfig.write_text(json.dumps(content))
    (tmp_path / "token").write_text("the-first")
    now = conftest.TurningClock()
    async with await client.connect(configuration.Kubeconfig(kubeconfig, reread=60.0), now) as made:
        (tmp_path / "token").write_text(control_plane.admin_token)
        now.turn(60)
        await made.request("GET", "/api/v1/namespaces")
        await made.request("GET", "/api/v1/namespaces")
    assert tokens == 2 * [f"Bearer {control_plane.admin_token}"]


async def test_every_refusal_has_its_class_its_words_and_its_category(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    maps = client.path("api", "v1", "namespaces", namespace, "configmaps")
    made = await api.request("POST", maps, body=body)
    made["metadata"]["resourceVersion"] = "1"

    with pytest.raises(errors.ConflictError) as twice:
        await api.request("POST", maps, body=body)
    with pytest.raises(errors.ConflictError) as stale:
        await api.request("PUT", f"{maps}/one", body=made)
    with pytest.raises(errors.NotFoundError) as missing:
        await api.request("GET", f"{maps}/two")
    with pytest.raises(errors.InvalidError) as invalid:
        await api.request("POST", maps, body={**body, "metadata": {"name": "Not A Name"}})
    kubeconfig = control_plane.service_account_kubeconfig(namespace, "default")
    async with await conftest.connected(kubeconfig) as nobody:
        with pytest.raises(errors.DeniedError) as denied:
            await nobody.request("GET", maps)

    seen = [raised.value for raised in (twice, stale, missing, invalid, denied)]
    assert [(one.status, one.reason, one.failure.category.value) for one in seen] == [
        (409, "AlreadyExists", "transient"),
        (409, "Conflict", "transient"),
        (404, "NotFound", "not_found"),
        (422, "Invalid", "config"),
        (403, "Forbidden", "forbidden"),
    ]
    assert missing.value.message == f'GET {maps}/two was answered with 404: configmaps "two" not found'


async def test_a_throttle_says_for_how_long(through: client.ApiClient, proxy: servers.Proxy) -> None:
    async def throttle(_request: web.Request) -> web.StreamResponse:
        return servers.refusal(429, "TooManyRequests", retry_after=7)

    proxy.fault = throttle
    with pytest.raises(errors.ThrottledError) as raised:
        await through.request("GET", "/api/v1/namespaces")
    assert raised.value.retry_after == 7.0
    assert raised.value.failure.category is failures.Category.THROTTLED


@pytest.mark.parametrize(("status", "kind"), [(500, errors.UnavailableError), (503, errors.UnavailableError)])
async def test_a_broken_api_server_is_unavailable_even_without_json(
    through: client.ApiClient, proxy: servers.Proxy, status: int, kind: type[errors.ApiError]
) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, text="<html>upstream connect error</html>")

    proxy.fault = fail
    with pytest.raises(kind) as raised:
        await through.request("GET", "/api/v1/namespaces")
    assert raised.value.message == f"GET /api/v1/namespaces was answered with {status}"


async def test_a_redirect_is_an_answer_and_takes_the_token_nowhere(
    through: client.ApiClient, proxy: servers.Proxy
) -> None:
    async def redirect(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=307, headers={"Location": f"{proxy.url}/elsewhere"})

    proxy.fault = redirect
    with pytest.raises(errors.ApiError) as raised:
        await through.request("GET", "/api/v1/namespaces")
    assert (raised.value.status, proxy.requests) == (307, ["GET /api/v1/namespaces"])


async def test_an_answer_that_is_no_json_object_is_malformed(through: client.ApiClient, proxy: servers.Proxy) -> None:
    async def babble(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="[1, 2]", content_type="application/json")

    proxy.fault = babble
    with pytest.raises(errors.ApiError) as raised:
        await through.request("GET", "/api/v1/namespaces")
    assert raised.value.failure.category is failures.Category.MALFORMED


async def test_a_slow_api_server_is_given_up_in_time(through: client.ApiClient, proxy: servers.Proxy) -> None:
    async def wait(_request: web.Request) -> web.StreamResponse | None:
        await asyncio.Event().wait()
        return None

    proxy.fault = wait
    with pytest.raises(errors.UnreachableError) as raised:
        await through.request("GET", "/api/v1/namespaces", timeout=0.1)
    assert raised.value.failure.category is failures.Category.TIMEOUT


async def test_an_api_server_that_is_not_there_is_unreachable_and_shows_no_exception_of_a_library(
    control_plane: plane.ControlPlane, unused_tcp_port: int
) -> None:
    kubeconfig = control_plane.kubeconfig("nowhere", server=f"https://127.0.0.1:{unused_tcp_port}")
    async with await conftest.connected(kubeconfig) as made:
        with pytest.raises(errors.UnreachableError) as raised:
            await made.request("GET", "/api/v1/namespaces")
    assert raised.value.failure.category is failures.Category.TRANSIENT
    assert raised.value.status == 0
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


async def test_a_certificate_of_another_authority_is_a_failure_of_tls(
    control_plane: plane.ControlPlane, tmp_path: pathlib.Path
) -> None:
    kubeconfig = control_plane.kubeconfig("untrusted")
    content = json.loads(kubeconfig.read_text())
    del content["clusters"][0]["cluster"]["certificate-authority-data"]
    (tmp_path / "untrusted").write_text(json.dumps(content))
    async with await conftest.connected(tmp_path / "untrusted") as made:
        with pytest.raises(errors.UnreachableError) as raised:
            await made.request("GET", "/api/v1/namespaces")
    assert raised.value.failure.category is failures.Category.TLS


async def test_an_answer_over_the_bound_is_too_large_and_compressed_ones_count_as_they_are_read(
    api: client.ApiClient, namespace: str
) -> None:
    maps = client.path("api", "v1", "namespaces", namespace, "configmaps")
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"x": "a" * 400_000}}
    await api.request("POST", maps, body=large)
    whole = await api.exchange("GET", f"{maps}/large", timeout=10.0)
    assert whole.headers["content-encoding"] == "gzip"
    assert len(json.loads(whole.body)["data"]["x"]) == 400_000
    with pytest.raises(transport.ReadError) as raised:
        await api.exchange("GET", f"{maps}/large", timeout=10.0, max_bytes=100_000)
    assert raised.value.failure.category is failures.Category.TOO_LARGE


async def test_a_proxy_of_the_environment_is_not_used(
    api: client.ApiClient, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{unused_tcp_port}")
    await api.request("GET", "/version")


async def test_a_closed_client_says_so(control_plane: plane.ControlPlane) -> None:
    made = await conftest.connected(control_plane.admin_kubeconfig)
    await made.close()
    with pytest.raises(errors.UnreachableError, match="the client is closed"):
        await made.request("GET", "/version")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no kubeconfig"),
        ("{", "cannot be read"),
        ("apiVersion: v1\nkind: Config\ntoken: [secret-token", "cannot be read"),
        ("{}", "cannot be"),
        ("apiVersion: v1\ncurrent-context: gone\ncontexts: []\nclusters: []\nusers: []", "gone"),
    ],
)
async def test_a_kubeconfig_that_cannot_be_used_says_so_without_its_contents(
    tmp_path: pathlib.Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "config").write_text(content)
    with pytest.raises(errors.ConfigurationError, match=message) as raised:
        await client.connect(configuration.Kubeconfig(tmp_path / "config"), clock.SystemClock())
    assert "secret-token" not in str(raised.value)


async def test_without_a_kubeconfig_a_process_outside_of_a_pod_says_that_it_is_in_none(
    tmp_path: pathlib.Path,
) -> None:
    with pytest.raises(errors.ConfigurationError, match="this is no pod with a ServiceAccount"):
        await client.connect(configuration.InCluster(tmp_path, {}), clock.SystemClock())
