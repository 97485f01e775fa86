"""Credentials from Secrets: of the Watch's own namespace, for the hosts that they allow, one account a token."""

import base64
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aiohttp import web

from tests.adapters import http_servers
from tests.adapters.kube import conftest, servers
from tests.controlplane import plane
from vigil import ports
from vigil.adapters import clock
from vigil.adapters.http import accounts
from vigil.adapters.http import client as http_client
from vigil.adapters.kube import client, secrets, transports
from vigil.kind import transport
from vigil.model import failures, wakes
from vigil_kinds import http_json, kubernetes_rollout

pytestmark = pytest.mark.e2e

KEY = wakes.SecretKey("provider", "token")


def store(
    control_plane: plane.ControlPlane, namespace: str, hosts: str = "", name: str = "provider", **data: str
) -> None:
    """Make a Secret, or write it anew."""
    annotations = {"vigil.dev/allowed-hosts": hosts} if hosts else {}
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    metadata = {"name": name, "namespace": namespace, "annotations": annotations}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": encoded}
    path = f"/api/v1/namespaces/{namespace}/secrets"
    found = control_plane.kubectl("get", "secret", "-n", namespace, name, "--ignore-not-found", "-o", "name")
    control_plane.api("PUT" if found else "POST", f"{path}/{name}" if found else path, body)


@pytest.fixture
async def guarded() -> AsyncIterator[http_client.GuardedClient]:
    """The guarded client, for loopback."""
    async with http_servers.guarded() as made:
        yield made


@pytest.fixture
def bound(through: client.ApiClient, guarded: http_client.GuardedClient) -> transports.ClusterTransports:
    """The transports of an operator that reads Secrets through the proxy."""
    return transports.ClusterTransports(through, guarded, secrets.Secrets(through, clock.SystemClock()))


def good(found: ports.Bound | failures.Failure) -> ports.Bound:
    """What was bound."""
    assert isinstance(found, ports.Bound)
    return found


def bad(found: object) -> tuple[failures.Category, str]:
    """Why nothing was."""
    assert isinstance(found, failures.Failure)
    return found.category, found.message


async def get(found: ports.Bound | failures.Failure, url: str = "/") -> transport.Response:
    """One request of a probe."""
    return await good(found).transport.request("GET", url, timeout=5.0)


def tokens(site: http_servers.Site) -> list[str | None]:
    """The header Authorization of each request that a site got."""
    return [request.headers.get("Authorization") for request in site.requests]


async def ok(_request: web.Request) -> web.Response:
    """A provider that takes any token."""
    return web.Response(text="{}")


