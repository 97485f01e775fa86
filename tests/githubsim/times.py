"""Times and lengths of time as worlds write them."""

import datetime

import durationpy


def seconds(text: str) -> float:
    """The seconds since the epoch of an ISO 8601 time."""
    return datetime.datetime.fromisoformat(text).timestamp()


def offset(text: str) -> float:
    """The seconds of a length of time in Go's notation."""
    return float(durationpy.from_str(text).total_seconds())


def text(at: float) -> str:
    """A time as GitHub writes it."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
