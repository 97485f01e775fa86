"""What GitHub's refusals mean, as HTTP and inside of a GraphQL answer."""

import json
from typing import Any

import pytest

from vigil.kind import transport
from vigil.model import failures
from vigil_providers.github import errors

NOW = 1_772_360_000.0
HOST = "api.github.com"


def response(status: int, body: Any = None, **headers: str) -> transport.Response:
    """An answer of GitHub; header names with underscores for hyphens."""
    content = (
        body if isinstance(body, bytes) else json.dumps({"message": "It says so."} if body is None else body).encode()
    )
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return transport.Response(status, {"content-type": "application/json; charset=utf-8", **named}, content, "")


def failure(of: transport.Response) -> failures.Failure:
    """The failure that an answer stands for."""
    found = errors.of_response(of, HOST, NOW)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (401, failures.Category.AUTH),
        (403, failures.Category.FORBIDDEN),
        (404, failures.Category.NOT_FOUND),
        (410, failures.Category.NOT_FOUND),
        (451, failures.Category.FORBIDDEN),
        (301, failures.Category.MALFORMED),
        (500, failures.Category.TRANSIENT),
        (502, failures.Category.TRANSIENT),
        (504, failures.Category.TRANSIENT),
        (422, failures.Category.UNKNOWN),
        (418, failures.Category.UNKNOWN),
    ],
)
def test_a_status_has_its_category(status: int, category: failures.Category) -> None:
    assert failure(response(status)).category is category


@pytest.mark.parametrize("status", [200, 201])
def test_an_answer_that_is_json_is_read(status: int) -> None:
    assert errors.of_response(response(status, {}), HOST, NOW) is None


def test_a_304_is_for_whoever_asked_for_it() -> None:
    assert errors.of_response(response(304, b""), HOST, NOW) is None


@pytest.mark.parametrize(
    ("of", "wait"),
    [
        # A secondary limit, while there is quota left.
        (response(403, retry_after="30", x_ratelimit_remaining="4711"), 30.0),
        (response(429, retry_after="7"), 7.0),
        (response(429), errors.SECONDARY_WAIT),
        (response(403, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) + 900)), 900.0),
        (response(403, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) - 5)), 1.0),
        (response(403, {"message": "You have exceeded a secondary rate limit."}), errors.SECONDARY_WAIT),
        (response(403, {"message": "You have triggered an abuse detection mechanism."}), errors.SECONDARY_WAIT),
        (response(403, retry_after="999999999"), errors.LONGEST_WAIT),
        (response(403, {"message": "API rate limit exceeded for 203.0.113.9."}, retry_after="soon"), 60.0),
    ],
)
def test_too_often_is_a_throttle_and_says_for_how_long(of: transport.Response, wait: float) -> None:
    found = failure(of)
    assert (found.category, found.retry_after) == (failures.Category.THROTTLED, wait)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://github.com/orgs/acme/sso?authorization_request=abc", True),
        ("http://github.com/orgs/acme/sso", False),
        ("https://evil.example/x", False),
        ("https://github.com@evil.example/x", False),
        ("https://github.com.evil.example/x", False),
        ("https://evil.example\\@github.com/x", False),
        ("https://[", False),
    ],
)
def test_a_sign_on_page_is_shown_only_on_githubs_own_host(url: str, shown: bool) -> None:
    found = failure(response(403, x_github_sso=f"required; evil_url=https://evil.example/x; url={url}"))
    assert found.category is failures.Category.AUTH_SSO
    assert (url in found.message) == shown
    assert "evil.example" not in found.message


def test_single_sign_on_is_never_a_throttle() -> None:
    assert failure(response(403, x_github_sso="required", retry_after="30")).category is failures.Category.AUTH_SSO


@pytest.mark.parametrize("body", [b"", b"<html><title>Sign in</title></html>"])
def test_a_200_without_json_is_malformed(body: bytes) -> None:
    kind = "text/html" if body else "application/json"
    found = failure(transport.Response(200, {"content-type": kind}, body, ""))
    assert found.category is failures.Category.MALFORMED
    assert "<" not in found.message


def test_the_message_holds_githubs_own_words_and_no_token() -> None:
    found = failure(response(403, {"message": "No:\nghp_0123456789abcdefABCDEF may not.\x1b[0m"}))
    assert "ghp_" not in found.message
    assert "\n" not in found.message
    assert "\x1b" not in found.message
    assert "may not" in found.message


def graphql(error: dict[str, Any], **headers: str) -> failures.Failure:
    """The failure of one entry of `errors`."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return errors.of_graphql(error, named, HOST, NOW)


@pytest.mark.parametrize(
    ("error", "category"),
    [
        ({"type": "NOT_FOUND", "message": "Could not resolve to a Repository."}, failures.Category.NOT_FOUND),
        ({"type": "FORBIDDEN", "message": "Resource not accessible by integration"}, failures.Category.FORBIDDEN),
        ({"type": "INSUFFICIENT_SCOPES", "message": "Your token has not been granted"}, failures.Category.FORBIDDEN),
        ({"type": "FORBIDDEN", "extensions": {"saml_failure": True}}, failures.Category.AUTH_SSO),
        ({"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "Too many."}, failures.Category.TOO_LARGE),
        ({"message": "Something went wrong while executing your query."}, failures.Category.TRANSIENT),
        ({"type": "SERVICE_UNAVAILABLE", "message": "Not now."}, failures.Category.TRANSIENT),
        ({"extensions": {"code": "undefinedField"}, "message": "Field 'x' doesn't exist"}, failures.Category.CONFIG),
        ({"message": "You have exceeded a secondary rate limit."}, failures.Category.THROTTLED),
        ({}, failures.Category.TRANSIENT),
    ],
)
def test_an_error_of_graphql_has_its_category(error: dict[str, Any], category: failures.Category) -> None:
    assert graphql(error).category is category


def test_a_limit_inside_of_a_200_lasts_until_its_reset() -> None:
    error = {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}
    found = graphql(error, x_ratelimit_remaining="0", x_ratelimit_reset=str(int(NOW) + 400))
    assert (found.category, found.retry_after) == (failures.Category.THROTTLED, 400.0)
