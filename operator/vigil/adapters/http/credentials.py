"""What a credential is to the client: headers, and the hosts that may see them."""

import dataclasses
from collections.abc import Mapping
from typing import Protocol

from vigil.adapters.http import errors, urls
from vigil.model import failures


@dataclasses.dataclass(frozen=True, slots=True)
class Authorization:
    """The headers that prove who asks, and the hosts to which they may be sent.

    The hosts are as in the annotation `vigil.dev/allowed-hosts`: `host`, or `host:port` where the port is not the
    scheme's own. They come with the headers, because they are read from the same version of the same Secret.
    """

    headers: Mapping[str, str] = dataclasses.field(repr=False)
    allowed_hosts: frozenset[str] = frozenset()


class Credential(Protocol):
    """One provider account, however it is stored."""

    @property
    def id(self) -> str:
        """A stable name for grouping and for messages; never the secret itself, nor a part of it."""
        ...

    async def authorization(self) -> Authorization:
        """What to send; may be remembered for a while. Raises ReadError: `config` if there is no such Secret or key."""
        ...

    async def refresh(self) -> Authorization:
        """What to send, read again past any memory: a 401 asks for it. Raises ReadError as `authorization` does."""
        ...


def headers_for(
    origin: urls.Origin, credential_id: str, granted: Authorization, default_host: str
) -> Mapping[str, str]:
    """The credential's headers, if this origin may see them: it is named, or is the kind's default host.

    Raises ReadError, `config`: it is never sent elsewhere, and the request never goes without it.
    """
    allowed = {host.strip().lower() for host in (*granted.allowed_hosts, default_host)}
    if not origin.names & allowed:
        raise errors.error(
            failures.Category.CONFIG,
            str(origin),
            f"the credential {credential_id} is not for this host: its annotation vigil.dev/allowed-hosts must name it",
        )
    return granted.headers
