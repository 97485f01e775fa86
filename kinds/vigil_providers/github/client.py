"""One client for GraphQL and REST: gidgethub's, with every request of it through the guarded transport.

gidgethub's own adapter for aiohttp would open connections that no guard has checked and would follow redirects with
the credential; here it writes the requests and reads the answers, and the transport sends them.
"""

import asyncio
import collections
import dataclasses
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, TypeAlias, cast

import gidgethub
from gidgethub import abc as gidgethub_abc
from gidgethub import sansio

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_providers.github import errors, names, times, values

MAX_BYTES: Final = 32 * 1024 * 1024
"""Bytes of one answer: 25 pull requests with a hundred checks, threads and comments each."""

REMEMBERED: Final = 2000
"""Answers with an ETag that one client keeps."""

_SET_BY_THE_TRANSPORT: Final = frozenset({"content-length", "user-agent"})

Cached: TypeAlias = tuple[str | None, str | None, Any, str | None]


class Etags(MutableMapping[str, Cached]):
    """What gidgethub keeps of answers, for one credential alone, since an ETag is a credential's own.

    Dates are not kept: asked by If-Modified-Since, GitHub says "not modified" of what it said 404 to before.
    """

    def __init__(self) -> None:
        self._kept: collections.OrderedDict[str, Cached] = collections.OrderedDict()

    def __getitem__(self, url: str) -> Cached:
        self._kept.move_to_end(url)
        return self._kept[url]

    def __setitem__(self, url: str, value: Cached) -> None:
        etag, _, data, more = value
        if etag is None:
            self._kept.pop(url, None)
            return
        self._kept[url] = (etag, None, data, more)
        self._kept.move_to_end(url)
        while len(self._kept) > REMEMBERED:
            self._kept.popitem(last=False)

    def __delitem__(self, url: str) -> None:
        del self._kept[url]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


