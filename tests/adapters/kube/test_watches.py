"""Lists of Watches, and whether there can be any."""

import pytest
from aiohttp import web

from tests.adapters.kube import conftest, objects, servers
from tests.controlplane import plane
from vigil.adapters.kube import client, errors, watches

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("crd")]


async def test_a_list_has_the_items_and_the_version_that_a_stream_goes_on_from(
    control_plane: plane.ControlPlane, api: client.ApiClient, namespace: str
) -> None:
    made = [objects.create(control_plane, namespace, f"w-{number}") for number in range(3)]
    listing = await watches.Watches(api).list(namespace)
    assert [item["metadata"]["uid"] for item in listing.items] == [one["metadata"]["uid"] for one in made]
    assert int(listing.resource_version) >= int(made[-1]["metadata"]["resourceVersion"])


async def test_a_long_list_is_read_in_pages_and_again_from_its_start_once_a_page_has_expired(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    for number in range(5):
        objects.create(control_plane, namespace, f"w-{number}")
    expired: list[str] = []

    async def expire(request: web.Request) -> web.StreamResponse | None:
        if "continue" in request.query and not expired:
            expired.append(request.query["continue"])
            return servers.refusal(410, "Expired")
        return None

    proxy.fault = expire
    listing = await watches.Watches(through, page=2).list(namespace)
    assert [item["metadata"]["name"] for item in listing.items] == [f"w-{number}" for number in range(5)]
    assert len(proxy.requests) == 2 + 3


async def test_a_list_that_expires_again_and_again_fails(through: client.ApiClient, proxy: servers.Proxy) -> None:
    async def expire(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(410, "Expired")

    proxy.fault = expire
    with pytest.raises(errors.ExpiredError):
        await watches.Watches(through).list()
    assert len(proxy.requests) == 2


async def test_namespaces_are_listed_one_by_one_with_no_rights_beyond_them(
    control_plane: plane.ControlPlane, namespace: str
) -> None:
    made = objects.create(control_plane, namespace)
    rule = ("--verb=get,list", "--resource=watches.vigil.dev")
    control_plane.kubectl("create", "role", "reader", "-n", namespace, *rule)
    bound = ("--role=reader", f"--serviceaccount={namespace}:default")
    control_plane.kubectl("create", "rolebinding", "reader", "-n", namespace, *bound)
    async with await conftest.connected(control_plane.service_account_kubeconfig(namespace, "default")) as reader:
        found = await watches.Watches(reader, [namespace]).all()
        uids = await watches.Watches(reader, [namespace]).uids()
        with pytest.raises(errors.DeniedError):
            await watches.Watches(reader).all()
    assert [item["metadata"]["uid"] for item in found] == [made["metadata"]["uid"]]
    assert uids == {made["metadata"]["uid"]}


async def test_a_watch_that_is_not_there_is_none(api: client.ApiClient, namespace: str) -> None:
    assert await watches.Watches(api).get(namespace, "nothing") is None


async def test_the_crd_is_there(api: client.ApiClient) -> None:
    assert await watches.Watches(api).crd_installed()


async def test_a_cluster_without_the_crd_is_known_as_one(through: client.ApiClient, proxy: servers.Proxy) -> None:
    async def without(_request: web.Request) -> web.StreamResponse | None:
        return web.Response(status=404, text="404 page not found")

    proxy.fault = without
    assert not await watches.Watches(through).crd_installed()


async def test_a_crd_without_the_status_subresource_is_not_ours(
    through: client.ApiClient, proxy: servers.Proxy
) -> None:
    async def older(_request: web.Request) -> web.StreamResponse | None:
        return web.json_response({"kind": "APIResourceList", "resources": [{"name": "watches"}]})

    proxy.fault = older
    assert not await watches.Watches(through).crd_installed()


async def test_an_api_server_that_cannot_say_is_an_error_and_not_a_missing_crd(
    through: client.ApiClient, proxy: servers.Proxy
) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(503, "ServiceUnavailable")

    proxy.fault = fail
    with pytest.raises(errors.UnavailableError):
        await watches.Watches(through).crd_installed()
