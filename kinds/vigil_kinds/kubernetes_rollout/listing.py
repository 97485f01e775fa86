"""Lists of the API server: paged, bounded, restarted once where a page expires, and every failure classified.

A list is read and never followed: a watch that the server closes says nothing about a rollout.
"""

import dataclasses
import json
import urllib.parse
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from vigil.kind import transport
from vigil.model import failures, ids
from vigil_kinds.kubernetes_rollout import raw

PAGE: Final = 500
MAX_PAGES: Final = 20
PAGE_BYTES: Final = 32 * 1024 * 1024
"""500 objects of 60 KiB; the API server's own limit of one object is 1.5 MiB."""

_OK: Final = 200
_GONE: Final = 410
_CATEGORIES: Final[Mapping[int, failures.Category]] = {
    401: failures.Category.AUTH,
    403: failures.Category.FORBIDDEN,
    404: failures.Category.CONFIG,
    408: failures.Category.TIMEOUT,
    410: failures.Category.TRANSIENT,
    413: failures.Category.TOO_LARGE,
    429: failures.Category.THROTTLED,
    504: failures.Category.TIMEOUT,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """Some of a list's objects, and the token with which the next page is asked for, empty at the end."""

    items: Sequence[Any]
    token: str


class Client:
    """List requests within one read's allowance of requests."""

    def __init__(self, through: transport.Transport, *, timeout: ids.Seconds, requests: int) -> None:
        self._transport = through
        self._timeout = timeout
        self._left = requests

    async def pages(self, path: str, kind: str, selectors: Mapping[str, str]) -> AsyncIterator[Sequence[Any]]:
        """The list's pages, at most MAX_PAGES; after a restart the first ones come again.

        `kind` is that of the list: `PodList`. Raises transport.ReadError: `too_large` where a bound ends it early.
        """
        token, restarted = "", False
        for _ in range(MAX_PAGES):
            response = await self._get(path, {**selectors, "limit": str(PAGE)} | ({"continue": token} if token else {}))
            if response.status == _GONE and token and not restarted:
                token, restarted = "", True
                continue
            page = decode(response, path, kind)
            yield page.items
            token = page.token
            if not token:
                return
        raise _failed(failures.Category.TOO_LARGE, f"{path} did not end after {MAX_PAGES} pages of {PAGE}")

    async def _get(self, path: str, query: Mapping[str, str]) -> transport.Response:
        if self._left <= 0:
            spent = f"the requests that one read may make were spent before the end of {path}"
            raise _failed(failures.Category.TOO_LARGE, spent)
        self._left -= 1
        return await self._transport.request(
            "GET",
            f"{path}?{urllib.parse.urlencode(query)}",
            timeout=self._timeout,
            headers={"accept": "application/json"},
            max_bytes=PAGE_BYTES,
        )


def decode(response: transport.Response, path: str, kind: str) -> Page:
    """The page; raises transport.ReadError for anything that is no list of that kind."""
    if response.status != _OK:
        raise transport.ReadError(classify(response, path))
    body = raw.mapping(_json(response.body)) or {}
    if body.get("kind") == "Status":
        raise _failed(failures.Category.MALFORMED, f"{path} answered 200 with a Status: {_message(body)}")
    items, token = _items(body), _token(body)
    if body.get("kind") != kind or items is None or token is None:
        raise _failed(failures.Category.MALFORMED, f"{path} did not answer with a {kind} as it is documented")
    return Page(items, token)


def _items(body: Mapping[str, Any]) -> Sequence[Any] | None:
    """The items of a list; Go writes an empty array as null."""
    value = body.get("items", ...)
    return () if value is None else raw.sequence(value)


def _token(body: Mapping[str, Any]) -> str | None:
    """The token of a list, "" if it has none, None if this is no list's metadata."""
    metadata = raw.mapping(body.get("metadata"))
    if metadata is None:
        return "" if body.get("metadata") is None else None
    token = metadata.get("continue", "")
    return token if isinstance(token, str) else None


def classify(response: transport.Response, path: str) -> failures.Failure:
    """The failure that a status other than 200 is, in the API server's own words."""
    status = response.status
    default = failures.Category.TRANSIENT if status >= 500 else failures.Category.UNKNOWN
    category = _CATEGORIES.get(status, default)
    told = _message(_json(response.body))
    if category is failures.Category.CONFIG:
        told = f"the API server does not serve this resource{f' ({told})' if told else ''}"
    return failures.Failure(
        category, f"GET {path} answered {status}{f': {told}' if told else ''}", _retry_after(response)
    )


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _message(status: Any) -> str:
    message = (raw.mapping(status) or {}).get("message")
    return message if isinstance(message, str) else ""


def _retry_after(response: transport.Response) -> ids.Seconds | None:
    """The API server gives whole seconds, never a date."""
    value = response.headers.get("retry-after", "").strip()
    return float(value) if value.isascii() and value.isdigit() and len(value) <= 6 else None


def _failed(category: failures.Category, message: str) -> transport.ReadError:
    return transport.ReadError(failures.Failure(category, message))
