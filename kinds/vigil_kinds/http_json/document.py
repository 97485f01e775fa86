"""From the bytes of an answer to a JSON document: strict about what is ambiguous, and bounded.

Refused as `malformed`: what is not JSON, no text at all, NaN and Infinity (they are not JSON), a number that no double
holds, and a name that an object has twice, since readers disagree on which of the two counts. Refused as `too_large`:
more nodes or depth than a rule can be about. Bytes that are not UTF-8 and halves of surrogate pairs become replacement
marks: they can only stand inside strings.
"""

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn, cast

from vigil.kind import api, transport
from vigil.model import failures
from vigil_kinds.http_json import text

MAX_BYTES: Final = 1024 * 1024
"""Bytes of a document."""

MAX_DEPTH: Final = 64
"""Lists and objects inside each other."""

MAX_NODES: Final = 50_000
"""Values in a document, names not counted."""

_HOLDERS: Final = (dict, list)
_LEAST: Final = -(2**63)
_MOST: Final = 2**64 - 1
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse(body: bytes) -> api.JsonValue:
    """The document; raises ReadError, `malformed` or `too_large`."""
    if not body.strip():
        raise _malformed("the answer is empty, and a JSON document is wanted")
    if len(body) > MAX_BYTES:
        raise _too_large(f"{MAX_BYTES} bytes")
    try:
        document = _loaded(body.decode(json.detect_encoding(body), errors="replace"))
    except RecursionError:
        raise _too_large(f"{MAX_DEPTH} levels") from None
    except ValueError as error:
        raise _malformed(f"the answer is not JSON ({_reason(error)}): it begins {text.excerpt(body)}") from None
    _measure(document)
    return document


def _loaded(spelled: str) -> api.JsonValue:
    """Raises ValueError for what is not JSON to this kind, RecursionError for what is far too deep."""
    document = json.loads(
        spelled, object_pairs_hook=_object, parse_int=_whole, parse_float=_fraction, parse_constant=_not_a_number
    )
    return json.loads(_paired(document)) if _SURROGATE.search(spelled) else document


def _paired(document: api.JsonValue) -> str:
    spelled = json.dumps(document, ensure_ascii=False)
    return spelled.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has a name twice")
    return made


def _whole(digits: str) -> int | float:
    """The number; one of more than 64 bits is a fraction, as CEL has no other place for it."""
    number = int(digits)
    return number if _LEAST <= number <= _MOST else _fraction(digits)


def _fraction(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _not_a_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}"
    return "a number has too many digits" if "digits" in str(error) else str(error)


def _measure(document: api.JsonValue) -> None:
    """Raise ReadError, `too_large`, for a document of too many values or levels."""
    values: list[api.JsonValue] = [document]
    nodes = depth = 0
    while values:
        nodes += len(values)
        if nodes > MAX_NODES:
            raise _too_large(f"{MAX_NODES} values")
        holders = [value for value in values if type(value) in _HOLDERS]
        depth += bool(holders)
        if depth > MAX_DEPTH:
            raise _too_large(f"{MAX_DEPTH} levels")
        values = [child for holder in holders for child in _children(holder)]


def _children(holder: Any) -> Iterable[api.JsonValue]:
    if type(holder) is dict:
        return cast("dict[str, api.JsonValue]", holder).values()
    return cast("list[api.JsonValue]", holder)


def _malformed(sentence: str) -> transport.ReadError:
    return transport.ReadError(failures.Failure(failures.Category.MALFORMED, sentence))


def _too_large(bound: str) -> transport.ReadError:
    sentence = f"the document has more than {bound}, which is the most that this kind reads"
    return transport.ReadError(failures.Failure(failures.Category.TOO_LARGE, sentence))
