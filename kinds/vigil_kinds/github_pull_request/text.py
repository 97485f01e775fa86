"""Foreign text, made fit for a key or a brief: one line, bounded, nothing that a terminal would act on."""

import hashlib
import re
from typing import Final

from vigil.model import observations

LINE: Final = 200
"""Characters of one foreign line in a brief."""

_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def cut(text: str, limit: int = LINE) -> str:
    """The text on one line, at most `limit` characters; an ellipsis shows that some are missing."""
    line = _BLANKS.sub(" ", text).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def key(prefix: str, name: str) -> str:
    """`prefix:name` as a key; of a name that is too long the end is its digest, so that two stay two."""
    line = f"{prefix}:{_BLANKS.sub(' ', name).strip() or '(no name)'}"
    if len(line) <= observations.KEY_LIMIT:
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()[:12]
    return f"{line[: observations.KEY_LIMIT - len(digest) - 1].rstrip()}~{digest}"


def digest(*parts: object) -> str:
    """A short name of all these parts, for what is compared and never shown."""
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode()).hexdigest()[:24]
