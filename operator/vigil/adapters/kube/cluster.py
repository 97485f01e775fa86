"""The API server of the operator's own cluster as a kind's transport: read only, and no Secrets."""

import re
import urllib.parse
from collections.abc import Mapping
from typing import Final

from vigil.adapters.http import errors as http_errors
from vigil.adapters.kube import client
from vigil.kind import transport
from vigil.model import failures, ids

ACCOUNT: Final = "cluster"
SERVICE: Final = "kubernetes.default.svc"
"""The name of the API server inside its cluster; a URL that names it means the one that is bound."""

_METHODS: Final = frozenset({"GET", "HEAD"})
_SECRETS: Final = re.compile(r"/+api/+v1/+(watch/+)?(namespaces/+[^/]+/+)?secrets(/.*)?", re.DOTALL)


class ClusterTransport:
    """vigil.kind.transport.Transport over the operator's own client and identity.

    It takes GET and HEAD only: a POST, which is a query elsewhere, makes an object here. It asks for no Secret, which
    this identity may read for another purpose.
    """

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: ids.Seconds,  # noqa: ASYNC109 - it bounds the whole exchange
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """Send one request and give the whole answer, whatever its status; a redirect is an answer like any."""
        target = self._target(url)
        if method not in _METHODS or body is not None:
            raise _refused(method, "a probe of the cluster only reads: GET or HEAD, without a body")
        path = urllib.parse.unquote(target.partition("?")[0])
        if _SECRETS.fullmatch(path) or "/../" in f"{path}/" or "/./" in f"{path}/":
            raise _refused(method, "a probe reads no Secrets, and a path has no dots for a segment")
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if sent.keys() & {"authorization", "cookie"} or any(name.startswith("impersonate") for name in sent):
            raise _refused(method, "a probe asks as the operator, and as nobody else")
        return await self._api.exchange(method, target, timeout=timeout, headers=sent, max_bytes=max_bytes)

    def _target(self, url: str) -> str:
        for base in ("", self._api.base, f"https://{SERVICE}"):
            rest = url.removeprefix(base)
            if url.startswith(base) and rest.startswith("/"):
                return rest.partition("#")[0]
        raise _refused("the request", "a probe of the cluster reaches its API server, and nothing else")


def _refused(method: str, sentence: str) -> transport.ReadError:
    return http_errors.error(failures.Category.CONFIG, method, sentence)
