"""Foreign text, made fit for a brief or a message: one line, bounded, nothing that a terminal would act on."""

import re
from typing import Final

BRIEF_LIMIT: Final = 500
"""Characters of a brief."""

EXCERPT_LIMIT: Final = 80
"""Characters of an excerpt of a body that is not what was wanted."""

_ESCAPES = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # a title, a link or the clipboard, up to its end
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x9c]*(?:\x1b\\|\x9c)?"  # a device string, up to its end
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursor and modes
    r"|\x1b[ -/]*[0-~]?"  # any other sequence
)
_UNSEEN = re.compile(
    r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_BLANKS = re.compile(r"[\s\x1c-\x1f\x85\u2028\u2029]+")


def line(foreign: str, limit: int) -> str:
    """The text on one line of at most `limit` characters, without control characters; an ellipsis shows a cut."""
    seen = _UNSEEN.sub("", _ESCAPES.sub("", foreign))
    flat = _BLANKS.sub(" ", seen).strip()
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def excerpt(body: bytes) -> str:
    """How a body begins, in quotes."""
    return f"'{line(body[: 16 * EXCERPT_LIMIT].decode(errors='replace'), EXCERPT_LIMIT)}'"
