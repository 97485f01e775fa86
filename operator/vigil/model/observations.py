"""What a probe saw of one subject: named entries and how far the read can be trusted."""

import dataclasses
import enum
import re
from typing import Final, Literal, TypeAlias

from vigil.model import failures, ids

KEY_LIMIT: Final = 200
_KEY = re.compile(r"\S(?:[^\x00-\x1f\x7f]*\S)?")


def is_key(text: str) -> bool:
    """Whether an entry can have this key."""
    return len(text) <= KEY_LIMIT and _KEY.fullmatch(text) is not None


class Severity(enum.StrEnum):
    """How an entry is delivered."""

    WAKE = "Wake"
    """May be folded into a coalesced wake."""
    TERMINAL = "Terminal"
    """An end state: it is delivered and its subject retired."""
    IMMEDIATE = "Immediate"
    """Skips the coalescing delay, never the budget."""


class ResetsOn(enum.StrEnum):
    """What clears the memory of an entry."""

    REVISION = "Revision"
    NEVER = "Never"


class Outcome(enum.StrEnum):
    """Whether an end is good or bad, so that no layer reads a key's text to know."""

    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


SETTLE: Final = "settle"
"""A hold of the Watch's own `policy.settle`."""

Hold: TypeAlias = ids.Seconds | Literal["settle"]


@dataclasses.dataclass(frozen=True, slots=True)
class Observation:
    """One named entry of a subject, as the kind saw it.

    `key` is semantic and stable across ticks: never a digest of ours, a duration, a time or a request id; at most
    KEY_LIMIT characters. `outcome` is set if and only if the entry is TERMINAL or a claim. `hold` is in seconds, or
    SETTLE. Only `brief` is text for people, and it decides nothing.
    """

    key: str
    severity: Severity
    resets_on: ResetsOn
    brief: str = ""
    outcome: Outcome | None = None
    claim: bool = False
    hold: Hold = 0
    episode: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        if not is_key(self.key):
            raise ValueError(f"a key is 1 to {KEY_LIMIT} printable characters without outer blanks, not {self.key!r}")
        if (self.outcome is not None) != (self.severity is Severity.TERMINAL or self.claim):
            raise ValueError(f"{self.key}: an outcome is set if and only if the entry is TERMINAL or a claim")
        if self.hold != SETTLE and not 0 <= self.hold < float("inf"):
            raise ValueError(f"{self.key}: a hold is a finite number of seconds, at least 0, not {self.hold!r}")


@dataclasses.dataclass(frozen=True, slots=True)
class ProbeResult:
    """All that one read says of one subject.

    `complete=False` means that what is present is real and what is absent proves nothing; `error` is then the
    classified failure of the part that was not read. `pending` counts the parts still running. `activity` is a digest
    of all that must be quiet for a hold to run. `recheck_after` is in seconds, set while the provider is still
    computing. `waiting` says in words what the subject waits for, such as a claim that is not made: it is for people,
    is told where there is no entry to tell of, and decides nothing.
    """

    observations: tuple[Observation, ...]
    revision: str
    complete: bool = True
    error: failures.Failure | None = None
    pending: int = 0
    activity: str = ""
    recheck_after: ids.Seconds | None = None
    waiting: str = ""


ReadingOf: TypeAlias = ProbeResult | failures.Failure
"""What is known of one subject after a tick."""
