"""What `vigil sidecar` is told beyond what every installation needs:

where it keeps things, and the numbers of its rules.
"""

import pathlib
from typing import Annotated

import pydantic
import pydantic_settings

from vigil.adapters import settings
from vigil.sidecar import turns


def _items(value: object) -> object:
    return tuple(item.strip() for item in value.split(",") if item.strip()) if isinstance(value, str) else value


Account = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9][-a-z0-9]{0,62}/[a-z0-9][-a-z0-9.]{0,252}$")]
Accounts = Annotated[tuple[Account, ...], pydantic_settings.NoDecode, pydantic.BeforeValidator(_items)]
Turns = Annotated[int, pydantic.Field(ge=1, le=1_000_000)]


class SidecarSettings(settings.SidecarSettings):
    """The settings of `vigil sidecar`. Times in seconds; a variable takes them as 500ms, 30s, 1h30m.

    `operators` are the ServiceAccounts of operators, as namespace/name, for `token_review`; all others are sessions of
    their own namespace. `session_tokens` is a folder in which the file named after a namespace holds the token of its
    sessions. `public_url` is how sessions reach the sidecar, and is told with the evidence. With `turns_in_row` 0
    waking is never suspended.
    """

    operators: Accounts = ()
    session_tokens: pathlib.Path | None = None
    public_url: settings.Url | None = None
    unix_socket: pathlib.Path | None = None
    turn_lease: settings.Duration = 600.0
    turn_pause: settings.Duration = 5.0
    turns_in_row: Annotated[int, pydantic.Field(ge=0, le=1_000)] = 8
    turns_per_day: Turns | None = None
    turns_per_day_of_namespace: Turns | None = None

    @property
    def database(self) -> pathlib.Path:
        """The file of the database."""
        return self.data_dir / "sidecar.db"

    @property
    def evidence(self) -> pathlib.Path:
        """The folder of the evidence."""
        return self.data_dir / "evidence"

    @property
    def rules(self) -> turns.Rules:
        """The rules of turns with these numbers."""
        return turns.Rules(
            lease=self.turn_lease,
            pause=self.turn_pause,
            row=self.turns_in_row or None,
            turns_per_day=self.turns_per_day,
            turns_per_day_of_namespace=self.turns_per_day_of_namespace,
        )
