"""The digests of the decision: the name of a wake, and what a stall is measured by."""

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Final

from vigil.model import ids, verdicts

_LENGTH: Final = 32


def wake_id(
    watch: ids.WatchUid,
    reason: str,
    told: Mapping[verdicts.Identity, ids.Instant | None],
    spells: Iterable[tuple[str, ids.Instant]],
    repeats: tuple[int, int],
) -> ids.WakeId:
    """Name a wake so that the same news has the same name after any crash, and a repeat has another.

    It is made of the Watch, the reason, the identities with the stamps that they replace (`told`), the starts of what
    else it is about, and `repeats`: how many wakes have ended without a stamp since the last one that stamped, and how
    many stamps were dropped: news whose stamp is forgotten would else have the name of the wake that told it.
    """
    rows = [[*identity, told[identity]] for identity in sorted(told, key=sort_key)]
    return ids.WakeId(_digest(json.dumps([watch, reason, rows, sorted(spells), *repeats])))


@functools.lru_cache(maxsize=4096)
def open_digest(identities: frozenset[verdicts.Identity], revisions: frozenset[tuple[str, str]]) -> str:
    """What is open and where the subjects stand, whatever the order: two reads with the same digest show the same.

    Most ticks show what the tick before them showed, so the last ones are remembered.
    """
    # The representation of a tuple of texts is unambiguous, and much faster than JSON.
    rows = sorted(repr(tuple(identity)) for identity in identities)
    return _digest("\n".join([*rows, repr(sorted(revisions))]))


def short(text: str) -> str:
    """A text that a kind gives as a digest, or a digest of it where it is longer: the memory of a Watch is bounded."""
    return text if len(text) <= _LENGTH and text.isascii() else _digest(text)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def sort_key(identity: verdicts.Identity) -> tuple[str, str, bool, str, str]:
    """An order of identities that does not depend on the order in which they were read."""
    revision = identity.revision
    return (identity.subject, identity.key, revision is not None, revision or "", identity.episode)
