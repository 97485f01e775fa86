"""Secrets of a Watch's own namespace: read one by one with `get`, remembered for a while, never listed."""

import base64
import binascii
import collections
import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from vigil import ports
from vigil.adapters.http import tokens
from vigil.adapters.kube import client, errors
from vigil.model import failures, ids, wakes

ALLOWED_HOSTS: Final = "vigil.dev/allowed-hosts"
CACHE: Final[ids.Seconds] = 60.0
FAILURE_CACHE: Final[ids.Seconds] = 10.0
"""A Secret that cannot be read is asked for again this soon: somebody may just be making it."""
REMEMBERED: Final = 1000
MAX_HOSTS: Final = 100
TIMEOUT: Final[ids.Seconds] = 10.0


@dataclasses.dataclass(frozen=True, slots=True)
class _Secret:
    """What of a Secret is kept: its values as they are written, base64, and the hosts that may see them."""

    data: Mapping[str, str] = dataclasses.field(repr=False)
    allowed_hosts: frozenset[str]


class Secrets:
    """The Secrets that Watches name; also what `sidecar.notify.Secrets` asks for."""

    def __init__(self, api: client.ApiClient, clock: ports.Clock, cache: ids.Seconds = CACHE) -> None:
        self._api = api
        self._clock = clock
        self._cache = cache
        self._read: collections.OrderedDict[tuple[str, str], tuple[_Secret | failures.Failure, ids.Seconds]] = (
            collections.OrderedDict()
        )

    async def read(self, namespace: str, source: wakes.SecretKey) -> str | failures.Failure:
        """The value of a key without white space around it, or why it cannot be read."""
        found = await self.token(namespace, source)
        return found if isinstance(found, failures.Failure) else found.value

    async def token(
        self, namespace: str, source: wakes.SecretKey, *, fresh: bool = False
    ) -> tokens.Token | failures.Failure:
        """The value of a key with the hosts that may see it; `fresh` reads it past the memory. Never raises.

        The Failure is `config` (no such Secret or key, or no text in it), `forbidden`, or one that heals.
        """
        place = f"the Secret {namespace}/{source.name}"
        secret = await self._secret(namespace, source.name, place, fresh=fresh)
        if isinstance(secret, failures.Failure):
            return secret
        written = secret.data.get(source.key)
        if written is None:
            return _config(f"{place} has no key {source.key}")
        value = _text(written)
        if not value:
            return _config(f"the key {source.key} of {place} {'is empty' if value == '' else 'is no text'}")
        return tokens.Token(place, value, secret.allowed_hosts)

    async def _secret(self, namespace: str, name: str, place: str, *, fresh: bool) -> _Secret | failures.Failure:
        key, now = (namespace, name), self._clock.monotonic()
        known = self._read.get(key)
        if known is not None and not fresh and now < known[1]:
            return known[0]
        found = await self._get(namespace, name, place)
        lasts = min(self._cache, FAILURE_CACHE) if isinstance(found, failures.Failure) else self._cache
        self._read.pop(key, None)
        self._read[key] = (found, now + lasts)
        while len(self._read) > REMEMBERED:
            self._read.popitem(last=False)
        return found

    async def _get(self, namespace: str, name: str, place: str) -> _Secret | failures.Failure:
        path = client.path("api", "v1", "namespaces", namespace, "secrets", name)
        try:
            found = await self._api.request("GET", path, timeout=TIMEOUT)
        except errors.NotFoundError:
            return _config(f"there is no Secret {namespace}/{name}")
        except errors.ApiError as error:
            return _failure(error, place)
        return _Secret(found.get("data") or {}, _hosts(found["metadata"].get("annotations") or {}))


def _hosts(annotations: Mapping[str, Any]) -> frozenset[str]:
    named = str(annotations.get(ALLOWED_HOSTS, "")).split(",")[:MAX_HOSTS]
    return frozenset(host for name in named if (host := name.strip().lower()))


def _text(written: str) -> str | None:
    try:
        return base64.b64decode(written).decode().strip()
    except (binascii.Error, UnicodeDecodeError):
        return None


def _config(sentence: str) -> failures.Failure:
    return failures.Failure(failures.Category.CONFIG, sentence)


def _failure(error: errors.ApiError, place: str) -> failures.Failure:
    """The operator's own failure: it is never the Watch's `auth`, which only its Secret could heal."""
    if error.failure.category is failures.Category.FORBIDDEN:
        return failures.Failure(
            failures.Category.FORBIDDEN, f"{place} may not be read by the operator: {error.message}"
        )
    category = failures.Category.TRANSIENT if not error.failure.heals else error.failure.category
    if category is failures.Category.THROTTLED:
        # A throttle would hold the provider's whole group, and it is the API server that asks for the pause.
        category = failures.Category.TRANSIENT
    return failures.Failure(category, f"{place} could not be read: {error.message}", error.retry_after)
