"""Real servers on loopback, a resolver that answers as told, and certificates, for the tests of the HTTP client."""

import asyncio
import contextlib
import datetime
import ipaddress
import pathlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

import aiohttp.abc
import pytest
from aiohttp import test_utils, web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509 import oid

from vigil.adapters.http import addresses, client
from vigil.kind import transport
from vigil.model import failures

LOOPBACK: tuple[addresses.Network, ...] = (ipaddress.ip_network("127.0.0.0/8"),)
NAME = "api.example.test"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Resolver(aiohttp.abc.AbstractResolver):
    """Gives the next answer of a name each time it is asked, and the last one from then on; notes who was asked for."""

    def __init__(self, answers: Mapping[str, Sequence[Sequence[str] | OSError]]) -> None:
        self._answers = {name: list(turns) for name, turns in answers.items()}
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        self.asked.append(host)
        turns = self._answers.get(host, [socket.gaierror(socket.EAI_NONAME, "Name or service not known")])
        answer = turns.pop(0) if len(turns) > 1 else turns[0]
        if isinstance(answer, OSError):
            raise answer
        return [
            aiohttp.abc.ResolveResult(hostname=host, host=text, port=port, family=socket.AF_INET, proto=0, flags=0)
            for text in answer
        ]

    async def close(self) -> None:
        return None


def resolving(*names: str) -> Resolver:
    """A resolver for which these names are 127.0.0.1."""
    return Resolver({name: [["127.0.0.1"]] for name in names})


@contextlib.asynccontextmanager
async def guarded(
    resolver: aiohttp.abc.AbstractResolver | None = None, ca_file: str = "", system_trust: bool = True
) -> AsyncIterator[client.GuardedClient]:
    """A client that may reach 127.0.0.0/8."""
    settings = client.Settings(allowed_ranges=LOOPBACK, ca_file=ca_file, system_trust=system_trust)
    async with client.GuardedClient(settings, resolver) as made:
        yield made


class Site:
    """A running web server: its port, and what it was asked, in order."""

    def __init__(self, scheme: str, port: int) -> None:
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}"
        self.requests: list[web.Request] = []
        self.bodies: list[bytes] = []


@contextlib.asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    """An aiohttp server that hands every request to the handler."""
    app = web.Application()
    server = test_utils.TestServer(app, host="127.0.0.1")
    sites: list[Site] = []

    async def noting(request: web.Request) -> web.StreamResponse:
        sites[0].bodies.append(await request.read())
        sites[0].requests.append(request)
        return await handler(request)

    app.router.add_route("*", "/{rest:.*}", noting)
    await server.start_server(ssl=tls)
    assert server.port is not None
    sites.append(Site("https" if tls else "http", server.port))
    try:
        yield sites[0]
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def scripted(script: Script) -> AsyncIterator[str]:
    """A raw server: reads the head of each request, runs the script and closes the connection. Gives its URL."""

    running: set[asyncio.Task[object]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await reader.readuntil(b"\r\n\r\n")
                await script(reader, writer)
                await writer.drain()
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()
            running.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        await server.wait_closed()
        for task in tuple(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def sends(*parts: bytes) -> Script:
    """A script that writes these bytes, each in a write of its own."""

    async def script(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return script


async def failure_of(awaitable: Awaitable[object]) -> failures.Failure:
    """The failure that a request ends in, which shows no exception of a library in its traceback."""
    with pytest.raises(transport.ReadError) as raised:
        await awaitable
    error = raised.value
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    return error.failure


def certificate(folder: pathlib.Path, *names: str) -> tuple[pathlib.Path, ssl.SSLContext]:
    """A self-signed certificate for these names (or addresses): its file, and the context of a server that shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, "http-tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_general(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    shown, secret = folder / "tls.crt", folder / "tls.key"
    shown.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(shown, secret)
    return shown, context


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
