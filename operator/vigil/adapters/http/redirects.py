"""Where an answer leads to, and what goes along; pure.

1. GET and HEAD follow 301, 302, 303, 307 and 308. Any other request follows 307 and 308 on its own origin; to it, all
   other redirects are answers like any.
2. From https to http is always refused, as `config`: retrying does not heal it, and a person has to change the URL.
3. On another origin (scheme, host or port) only headers that cannot hold a secret go along; what was dropped stays
   dropped.
"""

from collections.abc import Mapping
from typing import Final

from vigil.adapters.http import errors, urls
from vigil.model import failures

MAX_HOPS: Final = 5

_FOLLOWED: Final = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD: Final = frozenset({307, 308})
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_HARMLESS: Final = frozenset(
    {"accept", "accept-language", "cache-control", "if-modified-since", "if-none-match", "range", "user-agent"}
)
"""A list of what may pass, since a provider's own header for a token can have any name."""


def follow(method: str, status: int, location: str | None, current: urls.Target) -> urls.Target | None:
    """The next target, or None where the answer is the end. Raises ReadError: `malformed` or `config`."""
    if status not in _FOLLOWED or not location or not (method in _SAFE_METHODS or status in _KEEPS_METHOD):
        return None
    target = urls.join(current, location)
    if target.origin == current.origin:
        return target
    if method not in _SAFE_METHODS:
        return None
    if target.origin.scheme not in urls.DEFAULT_PORTS:
        raise errors.error(failures.Category.MALFORMED, str(current.origin), "it redirects to what is not HTTP")
    if current.origin.scheme == "https" and target.origin.scheme == "http":
        raise errors.error(
            failures.Category.CONFIG, str(current.origin), "it redirects from https to http, which is refused"
        )
    return target


def headers_for(next_origin: urls.Origin, origin: urls.Origin, headers: Mapping[str, str]) -> Mapping[str, str]:
    """The headers of the next hop, from those of this one (names in lower case)."""
    if next_origin == origin:
        return headers
    return {name: value for name, value in headers.items() if name in _HARMLESS}
