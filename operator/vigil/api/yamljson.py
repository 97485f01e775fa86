"""YAML as a way to write JSON: no type but JSON's, so that `Off`, `yes` and `2026-03-01` are strings.

Anchors and merge keys are expanded within a budget. A key that stands twice in a mapping, a tag of another type, and a
text that is too large, too deep or no JSON are refused, with the line.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeGuard

import yaml

Json: TypeAlias = Any
"""What `json.loads` gives: None, bool, int, float, str, list and dict with str keys."""

MAX_BYTES: Final = 1024 * 1024
MAX_VALUES: Final = 200_000
MAX_DEPTH: Final = 100
_INT_LIMIT: Final = 2**63

_PARSER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG: Final = "tag:yaml.org,2002:"
_NULL: Final = re.compile(r"(?:null|Null|NULL|~|)")
_BOOL: Final = re.compile(r"(?:true|True|TRUE|false|False|FALSE)")
_INT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


def is_object(value: Json) -> TypeGuard[Mapping[str, Json]]:
    """Whether a value is a JSON object, or a view of one."""
    return isinstance(value, Mapping)


def is_list(value: Json) -> TypeGuard[list[Json]]:
    """Whether a value is a JSON list."""
    return isinstance(value, list)


class YamlError(ValueError):
    """The text cannot be read; `line` counts from 1, and is 0 where no place can be named."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(f"line {line}: {message}" if line else message)
        self.message = message
        self.line = line


def load(text: str | bytes, max_bytes: int = MAX_BYTES) -> Json:
    """The only document of a text; raises YamlError, also when there are none or several."""
    documents = load_all(text, max_bytes)
    if len(documents) != 1:
        raise YamlError(f"one document is expected, and there are {len(documents)}")
    return documents[0]


def load_all(text: str | bytes, max_bytes: int = MAX_BYTES) -> list[Json]:
    """Every document of a text that is not empty, in order; raises YamlError."""
    decoded = _decoded(text, max_bytes)
    try:
        documents = _as_json(decoded) or list(_Reader(decoded).documents())
        return [document for document in documents if document is not None]
    except yaml.YAMLError as error:
        raise _told(error) from error


def _decoded(text: str | bytes, max_bytes: int) -> str:
    size = len(text.encode("utf-8", "replace")) if isinstance(text, str) else len(text)
    if size > max_bytes:
        raise YamlError(f"it has {size} bytes, and at most {max_bytes} are read")
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise YamlError("it is not UTF-8", text.count(b"\n", 0, error.start) + 1) from error


def _as_json(text: str) -> list[Json]:
    """The one document of a text that is JSON, else none: its escapes of characters beyond 16 bits are not YAML's."""
    if not text.lstrip().startswith(("{", "[")):
        return []
    try:
        value = json.loads(
            text, object_pairs_hook=_each_once, parse_int=_whole, parse_float=_finite, parse_constant=_finite
        )
        json.dumps(value, ensure_ascii=False).encode()
        too_deep = _depth(value) > MAX_DEPTH
    except (ValueError, RecursionError):
        # What is no JSON, or none of ours, is read as YAML, which says where.
        return []
    return [] if too_deep else [value]


def _depth(value: Json) -> int:
    parts: Iterable[Json] = value.values() if is_object(value) else value if is_list(value) else ()
    return 1 + max(map(_depth, parts), default=-1)


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _whole(text: str) -> int | float:
    value = int(text) if len(text) < 30 else _INT_LIMIT
    return value if -_INT_LIMIT <= value < _INT_LIMIT else _finite(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("the number is out of range")
    return number


def _told(error: yaml.YAMLError) -> YamlError:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    return YamlError(f"it is not YAML: {problem}", mark.line + 1 if mark else 0)


class _Reader:
    """Turns the events of one text into JSON and counts the values: an alias costs what it stands for."""

    def __init__(self, text: str) -> None:
        events: Any = yaml.parse(text, Loader=_PARSER)  # pyright: ignore[reportUnknownMemberType] # the stubs have no type
        self._events: Iterator[Any] = events
        self._anchors: dict[str, tuple[Json, int]] = {}
        self._count = 0

    def documents(self) -> Iterator[Json]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._anchors = {}
                yield self._value(next(self._events), 0)

    def _value(self, event: Any, depth: int) -> Json:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self._count
        self._charge(1, event)
        if depth > MAX_DEPTH:
            raise YamlError(f"it is nested deeper than {MAX_DEPTH}", _line(event))
        value = self._collection(event, depth)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._count - before)
        return value

    def _collection(self, event: Any, depth: int) -> Json:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(event, depth)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(event, depth)
        return _scalar(event)

    def _sequence(self, start: Any, depth: int) -> list[Json]:
        _expect_tag(start, "seq")
        items: list[Json] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, start: Any, depth: int) -> dict[str, Json]:
        _expect_tag(start, "map")
        own: dict[str, Json] = {}
        merged: dict[str, Json] = {}
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            value = self._value(next(self._events), depth + 1) if isinstance(key, yaml.ScalarEvent) else None
            if _is_merge(key):
                merged = {**_to_merge(value, key), **merged}
            elif (name := _key(key)) in own:
                raise YamlError(f"the key {name!r} stands twice", _line(key))
            else:
                own[name] = value
        return {**merged, **own}

    def _alias(self, event: Any) -> Json:
        if event.anchor not in self._anchors:
            raise YamlError(f"there is no anchor &{event.anchor} before this place", _line(event))
        value, cost = self._anchors[event.anchor]
        self._charge(cost, event)
        return value

    def _charge(self, cost: int, event: Any) -> None:
        self._count += cost
        if self._count > MAX_VALUES:
            raise YamlError(
                f"it has more than {MAX_VALUES} values, aliases counted as what they stand for", _line(event)
            )


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _expect_tag(event: Any, name: str) -> None:
    if event.tag not in (None, "!", _TAG + name):
        raise YamlError(f"the tag {event.tag} is not read: a value has one of JSON's types and no tag", _line(event))


def _is_merge(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "<<" and bool(event.implicit[0])


def _to_merge(value: Json, event: Any) -> dict[str, Json]:
    merged: dict[str, Json] = {}
    for source in value if is_list(value) else [value]:
        if not is_object(source):
            raise YamlError("`<<` merges mappings only", _line(event))
        merged = {**source, **merged}
    return merged


def _key(event: Any) -> str:
    if not isinstance(event, yaml.ScalarEvent):
        raise YamlError("a key is text, not a collection or an alias", _line(event))
    _expect_tag(event, "str")
    if event.implicit[0] and _NULL.fullmatch(event.value):
        raise YamlError("a key is text, not null", _line(event))
    return str(event.value)


def _scalar(event: Any) -> Json:
    text: str = event.value
    plain: bool = event.implicit[0]
    if not plain:
        _expect_tag(event, "str")
        return text
    if _NULL.fullmatch(text):
        return None
    if _BOOL.fullmatch(text):
        return text.lower() == "true"
    if _FLOAT.fullmatch(text):
        return _number(text, event)
    return text


def _number(text: str, event: Any) -> int | float:
    try:
        return _whole(text) if _INT.fullmatch(text) else _finite(text)
    except ValueError as error:
        raise YamlError(str(error), _line(event)) from error
