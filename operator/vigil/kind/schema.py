"""The JSON Schema of what a Watch of one kind may hold: generated from its own models, checked in beside them."""

import json
from typing import Any, Final

from pydantic import json_schema

from vigil.kind import api

FILE_NAME: Final = "schema.json"
SUBJECT_LIMIT: Final = 50
"""The most subjects that one Watch may have."""


def render(kind: api.Kind) -> str:
    """The text of the kind's `schema.json`: what of a Watch's spec is the kind's own, for editors and validators."""
    return json.dumps(_schema(kind), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _schema(kind: api.Kind) -> dict[str, Any]:
    models: list[tuple[type[api.Model], json_schema.JsonSchemaMode]] = [
        (kind.subject, "validation"),
        (kind.options, "validation"),
    ]
    references, definitions = json_schema.models_json_schema(models, ref_template="#/$defs/{model}")
    return {
        "$schema": json_schema.GenerateJsonSchema.schema_dialect,
        "title": kind.name,
        "description": kind.summary,
        "type": "object",
        "required": ["kind", "objective", "subjects"],
        "properties": {
            "kind": {"const": kind.name},
            "objective": {"enum": sorted(kind.objectives)},
            "subjects": {
                "type": "array",
                "minItems": 1,
                "maxItems": SUBJECT_LIMIT,
                "items": references[kind.subject, "validation"],
            },
            "options": references[kind.options, "validation"],
        },
        **definitions,
    }
