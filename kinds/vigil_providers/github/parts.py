"""Parts of GitHub's answers on their way from a reader to the pure half: as models, or as why they are missing."""

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import pydantic

from vigil.model import failures
from vigil_providers.github import errors

Model = TypeVar("Model", bound=pydantic.BaseModel)


class Raw(pydantic.BaseModel):
    """The base of what GitHub says: unknown fields are ignored and types are not converted."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="ignore", frozen=True, strict=True)


class Unread(Raw):
    """Why a part could not be read, as a payload holds it."""

    category: str
    message: str
    retry_after: float | None = pydantic.Field(default=None, alias="retryAfter", ge=0, allow_inf_nan=False)

    @property
    def failure(self) -> failures.Failure:
        """The failure."""
        known = self.category in list(failures.Category)
        category = failures.Category(self.category) if known else failures.Category.UNKNOWN
        return failures.Failure(category, self.message, self.retry_after)


def unread(failure: failures.Failure) -> Mapping[str, Any]:
    """What a payload holds of a failure; `Unread` is the way back."""
    return {"category": failure.category.value, "message": failure.message, "retryAfter": failure.retry_after}


def parse(model: type[Model], value: object, what: str) -> Model:
    """The object as that model; raises ReadError `malformed` with the path of the first field that is wrong."""
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "it"
        raise errors.malformed(f"{what} is not what GitHub documents: {path}: {first['msg']}") from error
