"""Redirects over real servers: followed, checked, and without the credential elsewhere (C125)."""

import pathlib

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import bound, client, credentials
from vigil.model import failures

SECRET_HEADERS = {"Authorization": "Bearer t", "Cookie": "a=b", "Proxy-Authorization": "Basic t", "Private-Token": "t"}


def _to(location: str, status: int = 302) -> http_servers.Handler:
    async def leading(_request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": location}, body=b"moved")

    return leading


async def _final(request: web.Request) -> web.Response:
    return web.Response(text=f"{request.method} {request.path_qs}")


async def test_a_redirect_of_the_same_origin_is_followed_with_all_headers() -> None:
    async def renamed(request: web.Request) -> web.Response:
        if request.path == "/repos/old":
            return web.Response(status=301, headers={"Location": "/repositories/7?x=1"})
        return await _final(request)

    async with http_servers.serving(renamed) as site, http_servers.guarded() as guarded:
        response = await guarded.request("GET", f"{site.url}/repos/old", timeout=5, headers=SECRET_HEADERS)
    assert response.body == b"GET /repositories/7?x=1"
    assert response.url == f"{site.url}/repositories/7?x=1"
    assert site.requests[1].headers["Authorization"] == "Bearer t"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_another_port_loses_everything_that_could_be_secret(status: int) -> None:
    async with (
        http_servers.serving(_final) as other,
        http_servers.serving(_to(f"{other.url}/collect", status)) as site,
        http_servers.guarded() as guarded,
    ):
        headers = {**SECRET_HEADERS, "Accept": "application/json"}
        response = await guarded.request("GET", f"{site.url}/", timeout=5, headers=headers)
    assert response.body == b"GET /collect"
    assert {name for name in SECRET_HEADERS if name in other.requests[0].headers} == set()
    assert other.requests[0].headers["Accept"] == "application/json"
    assert other.requests[0].headers["User-Agent"] == client.USER_AGENT


async def test_what_was_dropped_stays_dropped_on_the_way_back() -> None:
    urls: dict[str, str] = {}

    async def first(request: web.Request) -> web.Response:
        if request.path == "/back":
            return await _final(request)
        return web.Response(status=302, headers={"Location": urls["second"]})

    async def second(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": f"{urls['first']}/back"})

    async with http_servers.serving(first) as one, http_servers.serving(second) as two:
        urls.update(first=one.url, second=two.url)
        async with http_servers.guarded() as guarded:
            await guarded.request("GET", f"{one.url}/", timeout=5, headers={"Authorization": "Bearer t"})
    assert ["Authorization" in request.headers for request in one.requests] == [True, False]


async def test_a_redirect_to_another_name_of_the_same_server_is_another_origin() -> None:
    resolver = http_servers.resolving("a.example.test", "b.example.test")
    urls: dict[str, str] = {}

    async def leading(request: web.Request) -> web.Response:
        if request.host.startswith("a."):
            return web.Response(status=302, headers={"Location": urls["b"]})
        return await _final(request)

    async with http_servers.serving(leading) as site, http_servers.guarded(resolver) as guarded:
        urls["b"] = f"http://b.example.test:{site.port}/x"
        granted = credentials.Authorization({"X-Token": "t"}, frozenset({f"a.example.test:{site.port}"}))
        reader = bound.BoundTransport(guarded, f"http://a.example.test:{site.port}", _Fixed(granted))
        response = await reader.request("GET", "/", timeout=5)
    assert response.body == b"GET /x"
    assert ["X-Token" in request.headers for request in site.requests] == [True, False]


async def test_from_https_to_http_is_never_followed(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    async with (
        http_servers.serving(_final) as plain,
        http_servers.serving(_to(f"{plain.url}/"), tls) as site,
        http_servers.guarded(ca_file=str(ca)) as guarded,
    ):
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=5))
    assert failure.category is failures.Category.CONFIG
    assert "from https to http" in failure.message
    assert plain.requests == []


async def test_from_http_to_https_is_followed_as_another_origin(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    async with (
        http_servers.serving(_final, tls) as secure,
        http_servers.serving(_to(f"{secure.url}/y")) as site,
        http_servers.guarded(ca_file=str(ca)) as guarded,
    ):
        response = await guarded.request("GET", f"{site.url}/", timeout=5, headers=SECRET_HEADERS)
    assert response.url == f"{secure.url}/y"
    assert "Authorization" not in secure.requests[0].headers


def _counting_down() -> http_servers.Handler:
    async def counting(request: web.Request) -> web.Response:
        left = int(request.path.strip("/"))
        return web.Response(status=302, headers={"Location": f"/{left - 1}"}) if left else web.Response(text="end")

    return counting


async def test_five_redirects_are_followed_and_the_sixth_is_malformed() -> None:
    async with http_servers.serving(_counting_down()) as site, http_servers.guarded() as guarded:
        assert (await guarded.request("GET", f"{site.url}/5", timeout=5)).body == b"end"
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/6", timeout=5))
    assert failure.category is failures.Category.MALFORMED
    assert "more than 5 redirects" in failure.message
    assert len(site.requests) == 12


@pytest.mark.parametrize("method", ["POST", "PUT"])
async def test_a_request_with_a_body_is_sent_again_whole_on_its_own_origin(method: str) -> None:
    async def moved(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(status=307, headers={"Location": "/there"})
        return await _final(request)

    async with http_servers.serving(moved) as site, http_servers.guarded() as guarded:
        response = await guarded.request(method, f"{site.url}/", timeout=5, body=b"payload")
    assert response.body == f"{method} /there".encode()
    assert site.bodies == [b"payload", b"payload"]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_request_with_a_body_never_goes_to_another_origin(status: int) -> None:
    async with (
        http_servers.serving(_final) as other,
        http_servers.serving(_to(f"{other.url}/", status)) as site,
        http_servers.guarded() as guarded,
    ):
        response = await guarded.request("POST", f"{site.url}/", timeout=5, body=b"payload")
    assert (response.status, response.body, other.requests) == (status, b"moved", [])


async def test_the_body_of_a_redirect_is_not_held_against_the_limit() -> None:
    async def moved(request: web.Request) -> web.Response:
        if request.path == "/":
            return web.Response(status=302, headers={"Location": "/there"}, body=bytes(500_000))
        return web.Response(text="small")

    async with http_servers.serving(moved) as site, http_servers.guarded() as guarded:
        response = await guarded.request("GET", f"{site.url}/", timeout=5, max_bytes=10)
    assert response.body == b"small"


async def test_a_redirect_to_no_usable_url_is_malformed_and_its_text_is_not_repeated() -> None:
    async with (
        http_servers.serving(_to("https://user:word@evil.example.test/")) as site,
        http_servers.guarded() as guarded,
    ):
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/?token=t0ken", timeout=5))
    assert failure.category is failures.Category.MALFORMED
    assert not any(text in failure.message for text in ("word", "evil", "t0ken"))


class _Fixed:
    id = "team-a/api"

    def __init__(self, granted: credentials.Authorization) -> None:
        self._granted = granted

    async def authorization(self) -> credentials.Authorization:
        return self._granted

    async def refresh(self) -> credentials.Authorization:
        return self._granted
