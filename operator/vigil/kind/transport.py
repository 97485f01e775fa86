"""How a kind reaches its provider: one guarded request at a time, with classified failures and nothing else raised."""

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from vigil.model import failures, ids

DEFAULT_MAX_BYTES = 4 * 1024 * 1024


class ReadError(Exception):
    """The only error that a transport raises: it carries the classified failure."""

    def __init__(self, failure: failures.Failure) -> None:
        super().__init__(f"{failure.category}: {failure.message}")
        self.failure = failure


@dataclasses.dataclass(frozen=True, slots=True)
class Response:
    """A whole answer: header names are lower case, `body` is complete, `url` is where it came from after redirects."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Transport(Protocol):
    """A client that is bound to one host and one credential.

    The guard (addresses, redirects, sizes, deadlines, the credential's allowed hosts) is in it: a kind cannot go
    around it.
    """

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - a bound of the whole exchange, enforced by the client
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> Response:
        """Send one request and give the whole answer, whatever its status.

        `url` is absolute, or a path that starts with `/` on the bound host. The credential goes along to the bound
        host only. Raises ReadError: `timeout`, `transient` (refused, reset, a body that was cut), `tls`,
        `blocked_address`, `too_large`, `config` (no such Secret or key, or a host that the Secret does not allow),
        `malformed` (not HTTP).
        """
        ...
