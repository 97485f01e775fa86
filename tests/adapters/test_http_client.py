"""The client as a whole: its pool, its name, its end, and the requests that notifications make."""

import asyncio
import ipaddress

from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import client
from vigil.model import failures


async def _hello(_request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def test_it_says_who_asks_and_what_it_understands() -> None:
    async with http_servers.serving(_hello) as site, http_servers.guarded() as guarded:
        await guarded.request("GET", f"{site.url}/", timeout=5)
    headers = site.requests[0].headers
    assert headers["User-Agent"].startswith("vigil/")
    assert headers["Accept-Encoding"] == "gzip"


async def test_it_posts_a_notification_as_it_is() -> None:
    async with http_servers.serving(_hello) as site, http_servers.guarded() as guarded:
        response = await guarded.request(
            "POST",
            f"{site.url}/services/T0/B0/x",
            timeout=5,
            headers={"Content-Type": "application/json"},
            body=b'{"text":"red"}',
        )
    assert response.status == 200
    assert site.bodies == [b'{"text":"red"}']
    assert site.requests[0].headers["Content-Type"] == "application/json"


async def test_the_path_and_the_query_of_a_url_are_never_in_a_message() -> None:
    async with http_servers.scripted(http_servers.sends(b"not http")) as url, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(
            guarded.request("POST", f"{url}/services/s3cret?key=s3cret#s3cret", timeout=5)
        )
    assert failure.message == f"POST {url}: the answer is not HTTP"


async def test_connections_are_kept_and_their_number_is_bounded() -> None:
    now, most = 0, 0

    async def counting(_request: web.Request) -> web.Response:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        return web.Response()

    settings = client.Settings(allowed_ranges=http_servers.LOOPBACK, connections=3, connections_per_host=2)
    async with http_servers.serving(counting) as site, client.GuardedClient(settings) as guarded:
        await asyncio.gather(*(guarded.request("GET", f"{site.url}/", timeout=10) for _ in range(8)))
        ports = {request.transport for request in site.requests}
    assert most == 2
    assert len(ports) <= 2


async def test_waiting_for_a_connection_counts_towards_the_deadline() -> None:
    async def hanging(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await _reader.read()

    settings = client.Settings(allowed_ranges=http_servers.LOOPBACK, connections_per_host=1)
    async with http_servers.scripted(hanging) as url, client.GuardedClient(settings) as guarded:
        failed = await asyncio.gather(
            *(http_servers.failure_of(guarded.request("GET", url, timeout=0.1)) for _ in range(3))
        )
    assert {failure.category for failure in failed} == {failures.Category.TIMEOUT}


async def test_a_failed_request_leaves_the_client_usable() -> None:
    turns = 0

    async def first_cut(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal turns
        turns += 1
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + (b"ok" if turns == 1 else b"okay"))

    async with http_servers.scripted(first_cut) as url, http_servers.guarded() as guarded:
        assert (await http_servers.failure_of(guarded.request("GET", url, timeout=5))).heals
        assert (await guarded.request("GET", url, timeout=5)).body == b"okay"


async def test_a_post_is_never_sent_twice() -> None:
    seen = 0

    async def dropping(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        nonlocal seen
        seen += 1

    async with http_servers.scripted(dropping) as url, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("POST", url, timeout=5, body=b"x"))
    assert (failure.category, seen) == (failures.Category.TRANSIENT, 1)


async def test_a_closed_client_is_transient_and_closing_twice_is_harmless() -> None:
    guarded = client.GuardedClient(client.Settings(allowed_ranges=(ipaddress.ip_network("127.0.0.0/8"),)))
    await guarded.close()
    await guarded.close()
    failure = await http_servers.failure_of(guarded.request("GET", "http://127.0.0.1:1/", timeout=5))
    assert failure.category is failures.Category.TRANSIENT
    assert "the client is closed" in failure.message
