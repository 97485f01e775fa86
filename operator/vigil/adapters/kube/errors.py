"""What a request to the API server can end in, each with the Failure that it is.

ApiError                     anything else: a redirect, a status of no class below, an answer that is not JSON
├── ConfigurationError       nothing was asked: no usable kubeconfig, or not in a pod
├── UnreachableError         no whole answer: no connection, TLS, too slow, too large
├── DeniedError              401, 403
├── NotFoundError            404
├── ConflictError            409: another version is stored, or the name is taken
├── ExpiredError             410: the version or the page that was asked for is forgotten
├── InvalidError             400, 413, 422
├── ThrottledError           429
└── UnavailableError         5xx
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from vigil.kind import transport
from vigil.model import failures, ids


class ApiError(Exception):
    """A request failed: `status` is that of HTTP, 0 without an answer, `reason` the API server's own word for it."""

    def __init__(self, failure: failures.Failure, status: int = 0, reason: str = "") -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.status = status
        self.reason = reason

    @property
    def message(self) -> str:
        """What failed and why, in one bounded line for people."""
        return self.failure.message

    @property
    def retry_after(self) -> ids.Seconds | None:
        """How long the API server asks to be left alone."""
        return self.failure.retry_after


class ConfigurationError(ApiError):
    """It is not known which API server is meant, or as whom to ask it."""

    def __init__(self, message: str) -> None:
        super().__init__(failures.Failure(failures.Category.CONFIG, message))


class UnreachableError(ApiError):
    """No whole answer came: it is not known whether the request was carried out."""


class DeniedError(ApiError):
    """The API server does not know who asks, or does not allow it."""


class NotFoundError(ApiError):
    """There is no such object, or no such resource."""


class ConflictError(ApiError):
    """Another version of the object is stored, or one of this name already is."""


class ExpiredError(ApiError):
    """What was asked for is too old: it has to be listed anew."""


class InvalidError(ApiError):
    """The API server does not accept what was sent."""


class ThrottledError(ApiError):
    """Too many requests; `retry_after` says for how long to wait."""


class UnavailableError(ApiError):
    """The API server, or what it depends on, failed."""


_OF_STATUS: Final[Mapping[int, tuple[type[ApiError], failures.Category]]] = {
    400: (InvalidError, failures.Category.CONFIG),
    401: (DeniedError, failures.Category.AUTH),
    403: (DeniedError, failures.Category.FORBIDDEN),
    404: (NotFoundError, failures.Category.NOT_FOUND),
    408: (UnavailableError, failures.Category.TIMEOUT),
    409: (ConflictError, failures.Category.TRANSIENT),
    410: (ExpiredError, failures.Category.TRANSIENT),
    413: (InvalidError, failures.Category.TOO_LARGE),
    422: (InvalidError, failures.Category.CONFIG),
    429: (ThrottledError, failures.Category.THROTTLED),
    504: (UnavailableError, failures.Category.TIMEOUT),
}
_SERVER: Final = (UnavailableError, failures.Category.TRANSIENT)
_OTHER: Final = (ApiError, failures.Category.UNKNOWN)


def decoded(response: transport.Response, what: str) -> Any:
    """The JSON of a success; raises the ApiError that any other answer is. `what` names the request for people."""
    content = _json(response.body)
    if not 200 <= response.status < 300:
        raise _refusal(response, content, what)
    if content is None:
        failure = failures.Failure(failures.Category.MALFORMED, f"{what} was not answered with a JSON object")
        raise ApiError(failure, response.status)
    return content


def _refusal(response: transport.Response, status: Mapping[str, Any] | None, what: str) -> ApiError:
    kind, category = _OF_STATUS.get(response.status, _SERVER if response.status >= 500 else _OTHER)
    told = (status or {}).get("message")
    words = f": {told}" if isinstance(told, str) and told else ""
    message = f"{what} was answered with {response.status}{words}"
    failure = failures.Failure(category, message, _retry_after(response, status))
    reason = (status or {}).get("reason")
    return kind(failure, response.status, reason if isinstance(reason, str) else "")


def _json(body: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return cast(dict[str, Any], content) if isinstance(content, dict) else None


def _retry_after(response: transport.Response, status: Mapping[str, Any] | None) -> ids.Seconds | None:
    """Whole seconds in the header, and again in the details of the Status; never a date."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit() and len(value) <= 6:
        return float(value)
    details = (status or {}).get("details")
    seconds = cast(dict[str, Any], details).get("retryAfterSeconds") if isinstance(details, dict) else None
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else None
