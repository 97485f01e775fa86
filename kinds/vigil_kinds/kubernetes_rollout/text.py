"""Foreign text, made fit for a brief: one line, bounded, nothing that a terminal would act on."""

import re
from typing import Final

MESSAGE_LIMIT: Final = 200
"""Characters of one foreign message."""

BRIEF_LIMIT: Final = 600
"""Characters of a whole brief."""

REASON_LIMIT: Final = 100
"""Characters of a reason, which is a word in CamelCase."""

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def cut(text: str, limit: int) -> str:
    """The text on one line, at most `limit` characters; an ellipsis shows that some are missing."""
    line = _BLANKS.sub(" ", text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"
