"""GitHub's own description of its REST interface: it fills in what a world leaves out, and answers are held to it."""

import functools
import json
from collections.abc import Mapping
from typing import Any

import openapi_schema_validator
import referencing
import referencing.jsonschema

from tests.githubsim import assets, times

URI = "urn:github"


class AnswerError(AssertionError):
    """An answer is not what GitHub describes."""


@functools.cache
def description() -> Mapping[str, Any]:
    """The description of api.github.com."""
    read: dict[str, Any] = json.loads(assets.rest_description(), object_hook=_nullable)
    return read


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """GitHub lists an enumeration's words and says beside them that null is one more."""
    words = schema.get("enum")
    if schema.get("nullable") is True and isinstance(words, list) and None not in words:
        return {**schema, "enum": [*words, None]}
    return schema


@functools.cache
def _registry() -> Any:
    resource = referencing.jsonschema.DRAFT4.create_resource(dict(description()))
    return referencing.Registry().with_resource(URI, resource)


def schema_of(method: str, path: str, status: int) -> Mapping[str, Any]:
    """The schema of an answer; `path` is a template, as the description has it."""
    response = description()["paths"][path][method.lower()]["responses"][str(status)]
    found: Mapping[str, Any] = _resolved(response)["content"]["application/json"]["schema"]
    return found


def check(schema: Mapping[str, Any], body: Any) -> None:
    """Raise AnswerError for the first thing of a body that the schema refuses."""
    whole = json.loads(json.dumps(schema).replace('"#/', f'"{URI}#/'))
    validator = openapi_schema_validator.OAS30Validator(whole, registry=_registry())
    for error in validator.iter_errors(body):
        place = "/".join(str(part) for part in error.absolute_path)
        raise AnswerError(f"{place or 'the answer'}: {error.message[:300]}")


def filled(schema: Mapping[str, Any], said: Any, now: float, depth: int = 0) -> Any:
    """What a world says, with everything else that the schema requires."""
    of = _merged(_resolved(schema))
    if said is None and (of.get("nullable") or depth > 8):
        return None
    kind = of.get("type") or ("object" if "properties" in of else None)
    if kind == "object" and isinstance(said, dict | None):
        return _object(of, said or {}, now, depth)
    if kind == "array" and isinstance(said, list | None):
        return [filled(of.get("items", {}), one, now, depth + 1) for one in said or []]
    return _leaf(of, kind, now) if said is None else said


def _object(of: Mapping[str, Any], said: Mapping[str, Any], now: float, depth: int) -> dict[str, Any]:
    properties: Mapping[str, Any] = of.get("properties", {})
    names = [*of.get("required", []), *(name for name in said if name not in of.get("required", []))]
    return {
        name: filled(properties[name], said.get(name), now, depth + 1) if name in properties else said.get(name)
        for name in names
        if name in properties or name in said
    }


def _leaf(of: Mapping[str, Any], kind: str | None, now: float) -> Any:
    if of.get("enum"):
        return of["enum"][0]
    if kind == "integer":
        return max(1, int(of.get("minimum", 1)))
    if kind == "number":
        return 0.0
    if kind == "boolean":
        return False
    formats = {
        "date-time": times.text(now),
        "uri": "https://api.github.com/",
        "email": "octocat@users.noreply.github.com",
    }
    return formats.get(str(of.get("format")), "")


def _resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        found: Any = description()
        for step in str(schema["$ref"]).removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def _merged(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """One schema of several: all of `allOf`, the first of `anyOf` and `oneOf`."""
    parts = [*schema.get("allOf", []), *schema.get("anyOf", [])[:1], *schema.get("oneOf", [])[:1]]
    if not parts:
        return schema
    merged = dict(schema)
    for part in map(_merged, map(_resolved, parts)):
        merged["properties"] = {**merged.get("properties", {}), **part.get("properties", {})}
        merged["required"] = [*merged.get("required", []), *part.get("required", [])]
        merged.setdefault("type", part.get("type"))
        merged["nullable"] = merged.get("nullable") or part.get("nullable", False)
    return merged
