"""The parts of GitHub's REST answers that this kind reads, under GitHub's own names; enumerations stay text."""

from typing import ClassVar, TypeVar

import pydantic

from vigil.kind import transport
from vigil.model import failures


class Raw(pydantic.BaseModel):
    """The base: unknown fields are ignored and types are not converted."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="ignore", frozen=True, strict=True)


class Repository(Raw):
    """The repository of a run."""

    node_id: str
    full_name: str = ""


class Run(Raw):
    """A run of a workflow."""

    id: int
    node_id: str
    name: str | None = None
    path: str = ""
    head_branch: str | None
    head_sha: str
    run_attempt: int = 1
    run_started_at: str = ""
    status: str | None
    conclusion: str | None
    workflow_id: int
    html_url: str
    repository: Repository


class Job(Raw):
    """A job of a run."""

    id: int
    name: str
    status: str
    conclusion: str | None
    html_url: str | None = None


Model = TypeVar("Model", bound=pydantic.BaseModel)


def parse(model: type[Model], value: object, what: str) -> Model:
    """The object as that model; raises ReadError `malformed` with the path of the first field that is wrong."""
    try:
        return model.model_validate(value)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        path = ".".join(str(part) for part in first["loc"]) or "it"
        message = f"{what} is not what GitHub documents: {path}: {first['msg']}"
        raise transport.ReadError(failures.Failure(failures.Category.MALFORMED, message)) from error
