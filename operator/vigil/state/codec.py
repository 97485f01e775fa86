"""The door to the document: a State in, a line of JSON out, and back."""

import dataclasses
import enum
import json
import re
from collections.abc import Mapping
from typing import Final, NoReturn, TypeAlias

from vigil.model import ids, states
from vigil.state import migrations, packing, reading, writing

MAX_BYTES: Final = packing.MAX_BYTES
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")


class QuarantineReason(enum.StrEnum):
    """Why a stored document is put aside; the names are reasons of the Watch's conditions."""

    VERSION_UNKNOWN = "StateVersionUnknown"
    """Written by another version of Vigil: nothing is decided or overwritten until someone says what to do."""
    UNREADABLE = "StateUnreadable"
    """It does not parse: a fresh document begins, since one wake too many beats silence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quarantined:
    """A document that cannot be used, kept as it was; `reset` is the value that it was last cleared for."""

    reason: QuarantineReason
    detail: str
    document: str
    reset: str = ""


Decoded: TypeAlias = states.State | Quarantined


def encode(state: states.State) -> str:
    """Write the state as one line of JSON, the same for equal states; one that is longer than MAX_BYTES is packed."""
    document = writing.document_of(state)
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A provider that cuts a text within a character leaves half of it, which no store takes but as an escape.
    return packing.pack(_HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text))


def decode(
    document: str,
    watch: ids.WatchUid,
    version: int = migrations.VERSION,
    steps: Mapping[int, migrations.Migration] = migrations.MIGRATIONS,
) -> Decoded:
    """Read a document; never raises: what cannot be used comes back Quarantined.

    `watch` is the Watch that it was found with: a document that names another one is not its memory. `version` is the
    one that is read, and `steps` the migrations that lead to it.
    """
    try:
        parsed = reading.dict_of(json.loads(packing.unpack(document), parse_constant=_no_constant))
        found = reading.int_of(parsed.get("version"))
        migrated, reached = migrations.migrate(parsed, found, steps)
        if reached != version:
            detail = f"the document has version {found}, this Vigil reads up to {version}"
            return Quarantined(QuarantineReason.VERSION_UNKNOWN, detail, document, str(parsed.get("reset", "")))
        state = reading.state_of(migrated)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return Quarantined(QuarantineReason.UNREADABLE, f"the document does not parse: {error}"[:200], document)
    if state.watch != watch:
        detail = f"the document belongs to the Watch {state.watch}"[:200]
        return Quarantined(QuarantineReason.UNREADABLE, detail, document)
    return state


def _no_constant(name: str) -> NoReturn:
    raise reading.BadDocumentError(f"{name} is no number")
