"""What GitHub's refusals mean, whether they come as an HTTP status or inside of a GraphQL answer.

GitHub says "too often" in five ways: 429; 403 or 429 with Retry-After; 403 with no requests left; 403 with a sentence
about a secondary limit; and 200 with an error of type RATE_LIMITED. All of them are `throttled` and never a fault.
"""

import json
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from vigil.kind import transport
from vigil.model import failures, ids
from vigil_providers.github import values

SECONDARY_WAIT: Final = 60.0
"""Seconds to wait after a secondary limit that names no time, as GitHub documents it."""

LONGEST_WAIT: Final = 2 * 3600.0
"""Seconds of a wait that are believed: GitHub's limits are by the minute and by the hour."""

_MESSAGE = 300
_SENTENCE: Final = re.compile(r"secondary rate limit|abuse detection|API rate limit exceeded", re.IGNORECASE)
_SECRET: Final = re.compile(r"\b(?:gh[a-z]_[A-Za-z0-9]{8,}|github_pat_\w{8,}|v1\.[0-9a-f]{20,})")
_BLANKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_SSO_URL: Final = re.compile(r"(?:^|;)\s*url=([^;\s]+)")


def of_response(response: transport.Response, host: str, now: ids.Instant) -> failures.Failure | None:
    """The failure that an answer as a whole stands for, or None for one whose content is to be read.

    `host` is whom the request was meant for, without a port: only its own sign-on page is shown to people.
    """
    status = response.status
    if status in {200, 201}:
        return _unreadable(response)
    if status == 304:
        return None
    message = _message(response)
    if status in {403, 429} and "x-github-sso" in response.headers:
        return sso(response.headers["x-github-sso"], host)
    if status == 429 or (status == 403 and _throttles(response.headers, message)):
        return throttled(f"GitHub answers {status}: {message}", response.headers, now)
    return _of_status(status, message)


def _of_status(status: int, message: str) -> failures.Failure:
    if status >= 500:
        return failures.Failure(failures.Category.TRANSIENT, f"GitHub answers {status}: it has a fault of its own")
    if 300 <= status < 400:
        return failures.Failure(failures.Category.MALFORMED, f"GitHub answers {status}, a redirect that leads nowhere")
    category = {
        401: failures.Category.AUTH,
        403: failures.Category.FORBIDDEN,
        404: failures.Category.NOT_FOUND,
        410: failures.Category.NOT_FOUND,
        451: failures.Category.FORBIDDEN,
    }.get(status, failures.Category.UNKNOWN)
    return failures.Failure(category, f"GitHub answers {status}: {message}{_HINTS.get(status, '')}")


_HINTS: Final[Mapping[int, str]] = {
    401: " (the token is wrong, revoked or has ended)",
    404: " (it is not there, or the credential may not see it)",
}


def throttled(message: str, headers: Mapping[str, str], now: ids.Instant) -> failures.Failure:
    """The throttle that these headers describe: until Retry-After, else until the reset of a limit that is used up."""
    return failures.Failure(failures.Category.THROTTLED, clean(message), _wait(headers, now))


def _wait(headers: Mapping[str, str], now: ids.Instant) -> ids.Seconds:
    after = _number(headers.get("retry-after"))
    if after is None and headers.get("x-ratelimit-remaining") == "0":
        reset = _number(headers.get("x-ratelimit-reset"))
        after = None if reset is None else reset - now
    return SECONDARY_WAIT if after is None else min(max(after, 1.0), LONGEST_WAIT)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"[0-9]{1,12}", text.strip()) else None


def _throttles(headers: Mapping[str, str], message: str) -> bool:
    return (
        "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0" or _SENTENCE.search(message) is not None
    )


def sso(header: str, host: str) -> failures.Failure:
    """What the header X-GitHub-SSO asks for; its URL is shown only where it is on GitHub's own host."""
    found = _SSO_URL.search(header.partition(";")[2])
    shown = f": authorize it at {found[1]}" if found and _is_own(found[1], host) else ""
    message = f"the organization asks for single sign-on, and the credential is not authorized for it{shown}"
    return failures.Failure(failures.Category.AUTH_SSO, message)


