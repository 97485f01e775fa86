"""The guard where it cannot be gone around: at the resolver, which is asked once, and at the socket before it connects.

A name is resolved when a connection is made, the answers are checked, and the connection goes to the checked answers:
there is no second resolution that could tell otherwise, and a connection of the pool was checked when it was made.
TLS still verifies the name. An IP literal never meets a resolver, so `check` sees it first and the socket sees it
again.
"""

import socket
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import aiohttp
import aiohttp.abc

from vigil.adapters.http import addresses, errors, urls
from vigil.model import failures

Refusal: TypeAlias = tuple[failures.Category, str]
"""The category, and the end of the sentence "which is …"."""
Rule: TypeAlias = Callable[[str | addresses.Address], Refusal | None]
"""Why an address may not be reached; None if it may."""
AddressInfo: TypeAlias = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]
"""As `socket.getaddrinfo` gives it; the address proper is the first member of the last."""
SocketFactory: TypeAlias = Callable[[AddressInfo], socket.socket]


def reachable(allowed_ranges: Sequence[addresses.Network]) -> Rule:
    """The rule of requests in general: public addresses and the allowed ranges."""

    def rule(address: str | addresses.Address) -> Refusal | None:
        why = addresses.refusal(address, allowed_ranges)
        return (failures.Category.BLOCKED_ADDRESS, f"{why} (settings can allow a range)") if why else None

    return rule


def named(allowed_ranges: Sequence[addresses.Network]) -> Rule:
    """The rule of a credential without TLS: the allowed ranges alone, so that none crosses a public network."""
    general = reachable(allowed_ranges)

    def rule(address: str | addresses.Address) -> Refusal | None:
        if refused := general(address):
            return refused
        why = "in no allowed range: a credential goes there over https only"
        return None if addresses.is_named(address, allowed_ranges) else (failures.Category.CONFIG, why)

    return rule


def check(target: urls.Target, rule: Rule) -> None:
    """Refuse what can be refused before a name is resolved: addresses in any notation, and schemes but http and https.

    Raises AddressRefusedError.
    """
    if target.literal is not None:
        _hold(rule, target.literal, "it leads to")
    if target.origin.scheme not in urls.DEFAULT_PORTS:
        raise errors.AddressRefusedError(failures.Category.CONFIG, "only http and https are spoken")
    if not target.usual:
        raise errors.AddressRefusedError(failures.Category.CONFIG, f"write the address as {target.literal}")


class CheckedResolver(aiohttp.abc.AbstractResolver):
    """A resolver that gives checked answers or none: one refused answer refuses all of them."""

    def __init__(self, inner: aiohttp.abc.AbstractResolver, rule: Rule) -> None:
        self._inner = inner
        self._rule = rule

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[aiohttp.abc.ResolveResult]:
        """The addresses of a name, each of them allowed. Raises AddressRefusedError, or OSError if there are none."""
        answers = await self._inner.resolve(host, port, family)
        if not answers:
            raise OSError(socket.EAI_NODATA, "no addresses")
        mixed = f" (it has {len(answers)} addresses, and one that is refused refuses all)" if len(answers) > 1 else ""
        for answer in answers:
            _hold(self._rule, answer["host"], f"{host} resolves to", mixed)
        return [_pinned(host, port, answer["host"]) for answer in answers]

    async def close(self) -> None:
        """Leave the inner resolver open: whoever made it closes it."""


def checked_socket(rule: Rule) -> SocketFactory:
    """A maker of sockets that refuses the address about to be connected to, whatever way it took to get here."""

    def make(info: AddressInfo) -> socket.socket:
        family, kind, protocol, _, address = info
        _hold(rule, str(address[0]), "it leads to")
        return socket.socket(family, kind, protocol)

    return make


def _hold(rule: Rule, address: str | addresses.Address, start: str, end: str = "") -> None:
    if refused := rule(address):
        category, why = refused
        raise errors.AddressRefusedError(category, f"{start} {address}, which is {why}{end}")


def _pinned(name: str, port: int, text: str) -> aiohttp.abc.ResolveResult:
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return aiohttp.abc.ResolveResult(hostname=name, host=text, port=port, family=family, proto=0, flags=flags)
