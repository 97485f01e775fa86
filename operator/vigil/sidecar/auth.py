"""Who asks: the bearer of a token is the operator, or stands for the sessions of some namespaces, or both."""

import dataclasses
import hmac
import pathlib
from collections.abc import Mapping
from typing import Protocol

from vigil.model import failures


@dataclasses.dataclass(frozen=True, slots=True)
class Principal:
    """What a bearer may do. `namespaces` are those whose sessions it may be, None for all of them."""

    operator: bool = False
    namespaces: frozenset[str] | None = frozenset()

    def may_be_session_of(self, namespace: str) -> bool:
        """Whether it may speak for sessions of this namespace, and so read the wakes of its Watches."""
        return self.namespaces is None or namespace in self.namespaces


EVERYTHING = Principal(operator=True, namespaces=None)
"""The bearer of the one static token of a small installation: operator and sessions alike."""


class Authenticator(Protocol):
    """Finds out who bears a token: by a static token, or by a TokenReview of the API server."""

    async def principal(self, token: str) -> Principal | failures.Failure | None:
        """Who bears it; None when nobody does, a Failure when that cannot be found out now."""
        ...


class StaticTokens:
    """An Authenticator over tokens that are known."""

    def __init__(self, tokens: Mapping[str, Principal]) -> None:
        if not all(tokens):
            raise ValueError("a token must not be empty")
        self._tokens = tuple((token.encode(), principal) for token, principal in tokens.items())

    async def principal(self, token: str) -> Principal | failures.Failure | None:
        """All are compared, each in constant time, so that the answer's time tells nothing."""
        given = token.encode(errors="replace")
        found: Principal | None = None
        for known, principal in self._tokens:
            if hmac.compare_digest(known, given):
                found = principal
        return found


class FileTokens:
    """An Authenticator over files, read anew for each request: a rotated token counts at once.

    `everything` holds the token of operator and sessions. `sessions` is a folder in which the file named after a
    namespace holds the token of its sessions, as a mounted Secret does.
    """

    def __init__(self, everything: pathlib.Path | None, sessions: pathlib.Path | None = None) -> None:
        self._everything = everything
        self._sessions = sessions

    async def principal(self, token: str) -> Principal | failures.Failure | None:
        """Who bears it; a file that cannot be read is a Failure."""
        try:
            return await StaticTokens(self._read()).principal(token)
        except (OSError, ValueError) as error:
            return failures.Failure(failures.Category.CONFIG, f"the tokens are unreadable: {type(error).__name__}")

    def _read(self) -> Mapping[str, Principal]:
        tokens: dict[str, Principal] = {}
        folder = self._sessions
        for path in sorted(folder.iterdir()) if folder is not None else ():
            # A mounted Secret has entries that begin with two dots, which are not its keys.
            if path.is_file() and not path.name.startswith("."):
                tokens[path.read_text(encoding="utf-8").strip()] = Principal(namespaces=frozenset({path.name}))
        if self._everything is not None:
            tokens[self._everything.read_text(encoding="utf-8").strip()] = EVERYTHING
        return tokens


class Bearer(Protocol):
    """Whom the API server knows a token's bearer as; both are empty for one that is no ServiceAccount."""

    @property
    def namespace(self) -> str:
        """The namespace of the ServiceAccount."""
        ...

    @property
    def service_account(self) -> str:
        """Its name."""
        ...


class Reviewer(Protocol):
    """Asks the API server who bears a ServiceAccount token."""

    async def review(self, token: str) -> Bearer | failures.Failure | None:
        """Who bears it; None when nobody does, a Failure when that cannot be found out now."""
        ...


class ReviewedTokens:
    """An Authenticator over ServiceAccount tokens: each speaks for the sessions of its own namespace.

    `operators` are the ServiceAccounts of operators, as `namespace/name`.
    """

    def __init__(self, reviewer: Reviewer, operators: frozenset[str] = frozenset()) -> None:
        self._reviewer = reviewer
        self._operators = operators

    async def principal(self, token: str) -> Principal | failures.Failure | None:
        """Who bears it; a user who is no ServiceAccount is nobody here."""
        found = await self._reviewer.review(token)
        if found is None or isinstance(found, failures.Failure):
            return found
        if not found.namespace:
            return None
        operator = f"{found.namespace}/{found.service_account}" in self._operators
        return Principal(operator=operator, namespaces=frozenset({found.namespace}))


class FirstOf:
    """Several Authenticators, asked in order; the first that knows the bearer decides."""

    def __init__(self, *authenticators: Authenticator) -> None:
        self._authenticators = authenticators

    async def principal(self, token: str) -> Principal | failures.Failure | None:
        """Who bears it; a Failure only when nobody knows and one could not say."""
        failed: failures.Failure | None = None
        for each in self._authenticators:
            found = await each.principal(token)
            if isinstance(found, Principal):
                return found
            failed = failed or found
        return failed
