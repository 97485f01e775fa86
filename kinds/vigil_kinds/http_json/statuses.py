"""What an HTTP status means for a read, when it is not the success that comes with a document."""

import email.utils
import re
from collections.abc import Mapping
from typing import Final

from vigil.model import failures, ids

LONGEST_WAIT: Final = 24 * 3600.0
"""Seconds of a Retry-After that are believed."""

TOO_MANY: Final = 429
_MAY_THROTTLE: Final = frozenset({403, 503})
_SECONDS = re.compile(r"[0-9]{1,12}")

_KNOWN: Final[Mapping[int, tuple[failures.Category, str]]] = {
    204: (failures.Category.MALFORMED, "no document"),
    205: (failures.Category.MALFORMED, "no document"),
    206: (failures.Category.MALFORMED, "a part of a document"),
    304: (failures.Category.MALFORMED, "that nothing changed, which was not asked"),
    401: (failures.Category.AUTH, "it does not know who asks"),
    403: (failures.Category.FORBIDDEN, "whoever asks may not read it"),
    404: (failures.Category.NOT_FOUND, "there is nothing at this URL"),
    407: (failures.Category.AUTH, "a proxy does not know who asks"),
    408: (failures.Category.TRANSIENT, "the request came too slowly"),
    410: (failures.Category.NOT_FOUND, "there is nothing at this URL any more"),
    425: (failures.Category.TRANSIENT, "it is too early"),
    451: (failures.Category.FORBIDDEN, "it may not be read for legal reasons"),
}


def failure(status: int, headers: Mapping[str, str], now: ids.Instant) -> failures.Failure | None:
    """The failure that a status stands for, or None where a document is to be expected."""
    wait = retry_after(headers.get("retry-after", ""), now)
    if status == TOO_MANY or (status in _MAY_THROTTLE and wait is not None):
        return failures.Failure(failures.Category.THROTTLED, f"it answers {status}: it is asked too often", wait)
    known = _KNOWN.get(status)
    if known is not None:
        return failures.Failure(known[0], f"it answers {status}: {known[1]}", wait)
    return _of_class(status, wait)


def _of_class(status: int, wait: ids.Seconds | None) -> failures.Failure | None:
    match status // 100:
        case 2:
            return None
        case 3:
            return failures.Failure(failures.Category.MALFORMED, f"it answers {status}, a redirect that leads nowhere")
        case 5:
            return failures.Failure(
                failures.Category.TRANSIENT, f"it answers {status}: it has a fault of its own", wait
            )
        case _:
            return failures.Failure(failures.Category.UNKNOWN, f"it answers {status}, which no read expects")


def retry_after(value: str, now: ids.Instant) -> ids.Seconds | None:
    """The seconds of a Retry-After, a number or an HTTP date, from 0 to LONGEST_WAIT; None where it says nothing."""
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return min(float(value), LONGEST_WAIT)
    try:
        until = email.utils.parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until - now), LONGEST_WAIT)
