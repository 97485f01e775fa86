"""The transport of a kind: one host, one credential, and nothing of it anywhere else."""

import asyncio
import pathlib
from collections.abc import Sequence

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import bound, client, credentials, urls
from vigil.kind import transport
from vigil.model import failures

CONFIG = failures.Category.CONFIG


class Account:
    """A credential whose secret is read anew by `refresh`: the first token, then the next ones."""

    id = "team-a/api"

    def __init__(self, hosts: Sequence[str], *tokens: str) -> None:
        self._hosts = frozenset(hosts)
        self._tokens = list(tokens or ("t0ken",))
        self.reads: list[str] = []

    async def authorization(self) -> credentials.Authorization:
        self.reads.append("authorization")
        return credentials.Authorization({"Authorization": f"Bearer {self._tokens[0]}"}, self._hosts)

    async def refresh(self) -> credentials.Authorization:
        self.reads.append("refresh")
        if len(self._tokens) > 1:
            self._tokens.pop(0)
        return credentials.Authorization({"Authorization": f"Bearer {self._tokens[0]}"}, self._hosts)


class NoSecret:
    """A credential whose Secret is not there."""

    id = "team-a/gone"

    async def authorization(self) -> credentials.Authorization:
        raise transport.ReadError(failures.Failure(CONFIG, "there is no Secret team-a/gone"))

    async def refresh(self) -> credentials.Authorization:
        raise AssertionError("it was never read")


async def _echo(request: web.Request) -> web.Response:
    return web.Response(text=request.headers.get("Authorization", "none"))


def _wanting(token: str) -> http_servers.Handler:
    async def guarding(request: web.Request) -> web.Response:
        return web.Response(status=200 if request.headers.get("Authorization") == f"Bearer {token}" else 401)

    return guarding


async def test_a_path_goes_to_the_bound_host_with_the_credential() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        account = Account([f"127.0.0.1:{site.port}"])
        reader: transport.Transport = bound.BoundTransport(guarded, site.url, account)
        response = await reader.request("GET", "/v1//state?q=1", timeout=5)
    assert response.body == b"Bearer t0ken"
    assert response.url == f"{site.url}/v1//state?q=1"
    assert account.reads == ["authorization"]


async def test_a_path_that_looks_like_a_host_stays_on_the_bound_host() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url)
        response = await reader.request("GET", "//evil.example.test/x", timeout=5)
    assert response.url == f"{site.url}//evil.example.test/x"
    assert site.requests[0].headers["Host"] == f"127.0.0.1:{site.port}"


async def test_an_absolute_url_of_the_bound_host_gets_the_credential_and_another_does_not() -> None:
    async with (
        http_servers.serving(_echo) as site,
        http_servers.serving(_echo) as other,
        http_servers.guarded() as guarded,
    ):
        account = Account([f"127.0.0.1:{site.port}", f"127.0.0.1:{other.port}"])
        reader = bound.BoundTransport(guarded, site.url, account)
        own = await reader.request("GET", f"{site.url}/x", timeout=5)
        foreign = await reader.request("GET", f"{other.url}/x", timeout=5)
    assert (own.body, foreign.body) == (b"Bearer t0ken", b"none")


async def test_the_credential_wins_over_a_header_of_the_kind_and_leaves_the_others() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url, Account([f"127.0.0.1:{site.port}"]))
        headers = {"authorization": "Bearer mine", "Accept": "application/json"}
        response = await reader.request("POST", "/graphql", timeout=5, headers=headers, body=b"{}")
    assert response.body == b"Bearer t0ken"
    assert site.requests[0].headers.getall("Authorization") == ["Bearer t0ken"]
    assert site.requests[0].headers["Accept"] == "application/json"
    assert site.bodies == [b"{}"]


@pytest.mark.parametrize("hosts", [[], ["other.example.test"], ["127.0.0.1"], ["127.0.0.1:1"], [""], ["*"]])
async def test_a_host_that_the_secret_does_not_name_never_sees_it(hosts: list[str]) -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url, Account(hosts))
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert failure.category is CONFIG
    assert "team-a/api" in failure.message
    assert "allowed-hosts" in failure.message
    assert "t0ken" not in failure.message
    assert site.requests == []


async def test_the_default_host_of_the_kind_needs_no_annotation() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url, Account([]), default_host=f"127.0.0.1:{site.port}")
        assert (await reader.request("GET", "/", timeout=5)).body == b"Bearer t0ken"


@pytest.mark.parametrize("entry", ["api.example.test", " API.example.test ", "api.example.test:443"])
def test_a_host_on_the_port_of_its_scheme_may_be_named_with_or_without_it(entry: str) -> None:
    origin = urls.base("api.example.test")
    granted = credentials.Authorization({"X-Token": "t"}, frozenset({entry}))
    assert credentials.headers_for(origin, "a", granted, "") == {"X-Token": "t"}


def test_a_credential_does_not_show_its_headers() -> None:
    granted = credentials.Authorization({"Authorization": "Bearer t0ken"})
    wanted = client.call("GET", "https://api.example.test/?q=t0ken", {"X": "t0ken"}, b"t0ken", 1)
    assert "t0ken" not in repr(granted)
    assert "Bearer" not in repr(wanted.with_credential(granted.headers))


async def test_a_401_reads_the_credential_anew_and_asks_once_more() -> None:
    async with http_servers.serving(_wanting("new")) as site, http_servers.guarded() as guarded:
        account = Account([f"127.0.0.1:{site.port}"], "old", "new")
        response = await bound.BoundTransport(guarded, site.url, account).request("GET", "/", timeout=5)
    assert response.status == 200
    assert account.reads == ["authorization", "refresh"]
    assert len(site.requests) == 2


