"""Points in time as Kubernetes writes them: RFC 3339, in seconds, UTC."""

import datetime
import re
from typing import Final

from vigil.model import ids

_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_LAST: Final = datetime.datetime(9999, 12, 31, 23, 59, 59, tzinfo=datetime.UTC).timestamp()


def parse(text: str) -> ids.Instant:
    """The instant of a time with its offset, such as `2026-03-01T10:00:00+01:00`; raises ValueError for other text."""
    if not _RFC3339.fullmatch(text):
        raise ValueError("must be a time with its offset, such as 2026-03-01T10:00:00Z or 2026-03-01T11:00:00+01:00")
    try:
        return datetime.datetime.fromisoformat(text.upper()).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"is no time: {error}") from error


def render(instant: ids.Instant) -> str:
    """`2026-03-01T10:00:00Z`: the whole second, an instant out of bounds as the nearest one within."""
    whole = int(min(max(instant, 0.0), _LAST))
    return datetime.datetime.fromtimestamp(whole, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
