"""Signing in as an app: what the Secret may hold, what is sent, and what comes back."""

import json
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.adapters import http_servers
from vigil.adapters.http import bound
from vigil.kind import api, transport
from vigil.model import failures
from vigil_providers.github import app

NOW = 1_772_360_000.0
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
).decode()
GRANTED = {"token": "ghs_installation", "expires_at": "2026-03-01T11:13:20Z"}


def secret(**changed: Any) -> str:
    """What the Secret holds."""
    return json.dumps({"appId": 7, "installationId": 99, "privateKey": PEM, **changed})


async def exchanged(of: str, site: http_servers.Site) -> api.Grant:
    """The grant for a secret."""
    async with http_servers.guarded() as guarded:
        through = bound.BoundTransport(guarded, site.url)
        return await app.AppSignIn().exchange(of, f"127.0.0.1:{site.port}", through, NOW, 5)


def giving(body: Any, status: int = 201) -> http_servers.Handler:
    """A handler that gives this answer."""

    async def handler(_request: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    return handler


async def test_the_key_signs_for_the_app_and_is_not_sent_itself() -> None:
    async with http_servers.serving(giving(GRANTED)) as site:
        grant = await exchanged(secret(), site)
    assert grant == api.Grant("Bearer ghs_installation", 1772363600.0)
    (request,) = site.requests
    assert (request.method, request.path) == ("POST", "/api/v3/app/installations/99/access_tokens")
    scheme, _, signed = request.headers["authorization"].partition(" ")
    claims = jwt.decode(
        signed, KEY.public_key(), algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
    )
    assert scheme.lower() == "bearer"
    assert claims == {"iat": int(NOW) - 60, "exp": int(NOW) + 540, "iss": "7"}
    assert "PRIVATE" not in f"{request.headers}{site.bodies[0]!r}"


@pytest.mark.parametrize(
    ("of", "sentence"),
    [
        (PEM, "a private key alone"),
        ("{", "begins like JSON and is none"),
        ("{}", "appId: Field required"),
        (secret(installationId="x"), "installationId: "),
        (secret(installationId=0), "installationId: "),
        (secret(privateKey="none"), "privateKey is no RSA key"),
        (secret(extra=1), "extra: "),
    ],
)
async def test_a_document_that_is_none_is_refused_in_words_before_anything_is_sent(of: str, sentence: str) -> None:
    async with http_servers.serving(giving(GRANTED)) as site:
        with pytest.raises(transport.ReadError, match=sentence) as raised:
            await exchanged(of, site)
    assert raised.value.failure.category is failures.Category.CONFIG
    assert "BEGIN" not in raised.value.failure.message
    assert site.requests == []


@pytest.mark.parametrize(
    ("body", "status", "category"),
    [
        ({"message": "A JSON web token could not be decoded"}, 401, failures.Category.AUTH),
        ({"message": "Not Found"}, 404, failures.Category.NOT_FOUND),
        ({"message": "This installation has been suspended"}, 403, failures.Category.FORBIDDEN),
        ({"message": "No"}, 502, failures.Category.TRANSIENT),
        ({}, 201, failures.Category.MALFORMED),
        ({"token": "ghs_x", "expires_at": "2026-03-01T09:00:00Z"}, 201, failures.Category.MALFORMED),
        ([], 201, failures.Category.MALFORMED),
    ],
)
async def test_what_github_refuses_is_the_failure_of_the_read(
    body: Any, status: int, category: failures.Category
) -> None:
    async with http_servers.serving(giving(body, status)) as site:
        with pytest.raises(transport.ReadError) as raised:
            await exchanged(secret(), site)
    assert raised.value.failure.category is category


@pytest.mark.parametrize(("of", "recognised"), [(secret(), True), (PEM, True), ("ghp_token", False), ("a\nb", False)])
def test_a_token_is_sent_as_it_is(of: str, recognised: bool) -> None:
    assert app.AppSignIn().recognises(of) is recognised


def test_nothing_secret_is_shown() -> None:
    shown = repr(app.AppKey.model_validate_json(secret()))
    assert "BEGIN" not in shown
    assert "ghs_" not in repr(api.Grant("Bearer ghs_x", NOW))