def _is_own(url: str, host: str) -> bool:
    try:
        read = urllib.parse.urlsplit(url)
        return read.scheme == "https" and read.netloc.lower() == host.removeprefix("api.") and "\\" not in url
    except ValueError:
        return False


def of_graphql(error: Mapping[str, Any], headers: Mapping[str, str], host: str, now: ids.Instant) -> failures.Failure:
    """The failure of one entry of `errors` in a GraphQL answer."""
    said = clean(str(error.get("message") or "it says no more"))
    details = values.mapping(error.get("extensions")) or {}
    kind = str(error.get("type") or details.get("code") or details.get("type") or "").upper()
    if kind == "RATE_LIMITED" or _SENTENCE.search(said):
        return throttled(f"GitHub says: {said}", headers, now)
    if details.get("saml_failure"):
        return sso(headers.get("x-github-sso", ""), host)
    category = _TYPES.get(kind)
    if category is None:
        category = failures.Category.CONFIG if _of_an_older_server(kind) else failures.Category.TRANSIENT
    return failures.Failure(category, f"GitHub says: {said}")


_TYPES: Final[Mapping[str, failures.Category]] = {
    "NOT_FOUND": failures.Category.NOT_FOUND,
    "FORBIDDEN": failures.Category.FORBIDDEN,
    "INSUFFICIENT_SCOPES": failures.Category.FORBIDDEN,
    "MAX_NODE_LIMIT_EXCEEDED": failures.Category.TOO_LARGE,
    "RESOURCE_LIMITS_EXCEEDED": failures.Category.TOO_LARGE,
    "EXCESSIVE_PAGINATION": failures.Category.CONFIG,
    "MISSING_PAGINATION_BOUNDARIES": failures.Category.CONFIG,
}


def _of_an_older_server(kind: str) -> bool:
    """Whether the server does not know a field or a type of the query, as an old GitHub Enterprise Server may not."""
    return kind in {"UNDEFINEDFIELD", "UNDEFINEDTYPE", "ARGUMENTNOTACCEPTED", "ARGUMENTLITERALSINCOMPATIBLE"}


def parsed(body: bytes) -> Mapping[str, Any] | Sequence[Any]:
    """The JSON of an answer. Raises ReadError, `malformed`."""
    try:
        read = json.loads(body)
    except (ValueError, RecursionError):
        raise malformed("GitHub's answer is no JSON") from None
    if not isinstance(read, dict | list):
        raise malformed("GitHub's answer is neither an object nor a list")
    return cast("Mapping[str, Any] | Sequence[Any]", read)


def malformed(sentence: str) -> transport.ReadError:
    """The error of an answer that is not what GitHub documents."""
    return transport.ReadError(failures.Failure(failures.Category.MALFORMED, sentence))


def clean(text: str) -> str:
    """Foreign text for a message: one line, bounded, without what looks like a token."""
    line = _SECRET.sub("(a token)", _BLANKS.sub(" ", text)).strip()
    return line if len(line) <= _MESSAGE else f"{line[: _MESSAGE - 1]}…"


def _unreadable(response: transport.Response) -> failures.Failure | None:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not response.body:
        return failures.Failure(failures.Category.MALFORMED, "GitHub's answer is empty")
    if kind and kind != "application/json" and not kind.endswith("+json"):
        excerpt = clean(re.sub(r"<[^>]*>", " ", response.body[:2000].decode("utf-8", "replace")))[:120]
        return failures.Failure(failures.Category.MALFORMED, f"GitHub's answer is {clean(kind)} and no JSON: {excerpt}")
    return None


def _message(response: transport.Response) -> str:
    try:
        read = json.loads(response.body)
    except (ValueError, RecursionError):
        return "it says no more"
    said = values.part(read, "message")
    return clean(said) if isinstance(said, str) and said.strip() else "it says no more"
