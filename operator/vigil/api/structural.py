"""The structural schema of a pydantic model: what a CustomResourceDefinition may hold, and nothing else."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

import pydantic

Schema: TypeAlias = dict[str, Any]

_ORDER: Final = (
    "description",
    "type",
    "nullable",
    "format",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "maxProperties",
    "default",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
)
"""Every keyword that is written, in this order."""


class NotStructuralError(Exception):
    """A model says something that a structural schema cannot."""


def of(model: type[pydantic.BaseModel], *, defaults: bool = True) -> Schema:
    """The structural schema of a model: references inlined, null only where a field is nullable.

    With `defaults` the API server completes what is not given, else it leaves an object as it was sent.
    """
    schema = model.model_json_schema(by_alias=True)
    return _Inliner(schema.pop("$defs", {}), defaults).structural(schema)


class _Inliner:
    def __init__(self, definitions: Mapping[str, Schema], defaults: bool) -> None:
        self._definitions = definitions
        self._defaults = defaults

    def structural(self, schema: Mapping[str, Any]) -> Schema:
        flat = self._flat(schema)
        for dropped in ("title", "optional"):
            flat.pop(dropped, None)
        if flat.get("default") is None or not self._defaults:
            flat.pop("default", None)
        self._descend(flat)
        unknown = sorted(set(flat) - set(_ORDER))
        if unknown:
            raise NotStructuralError(f"{', '.join(unknown)} in {flat}")
        return {keyword: flat[keyword] for keyword in _ORDER if keyword in flat}

    def _flat(self, schema: Mapping[str, Any]) -> Schema:
        """The schema with its reference and its `X or null` taken into it; what stands beside them goes before."""
        flat = dict(schema)
        if "$ref" in flat:
            name = flat.pop("$ref").rpartition("/")[2]
            return self._flat({**self._definitions[name], **flat})
        if "anyOf" in flat:
            kept = [option for option in flat.pop("anyOf") if option != {"type": "null"}]
            if len(kept) != 1:
                raise NotStructuralError(f"a choice of types in {schema}")
            return self._flat({**kept[0], **flat, "optional": True})
        if "const" in flat:
            flat["enum"] = [flat.pop("const")]
        return flat

    def _descend(self, flat: Schema) -> None:
        if "properties" in flat:
            needed = flat.get("required", [])
            flat["properties"] = {
                name: self._property(item, name in needed) for name, item in flat["properties"].items()
            }
        if "items" in flat:
            flat["items"] = self.structural(flat["items"])
        more: Any = flat.pop("additionalProperties", None)
        if isinstance(more, dict):
            flat["additionalProperties"] = self.structural(cast("Schema", more))

    def _property(self, schema: Mapping[str, Any], required: bool) -> Schema:
        optional = self._flat(schema).get("optional", False)
        made = self.structural(schema)
        # The API server completes an object only where it stands, and checks the rules of a default as it is written.
        if self._defaults and made["type"] == "object" and not required and not optional:
            parts = made.get("properties", {})
            made["default"] = {part: one["default"] for part, one in parts.items() if "default" in one}
        return {keyword: made[keyword] for keyword in _ORDER if keyword in made}
