"""A world: what a GitHub holds, in GitHub's own schema words, checked so that a typo cannot make a test pass."""

import copy
import pathlib
from collections.abc import Mapping
from typing import Any

import graphql

from tests.githubsim import times
from vigil.api import yamljson

WORLD = frozenset({"now", "viewer", "repositories", "renamed", "tokens", "limits", "faults", "timeline", "app"})
REPOSITORY = frozenset({"refs", "pullRequests", "workflowRuns", "owner", "name", "nameWithOwner"})
PULL_REQUEST = frozenset({"checkSuites"})
"""Keys beside the schema's own: what a world says more shortly. README.md explains them."""

_TYPES = {"Actor": "User", "GitObject": "Commit"}
"""What an object of an interface is, where the world does not say."""


class WorldError(ValueError):
    """A world says something that GitHub could not."""


def load(path: pathlib.Path) -> dict[str, Any]:
    """A world from its file, read by JSON's types only."""
    read = yamljson.load(path.read_text(encoding="utf-8"))
    if not isinstance(read, dict):
        raise WorldError(f"{path.name} holds no world")
    return read


def merged(base: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396) applied."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(base) if isinstance(base, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def began(world: Mapping[str, Any]) -> float:
    """The time at which a world begins, seconds since the epoch."""
    if "now" not in world:
        raise WorldError("the world has no `now`")
    return times.seconds(str(world["now"]))


def moments(world: Mapping[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """The worlds by their times: seconds since the epoch, the first one at `now`."""
    start = began(world)
    first = {name: value for name, value in world.items() if name != "timeline"}
    found, current = [(start, first)], first
    for step in world.get("timeline") or []:
        if set(step) - {"at", "world", "patch"} or "at" not in step:
            raise WorldError(f"a step of the timeline has `at` and `world` or `patch`, not {sorted(step)}")
        current = dict(step["world"]) if "world" in step else merged(current, step.get("patch") or {})
        found.append((start + times.offset(str(step["at"])), {"now": world["now"], **current}))
    if [at for at, _ in found] != sorted(at for at, _ in found):
        raise WorldError("the steps of a timeline are in the order of their times")
    return found


def check(world: Mapping[str, Any], schema: graphql.GraphQLSchema) -> None:
    """Raise WorldError for the first thing that GitHub's schema does not know."""
    _known("the world", world, WORLD)
    for full, repository in (world.get("repositories") or {}).items():
        if full.count("/") != 1:
            raise WorldError(f"{full} is not owner/name")
        _object(f"repositories.{full}", repository, "Repository", schema, REPOSITORY)
        for number, pull in (repository.get("pullRequests") or {}).items():
            place = f"repositories.{full}.pullRequests.{number}"
            if not str(number).isdigit():
                raise WorldError(f"{place}: a pull request has a number")
            _object(place, pull, "PullRequest", schema, PULL_REQUEST)
            for index, suite in enumerate(pull.get("checkSuites") or []):
                _object(f"{place}.checkSuites[{index}]", suite, "CheckSuite", schema, frozenset())


def _known(place: str, value: Mapping[str, Any], names: frozenset[str]) -> None:
    strange = sorted(set(map(str, value)) - names)
    if strange:
        raise WorldError(f"{place}: GitHub's schema knows no {strange[0]}")


def _object(place: str, value: Any, kind: str, schema: graphql.GraphQLSchema, more: frozenset[str]) -> None:
    if not isinstance(value, Mapping):
        raise WorldError(f"{place}: is no object")
    named = schema.type_map[str(value.get("__typename") or _TYPES.get(kind, kind))]
    fields: Mapping[str, Any] = getattr(named, "fields", {})
    _known(place, value, frozenset(fields) | more | {"__typename"})
    for name, inner in value.items():
        if name in fields and name not in more and inner is not None:
            _value(f"{place}.{name}", inner, fields[name].type, schema)


def _value(place: str, value: Any, of: Any, schema: graphql.GraphQLSchema) -> None:
    kind = graphql.get_named_type(of)
    if isinstance(value, list):
        item = item_type(kind) if kind.name.endswith("Connection") else kind
        for index, one in enumerate(value):
            _value(f"{place}[{index}]", one, item, schema)
    elif isinstance(kind, graphql.GraphQLEnumType):
        if value not in kind.values:
            raise WorldError(f"{place}: {kind.name} has no {value}")
    elif isinstance(kind, graphql.GraphQLUnionType) and not (isinstance(value, Mapping) and "__typename" in value):
        raise WorldError(f"{place}: a member of the union {kind.name} names its __typename")
    elif isinstance(value, Mapping):
        _object(place, value, kind.name, schema, frozenset())


def item_type(connection: Any) -> Any:
    """The type of a connection's nodes."""
    return graphql.get_named_type(connection.fields["nodes"].type)
