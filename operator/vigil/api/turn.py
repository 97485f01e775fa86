"""The wire of the sidecar between a session and it: to attach, to claim a turn, to keep it and to complete it."""

import enum
from typing import Annotated, Final

import pydantic

from vigil.api import base, wake
from vigil.model import wakes

ENVELOPE_LIMIT: Final = 4096
"""Characters of the text that a turn is handed."""

TokenCount = Annotated[int, pydantic.Field(ge=0, le=10**9)]
Fence = Annotated[int, pydantic.Field(ge=1, le=2**53)]


class Activity(enum.StrEnum):
    """What a session does now."""

    IDLE = "idle"
    BUSY = "busy"


class Waking(enum.StrEnum):
    """Whether a session is given automatic turns."""

    ACTIVE = "Active"
    SUSPENDED = "Suspended"
    """So many automatic turns in a row were taken that a user's turn has to come first."""


class Attach(base.Asked):
    """The body of PUT /v1/sessions/{namespace}/{name}: the session lives for so many seconds more, in this state."""

    ttl_seconds: Annotated[int, pydantic.Field(ge=10, le=3600)] = 90
    state: Activity = Activity.IDLE
    last_user_turn: base.Time | None = None


class Session(base.Answer):
    """A session as the sidecar knows it; `queued` wakes wait for it."""

    namespace: base.Namespace
    name: base.Name
    state: Activity
    expires_at: base.Time
    waking: Waking
    turns_in_row: base.Count
    queued: base.Count = 0


class Next(base.Asked):
    """The body of POST …/next.

    With the same `request` as an earlier call whose answer was lost, the turn of that call is handed out again.
    `user_turn` says that a person's turn begins now: it takes along what waits and what rides, and the rules of
    automatic turns do not apply.
    """

    request: base.Id | None = None
    user_turn: bool = False


class Part(base.Answer):
    """One wake that a turn is about."""

    wake_id: base.Id
    sequence: base.Count
    watch: wake.Watch
    type: wakes.WakeType
    reason: base.Word
    entries: base.Count


class Turn(base.Answer):
    """One turn: the first part is what it was started for, the others ride along and are completed with it.

    `envelope` is the text for the session, at most ENVELOPE_LIMIT characters. `evidence_path` is a path where the
    sidecar runs. `fence` goes with every later request about this turn.
    """

    fence: Fence
    lease_seconds: Annotated[float, pydantic.Field(gt=0)]
    lease_until: base.Time
    parts: Annotated[tuple[Part, ...], pydantic.Field(min_length=1, max_length=20)]
    envelope: Annotated[str, pydantic.StringConstraints(max_length=ENVELOPE_LIMIT)]
    evidence_path: str = ""
    evidence_url: str | None = None

    @property
    def main(self) -> Part:
        """What the turn was started for."""
        return self.parts[0]


class Held(base.Asked):
    """The body of POST /v1/wakes/{id}/renew and of …/release."""

    fence: Fence


class Lease(base.Answer):
    """A lease that was renewed."""

    lease_seconds: Annotated[float, pydantic.Field(gt=0)]
    lease_until: base.Time


class Complete(base.Asked):
    """The body of POST /v1/wakes/{id}/complete:

    the turn is done. `watch_uid` and `generation` are those of its first part.
    """

    fence: Fence
    watch_uid: base.Id
    generation: base.Count
    tokens: TokenCount = 0
    dispositions: wake.Dispositions = ()


class Report(base.Asked):
    """What a command of `vigil attach` may print as its last line."""

    tokens: TokenCount = 0
    dispositions: wake.Dispositions = ()
