"""The guard over real connections: what is refused before a byte is sent (C127, C128, C130)."""

import ipaddress
import socket

import aiohttp.abc
import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import bound, client, errors, guard
from vigil.model import failures

BLOCKED = failures.Category.BLOCKED_ADDRESS


async def _hello(_request: web.Request) -> web.Response:
    return web.Response(text="hello")


@pytest.mark.parametrize(
    "url",
    [
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0/",
        "ws://[::1]:8080/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:7f00:1::1]/",
        "http://[2001:0:7f00:1::]/",
        "http://100.64.0.1/",
        "http://198.18.0.1/",
        "http://[fe80::1%eth0]/",
        "http://[fe80::1%25eth0]/",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00:ec2::254]/latest/meta-data",
        "http://0177.0.0.1/",
        "http://127.1/",
        "https://255.255.255.255/",
    ],
)
async def test_no_notation_of_a_refused_address_is_connected_to(url: str) -> None:
    async with client.GuardedClient(client.Settings()) as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", url, timeout=5))
    assert failure.category is BLOCKED
    assert "which is" in failure.message


async def test_loopback_is_refused_by_default_and_the_server_is_never_reached() -> None:
    async with http_servers.serving(_hello) as site, client.GuardedClient(client.Settings()) as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=5))
        named = await http_servers.failure_of(guarded.request("GET", f"http://localhost:{site.port}/", timeout=5))
    assert (failure.category, named.category) == (BLOCKED, BLOCKED)
    assert failure.message == (f"GET {site.url}: it leads to 127.0.0.1, which is loopback (settings can allow a range)")
    assert "localhost resolves to" in named.message
    assert site.requests == []


async def test_an_allowed_range_is_reached() -> None:
    async with http_servers.serving(_hello) as site, http_servers.guarded() as guarded:
        response = await guarded.request("GET", f"{site.url}/a?b=c", timeout=5)
    assert (response.status, response.body, response.url) == (200, b"hello", f"{site.url}/a?b=c")


async def test_an_allowed_address_in_an_odd_notation_asks_for_the_plain_one() -> None:
    async with http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", "http://2130706433/", timeout=5))
    assert failure.category is failures.Category.CONFIG
    assert "write the address as 127.0.0.1" in failure.message


async def test_a_name_is_resolved_once_and_the_connection_goes_to_what_was_checked() -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.1"], ["169.254.169.254"]]})
    async with http_servers.serving(_hello) as site, http_servers.guarded(resolver) as guarded:
        url = f"http://{http_servers.NAME}:{site.port}/"
        response = await guarded.request("GET", url, timeout=5)
        again = await guarded.request("GET", url, timeout=5)
    assert (response.status, again.status) == (200, 200)
    assert resolver.asked == [http_servers.NAME]
    assert site.requests[0].headers["Host"] == f"{http_servers.NAME}:{site.port}"


async def test_a_name_that_changes_its_answer_is_refused_when_a_new_connection_asks_again() -> None:
    async def closing(_request: web.Request) -> web.Response:
        return web.Response(headers={"Connection": "close"})

    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.1"], ["169.254.169.254"]]})
    async with http_servers.serving(closing) as site, http_servers.guarded(resolver) as guarded:
        url = f"http://{http_servers.NAME}:{site.port}/"
        await guarded.request("GET", url, timeout=5)
        failure = await http_servers.failure_of(guarded.request("GET", url, timeout=5))
    assert failure.category is BLOCKED
    assert f"{http_servers.NAME} resolves to 169.254.169.254, which is link-local" in failure.message
    assert len(site.requests) == 1


async def test_the_checked_resolver_gives_only_the_first_answer_of_a_name_that_rebinds() -> None:
    inner = http_servers.Resolver({"rebind.example.test": [["203.0.113.9"], ["169.254.169.254"]]})
    rule = guard.reachable((ipaddress.ip_network("203.0.113.0/24"),))
    checked = guard.CheckedResolver(inner, rule)
    first = await checked.resolve("rebind.example.test", 443)
    assert [(answer["host"], answer["port"]) for answer in first] == [("203.0.113.9", 443)]
    with pytest.raises(errors.AddressRefusedError, match=r"169\.254\.169\.254"):
        await checked.resolve("rebind.example.test", 443)