async def test_a_secret_goes_to_a_host_that_it_allows(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    async with http_servers.serving(ok) as site:
        store(control_plane, namespace, f"ghe.example.test, 127.0.0.1:{site.port}", token=" s3cret\n")
        found = await bound.bind(http_json.KIND, site.url, namespace, KEY)
        assert (await get(found)).status == 200
        assert tokens(site) == ["Bearer s3cret"]
        assert "s3cret" not in good(found).account


async def test_a_secret_without_the_annotation_goes_to_the_kinds_default_host_only(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    async with http_servers.serving(ok) as site:
        kind = dataclasses.replace(http_json.KIND, default_host=f"127.0.0.1:{site.port}")
        store(control_plane, namespace, token="s3cret")
        assert (await get(await bound.bind(kind, site.url, namespace, KEY))).status == 200
        assert bad(await bound.bind(http_json.KIND, site.url, namespace, KEY)) == (
            failures.Category.CONFIG,
            f"the Secret {namespace}/provider is not for {site.url}:"
            " its annotation vigil.dev/allowed-hosts must name it",
        )
        assert tokens(site) == ["Bearer s3cret"]


async def test_a_token_may_bring_its_scheme(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    async with http_servers.serving(ok) as site:
        store(control_plane, namespace, f"127.0.0.1:{site.port}", token="Basic dXNlcjpwYXNz")
        await get(await bound.bind(http_json.KIND, site.url, namespace, KEY))
        assert tokens(site) == ["Basic dXNlcjpwYXNz"]


async def test_without_a_credential_nothing_is_sent_along(bound: transports.ClusterTransports, namespace: str) -> None:
    async with http_servers.serving(ok) as site:
        await get(await bound.bind(http_json.KIND, site.url, namespace, None))
        assert tokens(site) == [None]


async def test_what_is_wrong_with_a_secret_is_said_in_a_sentence(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    async def why(name: str, key: str) -> tuple[failures.Category, str]:
        return bad(await bound.bind(http_json.KIND, "https://127.0.0.1", namespace, wakes.SecretKey(name, key)))

    store(control_plane, namespace, "127.0.0.1", empty="\n", lines="one\ntwo")
    binary = {"data": {"binary": base64.b64encode(b"\xff\xfe").decode()}}
    control_plane.kubectl("patch", "secret", "-n", namespace, "provider", "-p", json.dumps(binary))
    config, place = failures.Category.CONFIG, f"the Secret {namespace}/provider"
    assert await why("nothing", "token") == (config, f"there is no Secret {namespace}/nothing")
    assert await why("provider", "token") == (config, f"{place} has no key token")
    assert await why("provider", "empty") == (config, f"the key empty of {place} is empty")
    assert await why("provider", "binary") == (config, f"the key binary of {place} is no text")
    assert await why("provider", "lines") == (
        config,
        f"{place} holds no token: it must be one line of printable ASCII without spaces",
    )


async def test_a_secret_that_may_not_be_read_is_forbidden(control_plane: plane.ControlPlane, namespace: str) -> None:
    async with await conftest.connected(control_plane.service_account_kubeconfig(namespace, "default")) as nobody:
        found = await secrets.Secrets(nobody, clock.SystemClock()).token(namespace, KEY)
    category, message = bad(found)
    assert category is failures.Category.FORBIDDEN
    assert message.startswith(f"the Secret {namespace}/provider may not be read by the operator")


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_a_failure_of_the_operators_own_heals_and_blames_no_watch(
    bound: transports.ClusterTransports, proxy: servers.Proxy, namespace: str, status: int
) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(status, "Whatever")

    proxy.fault = fail
    category, _ = bad(await bound.bind(http_json.KIND, "https://127.0.0.1", namespace, KEY))
    assert category is failures.Category.TRANSIENT


async def test_a_secret_is_read_once_a_minute_and_a_missing_one_sooner(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    now = conftest.TurningClock()
    reader = secrets.Secrets(through, now)
    assert bad(await reader.token(namespace, KEY))[0] is failures.Category.CONFIG
    store(control_plane, namespace, token="one")
    assert bad(await reader.token(namespace, KEY))[0] is failures.Category.CONFIG
    now.turn(secrets.FAILURE_CACHE)
    assert await reader.read(namespace, KEY) == "one"
    store(control_plane, namespace, token="two")
    now.turn(secrets.CACHE - 1)
    assert await reader.read(namespace, KEY) == "one"
    now.turn(1)
    assert await reader.read(namespace, KEY) == "two"
    assert {request.split()[0] for request in proxy.requests} == {"GET"}
    assert len(proxy.requests) == 3


async def test_the_same_token_is_one_account_with_one_transport_wherever_it_lies(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    hosts = "api.example.test, ghe.example.test"
    store(control_plane, namespace, hosts, token="s3cret", other="another")
    store(control_plane, namespace, "api.example.test", name="copy", token="s3cret")
    first = good(await bound.bind(http_json.KIND, "api.example.test", namespace, KEY))
    copy = good(await bound.bind(http_json.KIND, "api.example.test", namespace, wakes.SecretKey("copy", "token")))
    assert copy.transport is first.transport
    assert copy.account == first.account
    elsewhere = good(await bound.bind(http_json.KIND, "ghe.example.test", namespace, KEY))
    assert elsewhere.transport is not first.transport
    other = good(await bound.bind(http_json.KIND, "api.example.test", namespace, wakes.SecretKey("provider", "other")))
    assert other.account != first.account
    again = good(await bound.bind(http_json.KIND, "api.example.test", namespace, KEY))
    assert again.transport is first.transport


async def test_a_401_reads_the_secret_again_once_before_it_counts(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, proxy: servers.Proxy, namespace: str
) -> None:
    async def strict(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("Authorization") == "Bearer new" else 401)

    async with http_servers.serving(strict) as site:
        host = f"127.0.0.1:{site.port}"
        store(control_plane, namespace, host, token="old")
        found = await bound.bind(http_json.KIND, site.url, namespace, KEY)
        assert (await get(found)).status == 401
        assert len(proxy.requests) == 2
        store(control_plane, namespace, host, token="new")
        assert (await get(found)).status == 200
        assert (await get(found)).status == 200
        renewed = await bound.bind(http_json.KIND, site.url, namespace, KEY)
        assert good(renewed).account != good(found).account
        assert tokens(site) == [f"Bearer {token}" for token in ("old", "old", "old", "new", "new")]


async def test_a_secret_that_no_longer_allows_the_host_is_not_sent_after_a_401(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    async def refuse(_request: web.Request) -> web.Response:
        return web.Response(status=401)

    async with http_servers.serving(refuse) as site:
        store(control_plane, namespace, f"127.0.0.1:{site.port}", token="old")
        found = await bound.bind(http_json.KIND, site.url, namespace, KEY)
        store(control_plane, namespace, "ghe.example.test", token="new")
        failure = await http_servers.failure_of(get(found))
        assert failure.category is failures.Category.CONFIG
        assert tokens(site) == ["Bearer old"]


async def test_forgotten_transports_are_made_anew(guarded: http_client.GuardedClient) -> None:
    kept = accounts.Accounts(guarded, kept=2)
    first = good(kept.anonymous("a.example.test"))
    good(kept.anonymous("b.example.test"))
    assert good(kept.anonymous("a.example.test")).transport is first.transport
    good(kept.anonymous("c.example.test"))
    assert good(kept.anonymous("a.example.test")).transport is first.transport
    assert bad(kept.anonymous("not a host"))[0] is failures.Category.CONFIG


async def test_the_cluster_is_read_as_the_operator_over_one_transport(
    control_plane: plane.ControlPlane, bound: transports.ClusterTransports, namespace: str
) -> None:
    found = await bound.bind(kubernetes_rollout.KIND, "kubernetes.default.svc", namespace, None)
    answer = await get(found, f"/apis/apps/v1/namespaces/{namespace}/deployments?limit=5")
    assert (answer.status, json.loads(answer.body)["kind"]) == (200, "DeploymentList")
    missing = await get(
        found, f"https://kubernetes.default.svc/apis/apps/v1/namespaces/{namespace}/deployments/secrets"
    )
    assert missing.status == 404
    again = await bound.bind(kubernetes_rollout.KIND, "kubernetes.default.svc", "another", None)
    assert good(again).transport is good(found).transport


@pytest.mark.parametrize(
    ("method", "url", "more"),
    [
        ("DELETE", "/api/v1/namespaces/team-a/pods/web", {}),
        ("POST", "/api/v1/namespaces/team-a/pods", {"body": b"{}"}),
        ("GET", "/api/v1/namespaces/team-a/secrets/provider", {}),
        ("GET", "/api/v1/secrets?limit=1", {}),
        ("GET", "/api/v1/namespaces/team-a/%73ecrets", {}),
        ("GET", "//api/v1/namespaces/team-a//secrets", {}),
        ("GET", "/api/v1/namespaces/team-a/pods/../secrets", {}),
        ("GET", "https://elsewhere.example.test/api", {}),
        ("GET", "https://kubernetes.default.svc.elsewhere.example.test/api", {}),
        ("GET", "api/v1/pods", {}),
        ("GET", "/api/v1/pods", {"headers": {"Impersonate-User": "system:admin"}}),
        ("GET", "/api/v1/pods", {"headers": {"Authorization": "Bearer another"}}),
    ],
)
async def test_a_probe_of_the_cluster_only_reads_and_reads_no_secrets(
    bound: transports.ClusterTransports, proxy: servers.Proxy, method: str, url: str, more: dict[str, Any]
) -> None:
    found = good(await bound.bind(kubernetes_rollout.KIND, "kubernetes.default.svc", "team-a", None))
    failure = await http_servers.failure_of(found.transport.request(method, url, timeout=5.0, **more))
    assert failure.category is failures.Category.CONFIG
    assert proxy.requests == []
