"""From what aiohttp, ssl and the sockets raise to the one Failure that it is; sentences of ours, never theirs.

A client library's message may hold a whole URL, and the URL a secret: nothing of it is passed on.
"""

import asyncio
import contextlib
import math
import os
import socket
import ssl
from collections.abc import AsyncGenerator, Generator
from typing import Final, TypeVar

import aiohttp

from vigil.kind import transport
from vigil.model import failures, ids

MAX_TIMEOUT: Final = 600.0
"""Seconds that one exchange may last at most, whatever its caller asks for."""

_NO_SUCH_NAME: Final = frozenset({socket.EAI_NONAME, socket.EAI_NODATA})
_E = TypeVar("_E", bound=BaseException)


class AddressRefusedError(OSError):
    """The guard refuses an address: raised at the resolver or the socket, below aiohttp, which passes an OSError on."""

    def __init__(self, category: failures.Category, sentence: str) -> None:
        super().__init__(sentence)
        self.category = category
        self.sentence = sentence


class MalformedBodyError(Exception):
    """The body cannot be what its headers say."""


class CutBodyError(Exception):
    """The body ended before its end."""


class TooLargeError(Exception):
    """The body, as it is after decompression, is larger than the caller takes."""


def error(category: failures.Category, what: str, sentence: str) -> transport.ReadError:
    """The error to raise: `what` names the request, as in `GET https://api.example.test`, without path or query."""
    return transport.ReadError(failures.Failure(category, f"{what}: {sentence}" if what else sentence))


@contextlib.contextmanager
def translated(what: str) -> Generator[None]:
    """Turn whatever breaks below a request into a ReadError: a transport raises nothing else.

    The cause is cut off: a traceback that is printed with it would print its URL and headers.
    """
    try:
        yield
    except transport.ReadError:
        raise
    except Exception as raised:
        raise error(*_classify(raised, what)) from None


@contextlib.asynccontextmanager
async def deadline(timeout: ids.Seconds, what: str) -> AsyncGenerator[None]:  # noqa: ASYNC109 - this is what bounds the exchange
    """Bound all that happens within, in seconds: `timeout` is raised when they are over, at once if none are left."""
    sentence = f"no whole answer within {timeout:g} s"
    if math.isnan(timeout) or timeout <= 0:
        raise error(failures.Category.TIMEOUT, what, "no time is left for it")
    try:
        async with asyncio.timeout(min(timeout, MAX_TIMEOUT)):
            yield
    except TimeoutError:
        raise error(failures.Category.TIMEOUT, what, sentence) from None


def _classify(raised: BaseException, what: str) -> tuple[failures.Category, str, str]:
    category, sentence = _below_http(raised) or _of_http(raised)
    return category, what, sentence


def _below_http(raised: BaseException) -> tuple[failures.Category, str] | None:
    """The failures of address, TLS and name, which aiohttp wraps in several ways."""
    if refused := _cause(raised, AddressRefusedError):
        return refused.category, refused.sentence
    if certificate := _cause(raised, ssl.SSLCertVerificationError):
        why = getattr(certificate, "verify_message", None) or "it does not verify"
        return failures.Category.TLS, f"the certificate is not accepted: {why}"
    if tls := _cause(raised, ssl.SSLError):
        why = (getattr(tls, "reason", None) or "no reason given").replace("_", " ").lower()
        return failures.Category.TLS, f"TLS failed: {why}"
    if isinstance(raised, aiohttp.ClientConnectorDNSError):
        return failures.Category.TRANSIENT, _name_failure(raised.os_error)
    return None


def _of_http(raised: BaseException) -> tuple[failures.Category, str]:
    if isinstance(raised, aiohttp.ClientConnectorError):
        return failures.Category.TRANSIENT, f"no connection: {_reason(raised.os_error)}"
    for kind, category, sentence in _CLASSES:
        if isinstance(raised, kind):
            return category, sentence or str(raised)
    return failures.Category.UNKNOWN, f"an error of no known class ({type(raised).__name__})"


_CLASSES: Final[tuple[tuple[type[BaseException], failures.Category, str], ...]] = (
    (TooLargeError, failures.Category.TOO_LARGE, ""),
    (MalformedBodyError, failures.Category.MALFORMED, ""),
    (CutBodyError, failures.Category.TRANSIENT, ""),
    (aiohttp.ClientPayloadError, failures.Category.TRANSIENT, "the body was cut before its end"),
    (aiohttp.ClientResponseError, failures.Category.MALFORMED, "the answer is not HTTP"),
    (aiohttp.ServerDisconnectedError, failures.Category.TRANSIENT, "the connection was closed without an answer"),
    (aiohttp.ClientConnectionError, failures.Category.TRANSIENT, "the connection broke before the answer was whole"),
    (OSError, failures.Category.TRANSIENT, "the connection broke before the answer was whole"),
    (ValueError, failures.Category.CONFIG, "the request cannot be written as HTTP"),
)
"""The first that fits; an empty sentence stands for the error's own, where the error is ours."""


def _cause(raised: BaseException | None, wanted: type[_E]) -> _E | None:
    """The innermost of the wanted type: aiohttp's wrappers are of the types that they wrap, without their fields."""
    found = None
    while raised is not None:
        found = raised if isinstance(raised, wanted) else found
        raised = raised.__cause__
    return found


def _name_failure(raised: OSError) -> str:
    if raised.errno in _NO_SUCH_NAME:
        return "no such name in DNS (NXDOMAIN), or it has no address"
    return "the name could not be resolved: DNS gave no answer"


def _reason(raised: OSError) -> str:
    return os.strerror(raised.errno).lower() if raised.errno else "all addresses of the name failed"