async def test_one_refused_answer_refuses_the_whole_name_and_the_message_says_so() -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.1", "10.0.0.7"]]})
    async with http_servers.serving(_hello) as site, http_servers.guarded(resolver) as guarded:
        failure = await http_servers.failure_of(
            guarded.request("GET", f"http://{http_servers.NAME}:{site.port}/", timeout=5)
        )
    assert failure.category is BLOCKED
    assert "resolves to 10.0.0.7, which is private" in failure.message
    assert "one that is refused refuses all" in failure.message
    assert site.requests == []


@pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2"])
async def test_the_next_checked_address_is_tried_when_one_does_not_answer() -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.2", "127.0.0.1"]]})
    async with http_servers.serving(_hello) as site, http_servers.guarded(resolver) as guarded:
        response = await guarded.request("GET", f"http://{http_servers.NAME}:{site.port}/", timeout=5)
    assert response.status == 200


@pytest.mark.allow_hosts(["127.0.0.1", "127.0.0.2", "127.0.0.3"])
async def test_a_name_none_of_whose_addresses_answers_is_transient() -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [["127.0.0.2", "127.0.0.3"]]})
    async with http_servers.serving(_hello) as site, http_servers.guarded(resolver) as guarded:
        failure = await http_servers.failure_of(
            guarded.request("GET", f"http://{http_servers.NAME}:{site.port}/", timeout=5)
        )
    assert failure.category is failures.Category.TRANSIENT
    assert "connection refused" in failure.message


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "NXDOMAIN"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "DNS gave no answer"),
        (OSError("resolver broke"), "DNS gave no answer"),
        ([], "NXDOMAIN"),
    ],
)
async def test_a_name_that_does_not_resolve_is_transient(answer: OSError | list[str], says: str) -> None:
    resolver = http_servers.Resolver({http_servers.NAME: [answer]})
    async with http_servers.guarded(resolver) as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"https://{http_servers.NAME}/", timeout=5))
    assert failure.category is failures.Category.TRANSIENT
    assert says in failure.message


async def test_a_resolver_that_breaks_in_an_unforeseen_way_is_a_failure_of_no_known_class() -> None:
    class Broken(http_servers.Resolver):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[aiohttp.abc.ResolveResult]:
            raise KeyError(host)

    async with http_servers.guarded(Broken({})) as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"https://{http_servers.NAME}/", timeout=5))
    assert failure.category is failures.Category.UNKNOWN
    assert "KeyError" in failure.message


def test_the_socket_itself_refuses_an_address_that_came_by_any_other_way() -> None:
    make = guard.checked_socket(guard.reachable(()))
    with pytest.raises(errors.AddressRefusedError, match="loopback"):
        make((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80)))
    made = make((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 80)))
    made.close()


@pytest.mark.parametrize("scheme", ["ws", "wss", "ftp", "file", "gopher", "unix", "http+unix"])
async def test_only_http_and_https_are_spoken(scheme: str) -> None:
    async with http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{scheme}://{http_servers.NAME}/", timeout=5))
    assert failure.category is failures.Category.CONFIG
    assert "only http and https" in failure.message


async def test_a_proxy_of_the_environment_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with http_servers.serving(_hello) as site, http_servers.serving(_hello) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with http_servers.guarded() as guarded:
            await guarded.request("GET", f"{site.url}/", timeout=5)
    assert (len(site.requests), proxy.requests) == (1, [])


async def test_a_redirect_to_a_refused_address_is_refused_at_its_hop() -> None:
    async def leading(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})

    async with http_servers.serving(leading) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=5))
    assert failure.category is BLOCKED
    assert "169.254.169.254" in failure.message
    assert "meta-data" not in failure.message


async def test_a_redirect_to_a_name_is_resolved_and_checked_anew() -> None:
    async def leading(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "http://inner.example.test/"})

    resolver = http_servers.Resolver({"inner.example.test": [["10.0.0.1"]]})
    async with http_servers.serving(leading) as site, http_servers.guarded(resolver) as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=5))
    assert failure.category is BLOCKED
    assert resolver.asked == ["inner.example.test"]


async def test_a_bound_transport_is_behind_the_same_guard() -> None:
    async with client.GuardedClient(client.Settings()) as guarded:
        reader = bound.BoundTransport(guarded, "http://127.0.0.1:1")
        failure = await http_servers.failure_of(reader.request("GET", "/", timeout=5))
    assert failure.category is BLOCKED
