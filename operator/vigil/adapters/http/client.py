"""The guarded client: one exchange, with its redirects, under one deadline, through the guard."""

import dataclasses
import importlib.metadata
import re
import ssl
from collections.abc import Mapping, Set
from types import TracebackType
from typing import Final, Self

import aiohttp
import aiohttp.abc

from vigil.adapters.http import addresses, errors, guard, redirects, urls
from vigil.adapters.http import body as response_body
from vigil.kind import transport
from vigil.model import failures, ids

USER_AGENT: Final = f"vigil/{importlib.metadata.version('vigil-operator')}"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})

_SECRET: Final = frozenset({"authorization", "cookie", "proxy-authorization"})
_OURS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NAME: Final = re.compile(r"[a-z0-9!#$%&'*+.^_`|~-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_LINE: Final = 32 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What the operator of a cluster decides about requests.

    `allowed_ranges` may be reached though they are not public. `ca_file` is a bundle in PEM that is trusted in
    addition to the system's, or instead of it without `system_trust`. The bounds are numbers of open connections.
    """

    allowed_ranges: tuple[addresses.Network, ...] = ()
    ca_file: str = ""
    system_trust: bool = True
    connections: int = 100
    connections_per_host: int = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One request to be sent; made by `call`. `credential` are headers that need TLS, beside those that always do."""

    method: str
    target: urls.Target
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    credential: Mapping[str, str] = dataclasses.field(repr=False)
    body: bytes | None = dataclasses.field(repr=False)
    max_bytes: int

    def __str__(self) -> str:
        return f"{self.method} {self.target.origin}"

    def with_credential(self, headers: Mapping[str, str]) -> "Call":
        """The same request with these headers, which win over its own and go to its own origin only."""
        return dataclasses.replace(self, credential=_checked(headers, str(self)))


def call(method: str, url: str, headers: Mapping[str, str] | None, body: bytes | None, max_bytes: int) -> Call:
    """Check the parts of a request. Raises ReadError, `config`."""
    target = urls.parse(url)
    if method not in METHODS:
        raise errors.error(
            failures.Category.CONFIG, str(target.origin), f"the method is none of {', '.join(sorted(METHODS))}"
        )
    return Call(method, target, _checked(headers or {}, f"{method} {target.origin}"), {}, body, max_bytes)


class GuardedClient:
    """The only maker of connections to what a user names; made inside a running event loop, and closed there.

    `resolver` stands in for the system's, and is closed by whoever made it. Raises ValueError if `ca_file` is unusable.
    """

    def __init__(self, settings: Settings, resolver: aiohttp.abc.AbstractResolver | None = None) -> None:
        tls = _tls(settings)
        inner = aiohttp.ThreadedResolver() if resolver is None else resolver
        self._open = _Pool(settings, guard.reachable(settings.allowed_ranges), inner, tls)
        self._inside = _Pool(settings, guard.named(settings.allowed_ranges), inner, tls)

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - it bounds the whole exchange, redirects and the body included
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """Send one request to an absolute URL and give the whole answer, whatever its status; redirects are followed.

        The headers in the answer have names in lower case, values of one name joined by commas, and no `set-cookie`.
        Raises ReadError as vigil.kind.transport.Transport says; its message holds the method and the origin, never a
        path or a query.
        """
        wanted = call(method, url, headers, body, max_bytes)
        async with errors.deadline(timeout, str(wanted)):
            return await self.exchange(wanted)

    async def exchange(self, wanted: Call) -> transport.Response:
        """As `request`, within a deadline that the caller holds."""
        target = wanted.target
        headers: Mapping[str, str] = {**wanted.headers, **wanted.credential}
        for _ in range(redirects.MAX_HOPS + 1):
            answer = await self._hop(wanted, target, headers)
            if isinstance(answer, transport.Response):
                return answer
            headers = redirects.headers_for(answer.origin, target.origin, headers)
            target = answer
        raise errors.error(failures.Category.MALFORMED, str(wanted), f"more than {redirects.MAX_HOPS} redirects")

    async def close(self) -> None:
        """Close all connections; a request after that is a `transient` failure."""
        await self._open.session.close()
        await self._inside.session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _hop(
        self, wanted: Call, target: urls.Target, headers: Mapping[str, str]
    ) -> transport.Response | urls.Target:
        pool = self._pool(target, headers.keys() & (_SECRET | wanted.credential.keys()))
        what = f"{wanted.method} {target.origin}"
        if pool.session.closed:
            raise errors.error(failures.Category.TRANSIENT, what, "the client is closed")
        with errors.translated(what):
            guard.check(target, pool.rule)
            response = await pool.session.request(
                wanted.method, target.url(), headers=headers, data=wanted.body, allow_redirects=False
            )
            try:
                return await _answer(response, wanted, target)
            except BaseException:
                response.close()
                raise
            finally:
                response.release()

    def _pool(self, target: urls.Target, secrets: Set[str]) -> "_Pool":
        return self._inside if secrets and target.origin.scheme == "http" else self._open


class _Pool:
    """The connections that were made under one rule, which are never lent to another."""

    def __init__(
        self, settings: Settings, rule: guard.Rule, resolver: aiohttp.abc.AbstractResolver, tls: ssl.SSLContext
    ) -> None:
        self.rule = rule
        connector = aiohttp.TCPConnector(
            resolver=guard.CheckedResolver(resolver, rule),
            use_dns_cache=False,
            socket_factory=guard.checked_socket(rule),
            ssl=tls,
            limit=settings.connections,
            limit_per_host=settings.connections_per_host,
        )
        self.session = aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": response_body.ACCEPT_ENCODING},
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            max_line_size=_LINE,
            max_field_size=_LINE,
        )


async def _answer(
    response: aiohttp.ClientResponse, wanted: Call, target: urls.Target
) -> transport.Response | urls.Target:
    location = response.headers.get("Location")
    if following := redirects.follow(wanted.method, response.status, location, target):
        return following
    content = await response_body.read(response, wanted.max_bytes)
    return transport.Response(response.status, _lowered(response), content, str(target))


def _lowered(response: aiohttp.ClientResponse) -> Mapping[str, str]:
    names = {name.lower() for name in response.headers} - {"set-cookie"}
    return {name: ", ".join(response.headers.getall(name)) for name in sorted(names)}


def _checked(headers: Mapping[str, str], what: str) -> Mapping[str, str]:
    lowered = {name.lower(): value for name, value in headers.items()}
    for name, value in lowered.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            shown = f"{name!r:.60}"
            raise errors.error(
                failures.Category.CONFIG, what, f"the header {shown} holds a character that is not allowed"
            )
        if name in _OURS:
            raise errors.error(failures.Category.CONFIG, what, f"the header {name} is set by the client alone")
    return lowered


def _tls(settings: Settings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=None if settings.system_trust else settings.ca_file or None)
        if settings.system_trust and settings.ca_file:
            context.load_verify_locations(settings.ca_file)
    except OSError as raised:
        raise ValueError(
            f"the CA bundle {settings.ca_file} cannot be used: {raised.strerror or 'no certificate in it'}"
        ) from None
    if settings.ca_file:
        # Python 3.13 began to refuse authorities without a key identifier; clusters have made such ones for years.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    return context