async def test_a_second_401_counts() -> None:
    async with http_servers.serving(_wanting("other")) as site, http_servers.guarded() as guarded:
        account = Account([f"127.0.0.1:{site.port}"], "old", "new", "newest")
        response = await bound.BoundTransport(guarded, site.url, account).request("GET", "/", timeout=5)
    assert response.status == 401
    assert (account.reads, len(site.requests)) == (["authorization", "refresh"], 2)


async def test_a_401_without_a_credential_counts_at_once() -> None:
    async with http_servers.serving(_wanting("other")) as site, http_servers.guarded() as guarded:
        response = await bound.BoundTransport(guarded, site.url).request("GET", "/", timeout=5)
    assert (response.status, len(site.requests)) == (401, 1)


async def test_a_401_of_another_origin_says_nothing_about_the_credential() -> None:
    async with http_servers.serving(_wanting("other")) as other:

        async def leading(_request: web.Request) -> web.Response:
            return web.Response(status=302, headers={"Location": f"{other.url}/"})

        async with http_servers.serving(leading) as site, http_servers.guarded() as guarded:
            account = Account([f"127.0.0.1:{site.port}"])
            response = await bound.BoundTransport(guarded, site.url, account).request("GET", "/", timeout=5)
    assert (response.status, account.reads) == (401, ["authorization"])


async def test_hosts_that_the_reread_secret_no_longer_names_are_not_asked_again() -> None:
    class Withdrawn(Account):
        async def refresh(self) -> credentials.Authorization:
            return credentials.Authorization({"Authorization": "Bearer new"}, frozenset())

    async with http_servers.serving(_wanting("new")) as site, http_servers.guarded() as guarded:
        account = Withdrawn([f"127.0.0.1:{site.port}"])
        reader = bound.BoundTransport(guarded, site.url, account)
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert (failure.category, len(site.requests)) == (CONFIG, 1)


async def test_a_secret_that_is_missing_is_its_own_failure_and_nothing_is_sent() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url, NoSecret())
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert failure == failures.Failure(CONFIG, "there is no Secret team-a/gone")
    assert site.requests == []


async def test_a_secret_that_holds_a_line_break_is_config_and_is_not_shown() -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, site.url, Account([f"127.0.0.1:{site.port}"], "t0ken\n"))
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert failure.category is CONFIG
    assert "authorization" in failure.message
    assert "t0ken" not in failure.message


async def test_the_deadline_bounds_the_reading_of_the_credential_too() -> None:
    class Slow(Account):
        async def authorization(self) -> credentials.Authorization:
            await asyncio.Event().wait()
            raise AssertionError("nobody sets it")

    async with http_servers.guarded() as guarded:
        reader = bound.BoundTransport(guarded, "http://127.0.0.1:1", Slow([]))
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=0.05))
    assert failure.category is failures.Category.TIMEOUT


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_a_kind_cannot_send_what_changes_its_subject(method: str) -> None:
    async with http_servers.serving(_echo) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(bound.BoundTransport(guarded, site.url).request(method, "/", timeout=5))
    assert (failure.category, site.requests) == (CONFIG, [])


async def test_a_credential_goes_over_plain_http_only_into_a_range_that_is_named() -> None:
    async with http_servers.guarded() as guarded:
        literal = bound.BoundTransport(guarded, "http://8.8.8.8", Account(["8.8.8.8"]))
        failure = await http_servers.failure_of(literal.request("GET", "/", timeout=5))
    assert failure.category is CONFIG
    assert "over https only" in failure.message


async def test_a_name_is_held_to_that_by_the_address_that_it_has_for_the_connection() -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.1"], ["8.8.8.8"]]})

    async def closing(_request: web.Request) -> web.Response:
        return web.Response(headers={"Connection": "close"})

    async with http_servers.serving(closing) as site, http_servers.guarded(resolver) as guarded:
        host = f"{http_servers.NAME}:{site.port}"
        reader = bound.BoundTransport(guarded, f"http://{host}", Account([host]))
        first = await reader.request("GET", "/", timeout=5)
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert (first.status, failure.category) == (200, CONFIG)
    assert "8.8.8.8" in failure.message


async def test_a_connection_that_was_made_without_a_secret_is_never_lent_to_one() -> None:
    resolver = http_servers.resolving(http_servers.NAME)
    peers: list[object] = []

    async def noting(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        return web.Response()

    async with http_servers.serving(noting) as site, http_servers.guarded(resolver) as guarded:
        url = f"http://{http_servers.NAME}:{site.port}/"
        for headers in ({}, {}, {"Authorization": "Bearer t"}, {"Authorization": "Bearer t"}):
            await guarded.request("GET", url, timeout=5, headers=headers)
    assert peers[0] == peers[1] != peers[2] == peers[3]
    assert len(resolver.asked) == 2


async def test_a_header_that_is_always_secret_needs_tls_without_any_credential() -> None:
    async with client.GuardedClient(client.Settings()) as guarded:
        failure = await http_servers.failure_of(
            guarded.request("POST", "http://8.8.8.8/hook", timeout=5, headers={"Authorization": "Bearer t"})
        )
    assert failure.category is CONFIG


async def test_a_credential_goes_over_https(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, http_servers.NAME)
    resolver = http_servers.resolving(http_servers.NAME)
    async with http_servers.serving(_echo, tls) as site, http_servers.guarded(resolver, str(ca)) as guarded:
        host = f"{http_servers.NAME}:{site.port}"
        response = await bound.BoundTransport(guarded, host, Account([host])).request("GET", "/", timeout=5)
    assert response.body == b"Bearer t0ken"
