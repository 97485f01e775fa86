"""Requests to the sidecar, for the operator's client and a session's alike: one exchange, bounded, its failures
classified.

The sidecar is named by whoever runs the process, never by a Watch: it may be on loopback or at a Unix socket, and is
not reached through the guard.
"""

import asyncio
import dataclasses
import io
import pathlib
import ssl
import urllib.parse
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final, Self, TypeAlias, TypeVar

import aiohttp
import pydantic

from vigil import ports
from vigil.api import base
from vigil.api import wake as wire
from vigil.model import failures, ids

Token: TypeAlias = Callable[[], str]
"""Gives the token of now; raises OSError, ValueError or KeyError when there is none."""

CONNECT_TIMEOUT: Final[ids.Seconds] = 5.0
ANSWER_LIMIT: Final = 32 * 1024 * 1024
_UNIX: Final = "unix://"
_BASE: Final = "http://sidecar"

Model = TypeVar("Model", bound=pydantic.BaseModel)

_CATEGORIES: Final[Mapping[int, failures.Category]] = {
    401: failures.Category.AUTH,
    403: failures.Category.FORBIDDEN,
    404: failures.Category.NOT_FOUND,
    408: failures.Category.TIMEOUT,
    413: failures.Category.TOO_LARGE,
    422: failures.Category.MALFORMED,
    429: failures.Category.THROTTLED,
    504: failures.Category.TIMEOUT,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the request was done."""
        return 200 <= self.status < 300

    def problem(self) -> wire.Problem | None:
        """What the sidecar says of an error; None when it is another that answers."""
        try:
            return wire.Problem.model_validate_json(self.body)
        except pydantic.ValidationError:
            return None

    def parsed(self, model: type[Model]) -> Model:
        """The body as this. Raises DeliveryError for an error, and for a body that is not this."""
        if not self.ok:
            raise self.failed()
        try:
            return model.model_validate_json(self.body)
        except pydantic.ValidationError as error:
            message = f"the answer is no {model.__name__}: {error.error_count()} faults"
            raise failed(failures.Category.MALFORMED, message) from None

    def failed(self) -> ports.DeliveryError:
        """The error that this answer is."""
        category = _CATEGORIES.get(self.status)
        if category is None:
            category = failures.Category.TRANSIENT if self.status >= 500 else failures.Category.UNKNOWN
        problem = self.problem()
        said = f": {problem.message}" if problem is not None else ""
        return failed(category, f"the sidecar answered {self.status}{said}")


def failed(category: failures.Category, message: str) -> ports.DeliveryError:
    """A DeliveryError of this category."""
    return ports.DeliveryError(failures.Failure(category, message))


def file_token(path: pathlib.Path) -> Token:
    """A token in a file, read for each request: a rotated one counts at once."""
    return lambda: path.read_text(encoding="utf-8").strip()


class Wire:
    """A connection to one sidecar; made inside a running event loop, and closed there.

    `url` is http://, https:// or unix:///path. `timeout` bounds each exchange, besides what it is asked to wait.
    """

    def __init__(self, url: str, token: Token, *, timeout: ids.Seconds = 10.0) -> None:
        self._token = token
        self._timeout = timeout
        connector: aiohttp.BaseConnector | None = None
        if url.startswith(_UNIX):
            connector = aiohttp.UnixConnector(path=url.removeprefix(_UNIX))
            url = _BASE
        elif urllib.parse.urlsplit(url).scheme not in {"http", "https"}:
            raise ValueError(f"the sidecar's URL must be http://, https:// or unix:///path, not {url!r}")
        self._base = url.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False, raise_for_status=False
        )

    async def ask(
        self,
        method: str,
        path: str,
        body: base.Answer | None = None,
        *,
        query: Mapping[str, str] | None = None,
        wait: ids.Seconds = 0.0,
    ) -> Answer:
        """One exchange, whatever its status. Raises DeliveryError when there is no answer."""
        headers = {"authorization": f"Bearer {self._bearer()}"}
        if body is not None:
            headers["content-type"] = "application/json"
        limit = aiohttp.ClientTimeout(total=self._timeout + wait, connect=CONNECT_TIMEOUT)
        try:
            async with self._session.request(
                method,
                self._base + path,
                params=query,
                # A file of bytes is sent in pieces, so that long evidence does not hold up the event loop.
                data=None if body is None else io.BytesIO(body.to_json().encode()),
                headers=headers,
                timeout=limit,
                allow_redirects=False,
            ) as response:
                return Answer(response.status, await _read(response))
        except TimeoutError:
            raise failed(failures.Category.TIMEOUT, "the sidecar did not answer in time") from None
        except (aiohttp.ClientSSLError, ssl.SSLError) as error:
            raise failed(failures.Category.TLS, f"no TLS with the sidecar: {type(error).__name__}") from None
        except aiohttp.InvalidURL:
            raise failed(failures.Category.CONFIG, "the sidecar's URL cannot be used") from None
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            message = f"the sidecar cannot be reached: {type(error).__name__}"
            raise failed(failures.Category.TRANSIENT, message) from None

    def _bearer(self) -> str:
        try:
            token = self._token()
        except (OSError, ValueError, KeyError) as error:
            message = f"the token for the sidecar is unreadable: {type(error).__name__}"
            raise failed(failures.Category.CONFIG, message) from None
        if not token or not token.isascii() or not token.isprintable():
            raise failed(failures.Category.CONFIG, "the token for the sidecar is empty or is none")
        return token

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(64 * 1024):
        content += chunk
        if len(content) > ANSWER_LIMIT:
            raise failed(failures.Category.TOO_LARGE, f"the sidecar's answer has more than {ANSWER_LIMIT} bytes")
    return bytes(content)
