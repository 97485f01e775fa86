"""Durations in the options of kinds, as Go writes them."""

import re
from typing import Annotated, Final, TypeAlias

import durationpy
import pydantic

from vigil.model import ids

_PATTERN: Final = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$"

Duration: TypeAlias = Annotated[str, pydantic.Field(max_length=40, pattern=_PATTERN)]
"""A duration such as `90s`, `10m` or `1h30m`; the option says what its bounds are."""


def seconds(duration: str) -> ids.Seconds:
    """The length of a Duration; raises ValueError for any other text."""
    if not re.fullmatch(_PATTERN, duration):
        raise ValueError(f"is not a Go duration: {duration!r}")
    return float(durationpy.from_str(duration).total_seconds())