@dataclasses.dataclass(frozen=True, slots=True)
class GraphError:
    """One entry of `errors`: where in the answer (names and indexes, empty for the whole) and what it means."""

    path: tuple[str | int, ...]
    failure: failures.Failure


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A GraphQL answer with what of it could not be had; `data` is empty where GitHub gave none."""

    data: Mapping[str, Any]
    errors: tuple[GraphError, ...] = ()


@dataclasses.dataclass(slots=True)
class Allowance:
    """How many requests one read may still send."""

    requests: int

    def spend(self) -> None:
        """Take one request. Raises ReadError, `transient`, when none is left: the rest comes with the next read."""
        if self.requests <= 0:
            raise transport.ReadError(NO_REQUEST)
        self.requests -= 1


NO_REQUEST: Final = failures.Failure(
    failures.Category.TRANSIENT, "the requests that one read may send were used up before this one"
)


class Client(gidgethub_abc.GitHubAPI):
    """GitHub for one read: its host, the time of the read, and seconds that one request may take."""

    def __init__(
        self,
        through: transport.Transport,
        *,
        host: str,
        now: ids.Instant,
        timeout: ids.Seconds,
        meter: api.Meter = api.UNMETERED,
        etags: Etags | None = None,
        allowance: Allowance | None = None,
    ) -> None:
        super().__init__("vigil", cache=cast("Any", etags), base_url="")
        self._transport = through
        self._host = host
        self._now = now
        self._timeout = timeout
        self._meter = meter
        self._allowance = allowance
        self._headers: Mapping[str, str] = {}

    async def sleep(self, seconds: float) -> None:
        """Wait; no request here does, since a throttle is a failure of the read and the scheduler comes back."""
        await asyncio.sleep(seconds)

    async def query(self, text: str, variables: Mapping[str, Any]) -> Answer:
        """Ask GraphQL.

        Raises ReadError for an answer that is a failure as a whole; what failed in parts is in the Answer's errors.
        """
        try:
            data = await self.graphql(text, endpoint=names.graphql_path(self._host), **variables)
            return self._answered(data, [])
        except gidgethub.QueryError as error:
            response = cast("Mapping[str, Any]", error.response)
            return self._answered(response.get("data"), values.items(response.get("errors")))
        except (gidgethub.GraphQLException, LookupError, TypeError):
            # The last two are gidgethub's own, over errors that are not what GraphQL describes.
            raise errors.malformed("GitHub's answer holds neither data nor errors") from None

    async def get(self, path: str) -> Any:
        """Ask REST for the JSON at a path (of github.com's API) with its query; what has not changed costs nothing.

        Raises ReadError.
        """
        try:
            return await self.getitem(names.rest_path(self._host, path))
        except gidgethub.GitHubException:
            raise errors.malformed("GitHub's answer is not what a request of this kind gets") from None

    async def exchanged(self, path: str, token: str) -> Any:
        """Give an app's signed token for what a path hands out. Raises ReadError."""
        try:
            return await super().post(names.rest_path(self._host, path), data={}, jwt=token)
        except gidgethub.GitHubException:
            raise errors.malformed("GitHub's answer is not what a request of this kind gets") from None

    async def _request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Mapping[str, str], bytes]:
        sent = {name: value for name, value in headers.items() if name.lower() not in _SET_BY_THE_TRANSPORT}
        response = await self._send(method, url, sent, body)
        if response.status == 304 and "if-none-match" not in sent:
            # A cache in between answers for somebody else: asked past it, it has to give the whole.
            response = await self._send(method, url, {**sent, "cache-control": "no-cache"}, body)
            if response.status == 304:
                raise errors.malformed("GitHub says that nothing changed, which was not asked")
        refused = errors.of_response(response, self._host, self._now)
        if refused is not None:
            raise transport.ReadError(refused)
        if response.body:
            errors.parsed(response.body)
        return response.status, response.headers, response.body

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> transport.Response:
        if self._allowance is not None:
            self._allowance.spend()
        response = await self._transport.request(
            method, url, timeout=self._timeout, headers=headers, body=body or None, max_bytes=MAX_BYTES
        )
        self._headers = response.headers
        quota = _of_headers(response)
        if quota is not None:
            self._meter.report(quota)
        return response

    def _answered(self, told: Any, listed: Sequence[Any]) -> Answer:
        data = values.mapping(told)
        found = tuple(self._error(entry) for one in listed if (entry := values.mapping(one)) is not None)
        whole = next((one for one in found if not one.path or data is None), None)
        throttle = next((one for one in found if one.failure.category is failures.Category.THROTTLED), None)
        refused = throttle or whole
        if refused is not None:
            raise transport.ReadError(refused.failure)
        if data is None:
            raise errors.malformed("GitHub's answer holds no data and says no reason")
        self._metered(values.mapping(data.get("rateLimit")) or {})
        return Answer(data, found)

    def _error(self, entry: Mapping[str, Any]) -> GraphError:
        return GraphError(
            tuple(values.items(entry.get("path"))), errors.of_graphql(entry, self._headers, self._host, self._now)
        )

    def _metered(self, told: Mapping[str, Any]) -> None:
        limit, left, cost = told.get("limit"), told.get("remaining"), told.get("cost")
        until = times.instant(str(told.get("resetAt")))
        if isinstance(limit, int) and isinstance(left, int) and until is not None:
            self._meter.report(api.Quota("graphql", limit, left, until, float(cost) if isinstance(cost, int) else 1.0))


def _of_headers(response: transport.Response) -> api.Quota | None:
    """What the headers say of a REST allowance; a GraphQL answer says it more fully itself."""
    resource = response.headers.get("x-ratelimit-resource", "core")
    if resource == "graphql":
        return None
    try:
        told = sansio.RateLimit.from_http(response.headers)
    except (ValueError, OverflowError):
        return None
    if told is None:
        return None
    cost = 0.0 if response.status == 304 else 1.0
    return api.Quota(resource, told.limit, told.remaining, told.reset_datetime.timestamp(), cost)
