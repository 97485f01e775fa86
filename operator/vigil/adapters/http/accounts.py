"""Transports that are kept: one for each host and account, whatever Secret the account's token was read from."""

import collections
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from vigil import ports
from vigil.adapters import clock
from vigil.adapters.http import bound, client, credentials, exchanged, tokens, urls
from vigil.kind import api, transport
from vigil.model import failures

ANONYMOUS: Final = "anonymous"
KEPT: Final = 2000
"""Transports that are remembered; one that is forgotten is made anew, and its readers lose what they remember."""


class Accounts:
    """Binds hosts and tokens: the same two give the same transport, so that what is kept with it is kept."""

    def __init__(self, guarded: client.GuardedClient, kept: int = KEPT, system: ports.Clock | None = None) -> None:
        self._client = guarded
        self._kept = kept
        self._clock = system or clock.SystemClock()
        self._bound: collections.OrderedDict[tuple[str, str, str], tuple[ports.Bound, _Kept | None]] = (
            collections.OrderedDict()
        )

    def anonymous(self, host: str) -> ports.Bound | failures.Failure:
        """Bind to a host without a credential; the Failure is `config`."""
        return self._get((host, "", ANONYMOUS), lambda _: None)

    def bind(
        self, host: str, token: tokens.Token, reread: tokens.Reread, kind: api.Kind
    ) -> ports.Bound | failures.Failure:
        """Bind to a host that the token allows or that is the kind's own; the Failure is `config`."""
        signs_in = kind.sign_in is not None and kind.sign_in.recognises(token.value)
        if token.header is None and not signs_in:
            sentence = f"{token.place} holds no token: it must be one line of printable ASCII without spaces"
            return failures.Failure(failures.Category.CONFIG, sentence)
        refused = _refusal(host, token, kind.default_host)
        if refused is not None:
            return refused
        sign_in = kind.sign_in if signs_in else None

        def kept(known: "_Kept | None") -> "_Kept":
            if known is not None:
                known.was_read(token, reread)
                return known
            if sign_in is None:
                return _Account(token.digest, token, reread)
            through = bound.BoundTransport(self._client, host)
            return exchanged.Exchanged(token, reread, sign_in=sign_in, host=host, through=through, clock=self._clock)

        return self._get((host, kind.default_host, token.digest), kept)

    def _get(
        self, key: tuple[str, str, str], kept: "Callable[[_Kept | None], _Kept | None]"
    ) -> ports.Bound | failures.Failure:
        host, default_host, name = key
        found = self._bound.pop(key, None)
        if found is None:
            try:
                account = kept(None)
                through = bound.BoundTransport(self._client, host, account, default_host)
            except transport.ReadError as error:
                return error.failure
            found = ports.Bound(name, through), account
        else:
            kept(found[1])
        self._bound[key] = found
        while len(self._bound) > self._kept:
            self._bound.popitem(last=False)
        return found[0]


class _Account:
    """credentials.Credential: the token as it was last read, from the place where it was last read."""

    def __init__(self, name: str, token: tokens.Token, reread: tokens.Reread) -> None:
        self._name = name
        self._token = token
        self._reread = reread

    @property
    def id(self) -> str:
        return self._name

    def was_read(self, token: tokens.Token, reread: tokens.Reread) -> None:
        """Another read of it, maybe in another place."""
        self._token, self._reread = token, reread

    async def authorization(self) -> credentials.Authorization:
        """What to send. Raises ReadError, `config`, for a token that cannot be sent."""
        return _granted(self._token)

    async def refresh(self) -> credentials.Authorization:
        """What to send, read again. Raises ReadError as the place of the token fails."""
        found = await self._reread()
        if isinstance(found, failures.Failure):
            raise transport.ReadError(found)
        self._token = found
        return _granted(found)


_Kept: TypeAlias = _Account | exchanged.Exchanged


def _granted(token: tokens.Token) -> credentials.Authorization:
    header = token.header
    if header is None:
        raise transport.ReadError(failures.Failure(failures.Category.CONFIG, f"{token.place} holds no token"))
    headers: Mapping[str, str] = {"authorization": header}
    return credentials.Authorization(headers, token.allowed_hosts)


def _refusal(host: str, token: tokens.Token, default_host: str) -> failures.Failure | None:
    try:
        names = urls.base(host).names
    except transport.ReadError as error:
        return error.failure
    if names & {allowed.strip().lower() for allowed in (*token.allowed_hosts, default_host)}:
        return None
    sentence = f"{token.place} is not for {host}: {token.allowed_in} must name it"
    return failures.Failure(failures.Category.CONFIG, sentence)
