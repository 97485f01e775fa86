"""Why a request had no effect, as HTTP says it: one form of answer for every error."""

from collections.abc import Mapping
from typing import Any, Final

from vigil.api import wake as wire
from vigil.sidecar.store import port


class ProblemError(Exception):
    """Ends a request with this status and this answer."""

    def __init__(self, status: int, problem: wire.Problem) -> None:
        super().__init__(problem.message)
        self.status = status
        self.problem = problem


def problem(status: int, code: wire.ProblemCode, message: str) -> ProblemError:
    """An error that is about no wake."""
    return ProblemError(status, wire.Problem(code=code, message=message[:1000]))


def about(held: port.Held, code: wire.ProblemCode, message: str) -> ProblemError:
    """A conflict with a wake as the sidecar holds it."""
    return ProblemError(
        409, wire.Problem(code=code, message=message, state=held.state, sequence=held.sequence, wake=held.id)
    )


_TEXTS: Final[Mapping[int, str]] = {
    401: "No bearer token, or one that nobody bears.",
    403: "The bearer may not do this.",
    404: "It is not known.",
    409: "What is held stands in its way; nothing changed.",
    413: "The body is too long.",
    422: "The request is not valid.",
    503: "The sidecar cannot answer now; the request may be repeated.",
}

_ALWAYS: Final = (401, 403, 422, 503)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI says of the errors of a path."""
    return {status: {"model": wire.Problem, "description": _TEXTS[status]} for status in (*statuses, *_ALWAYS)}


def beside_text(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for a path that answers with text: with a model FastAPI would take the errors for text too."""
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"content": content, "description": _TEXTS[status]} for status in (*statuses, *_ALWAYS)}
