"""What is wrong with a manifest, in sentences with the field's path: the same in a cluster and in `vigil run`."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pydantic

from vigil.api import schema

MAX_PROBLEMS: Final = 8
"""More are not told at once."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: `path` is that of a field, such as `spec.subjects[0].name`, or empty for the whole."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidManifest(Exception):  # noqa: N818 - it is named as the phase that it leads to
    """A manifest cannot be used: `path` is of the first problem, `message` begins with its sentence and tells all."""

    def __init__(self, path: str, message: str, *others: Problem) -> None:
        self.problems = (Problem(path, message), *others)
        super().__init__("; ".join(map(str, self.problems)))
        self.path = path
        self.message = "; ".join((message, *map(str, others)))


class InvalidSpec(InvalidManifest):
    """A Watch is well formed, and its kind does not accept it or does not exist."""


def of(error: pydantic.ValidationError, root: str, model: type[pydantic.BaseModel]) -> tuple[Problem, ...]:
    """The problems of a value that was read as the model and stands at `root`."""
    return tuple(_problem(dict(detail), root, model) for detail in error.errors(include_url=False)[:MAX_PROBLEMS])


def join(root: str, location: Iterable[str | int]) -> str:
    """The path of a field below another: `spec`, (`subjects`, 0, `name`) gives `spec.subjects[0].name`."""
    path = root
    for part in location:
        if isinstance(part, int):
            path = f"{path}[{part}]"
        elif re.fullmatch(r"[A-Za-z0-9_$-]+", part):
            path = f"{path}.{part}" if path else part
        else:
            path = f"{path}[{part}]"
    return path


def json_type(value: Any) -> str:
    """The JSON type of a value, with its article."""
    return next((name for kind, name in _JSON_TYPES if isinstance(value, kind)), "null")


_JSON_TYPES: Final = (
    (dict, "an object"),
    (list, "a list"),
    (str, "a string"),
    (bool, "a boolean"),
    ((int, float), "a number"),
)


def _problem(detail: Mapping[str, Any], root: str, model: type[pydantic.BaseModel]) -> Problem:
    path = join(root, detail["loc"])
    if detail["type"] == schema.RULE_ERROR:
        return Problem(path + detail["ctx"]["field"], detail["msg"])
    if detail["type"] == "extra_forbidden":
        return Problem(path, _no_such_field(str(detail["loc"][-1]), model))
    return Problem(path, _sentence(detail))


def _no_such_field(name: str, model: type[pydantic.BaseModel]) -> str:
    whole = model.model_json_schema(by_alias=True)
    objects = [whole, *whole.get("$defs", {}).values()]
    known = sorted({field for each in objects for field in each.get("properties", {})})
    close = difflib.get_close_matches(name, known, n=1)
    return f"there is no such field; did you mean {close[0]}?" if close else "there is no such field"


_SENTENCES: Final[Mapping[str, str]] = {
    "missing": "is required",
    "string_type": "must be a string, not {type}",
    "string_sub_type": "must be a string, not {type}",
    "int_type": "must be a whole number, not {type}",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false, not {type}",
    "list_type": "must be a list, not {type}",
    "tuple_type": "must be a list, not {type}",
    "dict_type": "must be an object, not {type}",
    "model_type": "must be an object, not {type}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "has more than {max_length} characters",
    "string_too_short": "has fewer than {min_length} characters",
    "too_long": "has {actual_length} items, and at most {max_length} are allowed",
    "too_short": "has {actual_length} items, and at least {min_length} are needed",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "enum": "must be one of {expected}",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}
"""By the type of pydantic's error, filled in from its context."""


def _sentence(detail: Mapping[str, Any]) -> str:
    told = _SENTENCES.get(detail["type"])
    if told is None:
        return str(detail["msg"])
    sentence = told.format(type=json_type(detail["input"]), **detail.get("ctx", {}))
    if detail["type"] in {"enum", "literal_error"} and isinstance(detail["input"], bool):
        return f"{sentence}, in quotes: YAML may read such a word as true or false"
    return sentence
