"""Parts of JSON, told apart by type."""

from collections.abc import Iterable
from typing import Any, cast


def mapping(value: object) -> dict[str, Any] | None:
    """The value if it is a JSON object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def items(value: object) -> list[Any]:
    """The items of a JSON array; none for anything else."""
    return list(cast("Iterable[Any]", value)) if isinstance(value, list) else []


def part(value: object, *steps: str | int) -> Any:
    """What is at the end of a path of names and indexes, None where the path ends before."""
    for step in steps:
        value = (mapping(value) or {}).get(step) if isinstance(step, str) else next(iter(items(value)[step:]), None)
    return value


def nodes(connection: object) -> list[Any]:
    """The nodes of a GraphQL connection that could be read."""
    return [one for one in items(part(connection, "nodes")) if one is not None]
