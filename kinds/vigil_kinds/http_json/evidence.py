"""The evidence of a wake: the status and the document, indented."""

import json
import re
from typing import Final

from vigil.kind import api

_ODD: Final = re.compile(r"[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def render(snapshot: api.Snapshot) -> str:
    """The snapshot as indented JSON; what would act on a terminal or break a line stays escaped, as JSON allows."""
    text = json.dumps(snapshot.payload, indent=2, sort_keys=True, ensure_ascii=False)
    return f"{_ODD.sub(_escaped, text)}\n"


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
