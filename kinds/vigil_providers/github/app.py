"""Signing in as a GitHub App: the Secret holds a private key, and what is sent is a token that ends after an hour."""

import json
from typing import Any, Final

import jwt
import pydantic

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_providers.github import client, times, values

BACKDATED: Final = 60
LASTS: Final = 540
"""Seconds of what the key signs: it is issued a little in the past, since clocks drift; GitHub takes 600 at most."""


class AppKey(api.Model):
    """What the Secret's key holds for an app, as JSON."""

    app_id: int | str = pydantic.Field(description="The App ID or the client ID.")
    installation_id: int = pydantic.Field(gt=0, description="The installation whose repositories are read.")
    private_key: str = pydantic.Field(min_length=1, repr=False, description="The private key, PEM.")


class AppSignIn:
    """vigil.kind.api.SignIn of a GitHub App."""

    def recognises(self, secret: str) -> bool:
        """Whether this is a document about an app, or the key alone that somebody took for one."""
        return secret.lstrip().startswith(("{", "-----BEGIN"))

    async def exchange(
        self,
        secret: str,
        host: str,
        through: transport.Transport,
        now: ids.Instant,
        timeout: ids.Seconds,  # noqa: ASYNC109 - the bound of the one request
    ) -> api.Grant:
        """A token of the installation. Raises ReadError: `config` for a document that is none, or as GitHub refuses."""
        key = _parsed(secret)
        github = client.Client(through, host=host, now=now, timeout=timeout)
        path = f"/app/installations/{key.installation_id}/access_tokens"
        answer = await github.exchanged(path, _signed(key, now))
        return _granted(answer, now)


def _parsed(secret: str) -> AppKey:
    if not secret.lstrip().startswith("{"):
        raise _config("it is a private key alone; an app needs JSON with appId, installationId and privateKey")
    try:
        return AppKey.model_validate(json.loads(secret))
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _config(f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}") from None
    except ValueError:
        raise _config("it begins like JSON and is none") from None


def _signed(key: AppKey, now: ids.Instant) -> str:
    claims = {"iat": int(now) - BACKDATED, "exp": int(now) + LASTS, "iss": str(key.app_id)}
    try:
        return jwt.encode(claims, key.private_key, algorithm="RS256")
    except (ValueError, TypeError, jwt.PyJWTError):
        raise _config("its privateKey is no RSA key in PEM") from None


def _granted(answer: Any, now: ids.Instant) -> api.Grant:
    fields = values.mapping(answer) or {}
    token, until = fields.get("token"), times.instant(str(fields.get("expires_at")))
    if not isinstance(token, str) or not token or until is None or until <= now:
        raise transport.ReadError(
            failures.Failure(failures.Category.MALFORMED, "GitHub's answer holds no token of the installation")
        )
    return api.Grant(f"Bearer {token}", until)


def _config(sentence: str) -> transport.ReadError:
    return transport.ReadError(failures.Failure(failures.Category.CONFIG, f"the credential of the app: {sentence}"))
