"""GitHub's points in time."""

import datetime

from vigil.model import ids


def instant(text: str | None) -> ids.Instant | None:
    """The seconds since the epoch of an ISO 8601 time, None for none and for what is no time."""
    if not text:
        return None
    try:
        read = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    return read.timestamp() if read.tzinfo is not None else read.replace(tzinfo=datetime.UTC).timestamp()
