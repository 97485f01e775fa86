"""What `vigil sidecar` is told: where it keeps things, whom it lets in, and the numbers of its rules."""

import pathlib
from typing import Annotated

import pydantic

from vigil.adapters import settings
from vigil.sidecar import turns

Turns = Annotated[int, pydantic.Field(ge=1, le=1_000_000)]


class SidecarSettings(settings.Common):
    """The settings of `vigil sidecar`. Times in seconds; a variable takes them as 500ms, 30s, 1h30m.

    A request is authenticated by the token in `token_file`, which may do everything; by a token in the folder
    `session_tokens`, in which the file named after a namespace holds the token of its sessions; or, with
    `token_review`, by a ServiceAccount token for `token_audience` that the API server confirms. Of these accounts
    `operators` (each namespace/name) are operators, and all others are sessions of their own namespace.
    `data_dir` holds the database and the evidence. `public_url` is how sessions reach the sidecar, and is told with
    the evidence. `receivers` maps the name of a receiver to the file that holds its URL. With `turns_in_row` 0 waking
    is never suspended.
    """

    listen_address: settings.ListenOn = settings.Address("0.0.0.0", 8090)  # noqa: S104 - sessions and the kubelet come from outside the pod
    unix_socket: pathlib.Path | None = None
    public_url: settings.Url | None = None
    data_dir: pathlib.Path = pathlib.Path("/var/lib/vigil")
    receivers: settings.Files = pydantic.Field(default_factory=dict[str, pathlib.Path])

    token_file: pathlib.Path | None = None
    session_tokens: pathlib.Path | None = None
    token_review: bool = False
    token_audience: Annotated[str, pydantic.Field(min_length=1)] = "vigil"  # noqa: S105 - an audience
    operators: settings.Accounts = ()

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
