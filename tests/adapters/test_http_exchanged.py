"""A secret that is exchanged: the grant goes out, the secret stays, and both only where they may."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.adapters import http_servers
from tests.unit import clock
from tests.unit.api import toys
from vigil import ports
from vigil.adapters.http import accounts, tokens
from vigil.kind import api, transport
from vigil.model import failures, ids

LASTS = 3600.0
BAD = failures.Failure(failures.Category.CONFIG, "the key is none")


class SignIn:
    """Exchanges `key:<name>` for a token with a number; counts, and can be told to wait."""

    def __init__(self, system: ports.Clock) -> None:
        self.asked: list[tuple[str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._clock = system

    def recognises(self, secret: str) -> bool:
        return secret.startswith("key:")

    async def exchange(
        self,
        secret: str,
        host: str,
        through: transport.Transport,
        now: ids.Instant,
        timeout: float,  # noqa: ASYNC109 - it is the contract
    ) -> api.Grant:
        assert now == self._clock.now()
        await self.gate.wait()
        if secret == "key:bad":
            raise transport.ReadError(BAD)
        self.asked.append((secret, host))
        response = await through.request("POST", "/exchange", timeout=timeout, body=b"{}")
        assert response.status == 200
        return api.Grant(f"Bearer {secret[4:]}-{len(self.asked)}", now + LASTS)


class Place:
    """Where the secret lies."""

    def __init__(self, value: str, allowed: frozenset[str]) -> None:
        self.token = tokens.Token("the Secret team-a/app", value, allowed)
        self.reads = 0

    async def reread(self) -> tokens.Token | failures.Failure:
        self.reads += 1
        return self.token


class Scene:
    """A provider, a secret, and the accounts that bind them."""

    def __init__(
        self, site: http_servers.Site, made: accounts.Accounts, system: clock.VirtualClock, value: str
    ) -> None:
        self.site = site
        self.clock = system
        self.sign_in = SignIn(system)
        self.kind = dataclasses.replace(toys.kind(), sign_in=self.sign_in)
        self.place = Place(value, frozenset({f"127.0.0.1:{site.port}"}))
        self._accounts = made

    def bind(self) -> ports.Bound | failures.Failure:
        """Bind to the provider."""
        return self._accounts.bind(self.site.url, self.place.token, self.place.reread, self.kind)

    async def get(self) -> int:
        """The status of a request."""
        bound = self.bind()
        assert isinstance(bound, ports.Bound)
        return (await bound.transport.request("GET", "/state", timeout=5)).status

    def sent(self) -> list[str]:
        """What was sent as Authorization, exchanges left out."""
        return [one.headers["authorization"] for one in self.site.requests if one.path == "/state"]


class Provider:
    """Accepts every token but the revoked ones."""

    def __init__(self) -> None:
        self.revoked: set[str] = set()

    async def answer(self, request: web.Request) -> web.Response:
        revoked = request.headers.get("authorization") in self.revoked
        return web.Response(status=401 if revoked else 200, body=b"{}")


async def scene_of(provider: Provider, value: str, stack: contextlib.AsyncExitStack) -> Scene:
    """A scene that lasts as long as the stack."""
    site = await stack.enter_async_context(http_servers.serving(provider.answer))
    guarded = await stack.enter_async_context(http_servers.guarded())
    system = clock.VirtualClock()
    return Scene(site, accounts.Accounts(guarded, system=system), system, value)


@pytest.fixture
async def stack() -> AsyncIterator[contextlib.AsyncExitStack]:
    """Closes what a test opened."""
    async with contextlib.AsyncExitStack() as opened:
        yield opened


async def test_the_grant_is_sent_and_the_secret_is_not(stack: contextlib.AsyncExitStack) -> None:
    scene = await scene_of(Provider(), "key:app", stack)
    assert [await scene.get(), await scene.get()] == [200, 200]
    assert scene.sent() == ["Bearer app-1", "Bearer app-1"]
    assert "authorization" not in scene.site.requests[0].headers
    assert not [one for one in scene.site.requests if "key:app" in str(one.headers)]


@pytest.mark.parametrize(("passed", "renewed"), [(LASTS - 301, False), (LASTS - 300, True), (LASTS, True)])
async def test_a_grant_is_renewed_before_its_end(
    stack: contextlib.AsyncExitStack, passed: float, renewed: bool
) -> None:
    scene = await scene_of(Provider(), "key:app", stack)
    await scene.get()
    scene.clock.step(passed)
    await scene.get()
    assert scene.sent()[1] == ("Bearer app-2" if renewed else "Bearer app-1")


async def test_whoever_waits_for_an_exchange_waits_for_the_same_one(stack: contextlib.AsyncExitStack) -> None:
    scene = await scene_of(Provider(), "key:app", stack)
    scene.sign_in.gate.clear()
    waiting = [asyncio.create_task(scene.get()) for _ in range(5)]
    await asyncio.sleep(0)
    scene.sign_in.gate.set()
    assert await asyncio.gather(*waiting) == [200] * 5
    assert len(scene.sign_in.asked) == 1


async def test_after_a_401_the_secret_is_read_and_exchanged_once_more(stack: contextlib.AsyncExitStack) -> None:
    provider = Provider()
    scene = await scene_of(provider, "key:app", stack)
    await scene.get()
    provider.revoked.add("Bearer app-1")
    assert await scene.get() == 200
    assert scene.sent() == ["Bearer app-1", "Bearer app-1", "Bearer app-2"]
    assert scene.place.reads == 1


async def test_an_exchange_that_fails_is_the_failure_of_the_read(stack: contextlib.AsyncExitStack) -> None:
    scene = await scene_of(Provider(), "key:bad", stack)
    with pytest.raises(transport.ReadError) as raised:
        await scene.get()
    assert raised.value.failure == BAD
    assert scene.site.requests == []


async def test_a_host_that_the_secret_does_not_allow_sees_neither_exchange_nor_grant(
    stack: contextlib.AsyncExitStack,
) -> None:
    scene = await scene_of(Provider(), "key:app", stack)
    scene.place.token = dataclasses.replace(scene.place.token, allowed_hosts=frozenset({"git.example.com"}))
    refused = scene.bind()
    assert isinstance(refused, failures.Failure)
    assert refused.category is failures.Category.CONFIG
    assert "must name it" in refused.message
    assert scene.site.requests == []


async def test_a_plain_token_of_such_a_kind_is_sent_as_it_is(stack: contextlib.AsyncExitStack) -> None:
    scene = await scene_of(Provider(), "ghp_plain", stack)
    assert await scene.get() == 200
    assert (scene.sent(), scene.sign_in.asked) == (["Bearer ghp_plain"], [])


async def test_a_secret_of_two_lines_that_nothing_exchanges_is_refused_in_words(
    stack: contextlib.AsyncExitStack,
) -> None:
    scene = await scene_of(Provider(), "first\nsecond", stack)
    refused = scene.bind()
    assert isinstance(refused, failures.Failure)
    assert (refused.category, "must be one line" in refused.message) == (failures.Category.CONFIG, True)
    assert scene.site.requests == []


async def test_two_copies_of_one_secret_are_one_account(stack: contextlib.AsyncExitStack) -> None:
    scene = await scene_of(Provider(), "key:app", stack)
    first = scene.bind()
    scene.place = Place("key:app", scene.place.token.allowed_hosts)
    second = scene.bind()
    assert isinstance(first, ports.Bound)
    assert isinstance(second, ports.Bound)
    assert (first.account, first.transport) == (second.account, second.transport)
    assert "app" not in first.account
