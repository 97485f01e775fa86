"""A token as it lies in a Secret or a folder, and how it is read again."""

import hashlib
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from vigil.model import failures

_SCHEMED: Final = re.compile(r"(?:Bearer|Basic|token) [\x21-\x7e]+")
_BARE: Final = re.compile(r"[\x21-\x7e]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it was just read.

    `place` names where it was read, for people: `the Secret team-a/github`. `value` is the token alone, sent as
    `Bearer`, or one with its scheme (`Basic …`). `allowed_hosts` are as in the annotation `vigil.dev/allowed-hosts`,
    and `allowed_in` names for people where they stand.
    """

    place: str
    value: str = field(repr=False)
    allowed_hosts: frozenset[str] = frozenset()
    allowed_in: str = "its annotation vigil.dev/allowed-hosts"

    @property
    def header(self) -> str | None:
        """The value of the header Authorization, None for a token that cannot stand in one."""
        value = self.value.strip()
        if _SCHEMED.fullmatch(value):
            return value
        return f"Bearer {value}" if _BARE.fullmatch(value) else None

    @property
    def digest(self) -> str:
        """The name of the account: equal for equal tokens wherever they lie, and nothing of the token."""
        named = self.header or self.value.strip()
        return hashlib.sha256(f"vigil account\n{named}".encode()).hexdigest()[:16]


Reread: TypeAlias = Callable[[], Awaitable[Token | failures.Failure]]
"""Reads the token again, past any memory."""
