"""The wire of the ledger: why a Watch woke, and why it stopped being quiet or became quiet."""

import enum
from typing import Annotated, Final

import pydantic

from vigil.api import base, wake

PAGE_LIMIT: Final = 200
"""Entries of one page and of one request."""
KEYS_LIMIT: Final = 50
"""Keys of one entry; `keys_in_all` says how many there were."""


class Event(enum.StrEnum):
    """What an entry of the ledger records."""

    VERDICT = "Verdict"
    """The operator's word: the verdict changed."""
    QUEUED = "Queued"
    CLAIMED = "Claimed"
    RELEASED = "Released"
    """A lease ended without a completion; the wake is offered again."""
    DELIVERED = "Delivered"
    NOTIFIED = "Notified"
    RECORDED = "Recorded"
    WITHDRAWN = "Withdrawn"
    LOST = "Lost"
    SUSPENDED = "Suspended"
    """The session's waking was suspended after too many automatic turns in a row."""


Keys = Annotated[tuple[base.Short, ...], pydantic.Field(max_length=KEYS_LIMIT)]


class Verdict(base.Answer):
    """A change of a Watch's verdict, as the operator reports it; `id` makes a repeated report one entry."""

    id: base.Id
    watch: wake.Watch
    at: base.Time
    verdict: base.Word
    reason: base.Word
    keys: Keys = ()
    keys_in_all: base.Count = 0


class Verdicts(base.Answer):
    """The body of POST /v1/ledger."""

    entries: Annotated[tuple[Verdict, ...], pydantic.Field(min_length=1, max_length=PAGE_LIMIT)]


class Entry(base.Answer):
    """One entry. `verdict` is set for a verdict, `wake_id` and `session` where the entry is about one."""

    position: base.Count
    at: base.Time
    watch_uid: base.Id
    namespace: base.Namespace
    name: base.Name
    event: Event
    verdict: base.Word = ""
    reason: base.Word = ""
    wake_id: str = ""
    session: str = ""
    keys: Keys = ()
    keys_in_all: base.Count = 0


class Page(base.Answer):
    """Entries, the newest first; `next` is what to ask with for older ones, and is absent at the end."""

    entries: Annotated[tuple[Entry, ...], pydantic.Field(max_length=PAGE_LIMIT)] = ()
    next: base.Count | None = None
