"""TLS verifies the name, whatever address the connection is pinned to (C127)."""

import asyncio
import contextlib
import pathlib
import socket
import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import client
from vigil.model import failures

TLS = failures.Category.TLS


@contextlib.asynccontextmanager
async def _refusing(tls: ssl.SSLContext) -> AsyncIterator[str]:
    """A server whose handshake fails with an alert, which one on asyncio would cut off. Gives its URL."""
    listening = socket.create_server(("127.0.0.1", 0))

    def refuse_one() -> None:
        plain, _ = listening.accept()
        with tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False) as connection:
            with contextlib.suppress(ssl.SSLError):
                connection.do_handshake()
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while connection.recv(4096):
                    pass

    serving = asyncio.create_task(asyncio.to_thread(refuse_one))
    try:
        yield f"https://127.0.0.1:{listening.getsockname()[1]}/"
        await serving
    finally:
        listening.close()


async def _hello(_request: web.Request) -> web.Response:
    return web.Response(text="hello")


async def test_the_server_is_asked_for_by_name_and_its_certificate_is_held_to_it(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, http_servers.NAME)
    asked: list[str | None] = []

    def note(_socket: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        asked.append(name)

    tls.sni_callback = note
    resolver = http_servers.resolving(http_servers.NAME)
    async with http_servers.serving(_hello, tls) as site, http_servers.guarded(resolver, str(ca)) as guarded:
        response = await guarded.request("GET", f"https://{http_servers.NAME}:{site.port}/", timeout=5)
    assert response.body == b"hello"
    assert asked == [http_servers.NAME]


async def test_a_certificate_of_another_name_is_tls(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "other.example.test")
    resolver = http_servers.resolving(http_servers.NAME)
    async with http_servers.serving(_hello, tls) as site, http_servers.guarded(resolver, str(ca)) as guarded:
        failure = await http_servers.failure_of(
            guarded.request("GET", f"https://{http_servers.NAME}:{site.port}/?token=t0ken", timeout=5)
        )
    assert failure.category is TLS
    assert "certificate is not accepted" in failure.message
    assert http_servers.NAME in failure.message
    assert "t0ken" not in failure.message
    assert site.requests == []


async def test_an_authority_that_is_not_trusted_is_tls(tmp_path: pathlib.Path) -> None:
    _, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    async with http_servers.serving(_hello, tls) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=5))
    assert failure.category is TLS


async def test_an_address_is_verified_as_an_address(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    async with (
        http_servers.serving(_hello, tls) as site,
        http_servers.guarded(ca_file=str(ca), system_trust=False) as guarded,
    ):
        assert (await guarded.request("GET", f"{site.url}/", timeout=5)).status == 200


async def test_a_server_that_does_not_speak_tls_is_tls() -> None:
    async with http_servers.serving(_hello) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"https://127.0.0.1:{site.port}/", timeout=5))
    assert failure.category is TLS


async def test_a_server_that_asks_for_a_certificate_of_ours_is_tls(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(ca)
    async with _refusing(tls) as url, http_servers.guarded(ca_file=str(ca)) as guarded:
        failure = await http_servers.failure_of(guarded.request("POST", url, timeout=5))
    assert (failure.category, "certificate required" in failure.message) == (TLS, True)


async def test_a_server_that_only_speaks_an_old_version_is_tls(tmp_path: pathlib.Path) -> None:
    ca, tls = http_servers.certificate(tmp_path, "127.0.0.1")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        tls.maximum_version = ssl.TLSVersion.TLSv1_1
    async with _refusing(tls) as url, http_servers.guarded(ca_file=str(ca)) as guarded:
        failure = await http_servers.failure_of(guarded.request("POST", url, timeout=5))
    assert (failure.category, "protocol version" in failure.message) == (TLS, True)


async def test_a_bundle_that_cannot_be_used_stops_the_start_and_is_named(tmp_path: pathlib.Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate")
    for path in (tmp_path / "missing.pem", empty):
        for system_trust in (True, False):
            with pytest.raises(ValueError, match=path.name):
                client.GuardedClient(client.Settings(ca_file=str(path), system_trust=system_trust))
