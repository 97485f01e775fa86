"""Durations as Go writes them: `90s`, `10m`, `1h30m`."""

import re
from typing import Final

import durationpy

from vigil.model import ids

PATTERN: Final = "^(0|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)$"
MAX_LENGTH: Final = 32
LONGEST: Final = "87600h"
LONGEST_SECONDS: Final[ids.Seconds] = 87600 * 3600.0
SENTENCE: Final = f"a duration is written like 90s, 10m or 1h30m, is not negative and at most {LONGEST}"

_SHAPE = re.compile(PATTERN)
_HOUR: Final = 3_600_000_000
_MINUTE: Final = 60_000_000
_SECOND: Final = 1_000_000


class DurationError(ValueError):
    """The text is no duration, or one that is out of bounds."""


def parse(text: str) -> ids.Seconds:
    """The seconds of a Go duration, to the microsecond; raises DurationError for what PATTERN or LONGEST refuse."""
    if len(text) > MAX_LENGTH or not _SHAPE.fullmatch(text):
        raise DurationError(SENTENCE)
    try:
        seconds: float = durationpy.from_str(text).total_seconds()
    except durationpy.DurationError as error:
        raise DurationError(SENTENCE) from error
    if seconds > LONGEST_SECONDS:
        raise DurationError(SENTENCE)
    return seconds


def render(seconds: ids.Seconds) -> str:
    """The shortest usual form of a length of time, to the microsecond: `1h30m`, `4m`, `0.25s`, `0s`; never negative."""
    hours, left = divmod(max(0, round(seconds * _SECOND)), _HOUR)
    minutes, left = divmod(left, _MINUTE)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else "", _seconds(left) if left else ""]
    return "".join(parts) or "0s"


def _seconds(micros: int) -> str:
    whole, fraction = divmod(micros, _SECOND)
    return f"{whole}.{fraction:06d}".rstrip("0") + "s" if fraction else f"{whole}s"
