"""What the models of the resource are made of: a base that reads JSON as the API server does, and rules of both sides.

An absent field and a null are the same unless the field is nullable, as in a structural schema. A rule stands once, as
CEL for the API server beside a function for a file, so that its sentence is the same in both.
"""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Self, TypeAlias

import pydantic
import pydantic_core
from pydantic import alias_generators

from vigil.api import durations, yamljson

RULE_ERROR: Final = "rule"
"""The type of the error that a broken rule raises; its context holds the `field` it is about."""

DURATION_RULE: Final = {
    "rule": f"self.matches('{durations.PATTERN}') && duration(self) <= duration('{durations.LONGEST}')",
    "message": durations.SENTENCE,
}


def cel_at_least(field: str, least: str) -> str:
    """CEL: the duration in a field is at least another one, unless one is malformed, which its own rule says better."""
    fields = [each for each in (field, least) if each.startswith("self.")]
    malformed = [f"!{each}.matches('{durations.PATTERN}')" for each in fields]
    return " || ".join([*malformed, f"duration({field}) >= duration({least})"])


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """One rule over the fields of an object: `cel` and `holds` say the same, `field` is what the sentence is about."""

    cel: str
    message: str
    holds: Callable[[Any], bool]
    field: str = ""

    def as_schema(self) -> dict[str, str]:
        """The entry of x-kubernetes-validations."""
        path = {"fieldPath": self.field} if self.field else {}
        return {"rule": self.cel, "message": self.message, **path}

    def check(self, value: Any) -> None:
        """Raise an error of the type RULE_ERROR when the rule is broken."""
        if not self.holds(value):
            context = {"message": self.message, "field": self.field}
            raise pydantic_core.PydanticCustomError(RULE_ERROR, "{message}", context)


class Model(pydantic.BaseModel):
    """The base of every object of the resource: camelCase, frozen, strict about names and types."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        alias_generator=alias_generators.to_camel,
    )
    rules: ClassVar[tuple[Rule, ...]] = ()

    @pydantic.model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        if not yamljson.is_object(value):
            return value
        dropped = {field.alias for field in cls.model_fields.values() if not _nullable(field)}
        return {name: item for name, item in value.items() if item is not None or name not in dropped}

    @pydantic.model_validator(mode="after")
    def _rules_hold(self) -> Self:
        for rule in self.rules:
            rule.check(self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: pydantic_core.CoreSchema, handler: pydantic.GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """The JSON schema with the rules in it."""
        own = handler.resolve_ref_schema(handler(core))
        if cls.rules:
            own["x-kubernetes-validations"] = [rule.as_schema() for rule in cls.rules]
        return own


def _nullable(field: pydantic.fields.FieldInfo) -> bool:
    extra: Any = field.json_schema_extra
    return isinstance(extra, dict) and "nullable" in extra


def nullable(description: str, **bounds: Any) -> Any:
    """A field for which null is a value of its own: null says "no limit"."""
    return pydantic.Field(default=None, description=description, json_schema_extra={"nullable": True}, **bounds)


BARE_ZERO: Final = "bare_zero"
"""In a validation's context it lets the number 0 stand for 0s, as Go has it; a structural schema cannot say that."""


def zero(value: Any, info: pydantic.ValidationInfo) -> Any:
    """The duration 0s for the number 0, where the context has BARE_ZERO."""
    context: dict[str, Any] = info.context or {}
    return "0s" if type(value) is int and value == 0 and context.get(BARE_ZERO) else value


def _duration(text: str) -> str:
    durations.parse(text)
    return text


def _whole(value: Any) -> Any:
    # JSON has one type of number: the API server takes 5.0 where it wants an integer.
    return int(value) if isinstance(value, float) and value.is_integer() else value


Duration: TypeAlias = Annotated[
    str,
    pydantic.BeforeValidator(zero),
    pydantic.AfterValidator(_duration),
    pydantic.WithJsonSchema(
        {
            "type": "string",
            "pattern": durations.PATTERN,
            "maxLength": durations.MAX_LENGTH,
            "x-kubernetes-validations": [DURATION_RULE],
        }
    ),
]
"""A Go duration; `durations.parse` gives its seconds and cannot fail on a validated one."""

WHOLE: Final = pydantic.BeforeValidator(_whole)
"""The last mark of an integer's type: after its bounds, which the JSON schema would not know otherwise."""

Loose: TypeAlias = dict[str, Any]
"""An object whose fields are a kind's business."""
