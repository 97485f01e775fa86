"""Who bears a ServiceAccount token, by a TokenReview of the API server."""

import collections
import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any, Final

from vigil import ports
from vigil.adapters.kube import client, errors
from vigil.model import failures, ids

AUDIENCE: Final = "vigil"
CACHE: Final[ids.Seconds] = 30.0
"""A token that is revoked (its pod or its ServiceAccount is deleted) is good for this long at most."""
REFUSAL_CACHE: Final[ids.Seconds] = 5.0
REMEMBERED: Final = 1000
MAX_TOKEN: Final = 16 * 1024
TIMEOUT: Final[ids.Seconds] = 10.0

_PATH: Final = client.path("apis", "authentication.k8s.io", "v1", "tokenreviews")
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


@dataclasses.dataclass(frozen=True, slots=True)
class Bearer:
    """Whom the API server knows the token's bearer as: `namespace` and `service_account` are empty for others."""

    username: str
    namespace: str = ""
    service_account: str = ""


class TokenReviewer:
    """Asks about tokens for one audience; what was found is remembered for a while, under a digest of the token."""

    def __init__(
        self, api: client.ApiClient, clock: ports.Clock, audience: str = AUDIENCE, cache: ids.Seconds = CACHE
    ) -> None:
        self._api = api
        self._clock = clock
        self._audience = audience
        self._cache = cache
        self._known: collections.OrderedDict[bytes, tuple[Bearer | None, ids.Seconds]] = collections.OrderedDict()

    async def review(self, token: str) -> Bearer | failures.Failure | None:
        """Who bears it; None when nobody does, or for another audience; a Failure when that cannot be found out now."""
        if not token or len(token) > MAX_TOKEN:
            return None
        name, now = hashlib.sha256(token.encode(errors="replace")).digest(), self._clock.monotonic()
        known = self._known.get(name)
        if known is not None and now < known[1]:
            return known[0]
        try:
            found = await self._asked(token)
        except errors.ApiError as error:
            return _failure(error)
        self._remember(name, found, now)
        return found

    async def _asked(self, token: str) -> Bearer | None:
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token, "audiences": [self._audience]},
        }
        answer = await self._api.request("POST", _PATH, body=body, timeout=TIMEOUT)
        status: Mapping[str, Any] = answer.get("status") or {}
        # An authenticator that knows nothing of audiences names none: such a token is for the API server, not for us.
        if status.get("authenticated") is not True or self._audience not in (status.get("audiences") or ()):
            return None
        user: Mapping[str, Any] = status.get("user") or {}
        return _bearer(str(user.get("username", "")))

    def _remember(self, name: bytes, found: Bearer | None, now: ids.Seconds) -> None:
        lasts = min(self._cache, REFUSAL_CACHE) if found is None else self._cache
        self._known.pop(name, None)
        self._known[name] = (found, now + lasts)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def _bearer(username: str) -> Bearer | None:
    if not username.startswith(_SERVICE_ACCOUNT):
        return Bearer(username) if username else None
    namespace, _, name = username.removeprefix(_SERVICE_ACCOUNT).partition(":")
    return Bearer(username, namespace, name)


def _failure(error: errors.ApiError) -> failures.Failure:
    """It is ours, and nothing about the token: a permission that is missing does not make its bearer a stranger."""
    message = f"the token could not be reviewed: {error.message}"
    return failures.Failure(error.failure.category, message, error.retry_after)
