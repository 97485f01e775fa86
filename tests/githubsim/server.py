"""The server: one request in, GitHub's answer out, over HTTP or handed in directly."""

import contextlib
import dataclasses
import functools
import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import graphql
from aiohttp import test_utils, web

from tests.githubsim import faults, graph, limits, openapi, rest, times, worlds
from vigil.kind import transport

LIMIT = 5000
HOUR = 3600.0
GRAPHQL = "/graphql"
JSON = "application/json; charset=utf-8"


class Clock:
    """The server's clock: it stands still until it is set."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        """The time, seconds since the epoch."""
        return self._now

    def set(self, now: float) -> None:
        """Make it this time."""
        self._now = now

    def advance(self, by: float) -> None:
        """Let so many seconds pass."""
        self._now += by


@dataclasses.dataclass(frozen=True)
class Record:
    """One request: what was asked, by whom (a digest), and what it cost."""

    method: str
    path: str
    operation: str
    subjects: int
    token: str
    status: int
    cost: int


@dataclasses.dataclass(frozen=True)
class Reply:
    """One answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclasses.dataclass
class _Spent:
    """What a token has used of the hour that began at `since`."""

    since: float
    points: int = 0


class GitHub:
    """A GitHub with a world in it."""

    def __init__(self, world: Mapping[str, Any]) -> None:
        self.clock = Clock(worlds.began(world))
        self.requests: list[Record] = []
        self.url = ""
        self._spent: dict[str, _Spent] = {}
        self.set_world(world)

    def set_world(self, world: Mapping[str, Any]) -> None:
        """Another world from now on; its faults begin anew, its clock is not looked at."""
        self._moments = worlds.moments(world)
        for _, one in self._moments:
            worlds.check(one, graph.schema())
        self._faults = faults.of(world)

    @property
    def world(self) -> Mapping[str, Any]:
        """The world at this time."""
        now = self.clock.now()
        return next((one for at, one in reversed(self._moments) if at <= now), self._moments[0][1])

    def points(self, token: str | None = None) -> int:
        """The points of GraphQL that were spent, in all or by one token."""
        digest = None if token is None else _digest(token)
        return sum(one.cost for one in self.requests if digest in {None, one.token})

    def transport(self, token: str = "token") -> "DirectTransport":
        """A transport that hands requests in directly, for tests in virtual time."""
        return DirectTransport(self, token)

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Answer one request; header names in lower case."""
        token = headers.get("authorization", "").partition(" ")[2]
        path = path.removeprefix("/api/v3").removeprefix("/api")
        if path != GRAPHQL or method != "POST":
            return self._rest(method, path, headers, token)
        known = self.world.get("tokens")
        if not token or (known is not None and token not in known):
            said = "Bad credentials" if token else "This endpoint requires you to be authenticated."
            return self._record(_json(401, {"message": said}), method, path, token)
        asked = json.loads(body)
        met = faults.matching(self._faults, path, asked["query"])
        if (refused := _refused(met, asked["query"])) is not None:
            return self._record(refused, method, path, token, asked)
        return self._graphql(asked, token, met)

    def _rest(self, method: str, path: str, headers: Mapping[str, str], token: str) -> Reply:
        met = faults.matching(self._faults, path.partition("?")[0], "")
        refused = _refused(met, "")
        known = self.world.get("tokens")
        if refused is not None:
            return self._record(refused, method, path, token)
        if token and known is not None and token not in known and not path.startswith("/app/"):
            return self._record(_json(401, {"message": "Bad credentials"}), method, path, token)
        limit = int((self.world.get("limits") or {}).get("core", LIMIT))
        spent = self._window(token, "core")
        if spent.points >= limit:
            reply = _json(403, {"message": "API rate limit exceeded"}, **self._rate(token, limit, "core"))
            return self._record(reply, method, path, token)
        scene = graph.Scene(self.world, self.clock.now(), {}, met, {}, self.url)
        try:
            found = rest.answer(scene, method, path, headers.get("authorization", ""))
        except openapi.AnswerError as error:
            return self._record(_json(500, {"message": f"not what GitHub describes: {error}"}), method, path, token)
        content = json.dumps(found.body).encode()
        etag = f'W/"{hashlib.sha256(token.encode() + content).hexdigest()}"'
        unchanged = found.status == 200 and headers.get("if-none-match") == etag
        spent.points += 0 if unchanged else 1
        rate = self._rate(token, limit, "core")
        if unchanged:
            return self._record(Reply(304, {"etag": etag, **rate}, b""), method, path, token)
        more = {**found.headers, **rate, **({"etag": etag} if found.status == 200 else {})}
        return self._record(Reply(found.status, {"content-type": JSON, **more}, content), method, path, token)

    def _graphql(self, asked: Mapping[str, Any], token: str, met: list[faults.Fault]) -> Reply:
        document, wrong = _parsed(asked["query"])
        if wrong:
            return self._record(_json(200, {"errors": wrong}), "POST", GRAPHQL, token, asked)
        weight = limits.weigh(graph.schema(), document, asked.get("variables") or {})
        if weight.refusals:
            said = [{"type": one.type, "message": one.message} for one in weight.refusals]
            return self._record(_json(200, {"errors": said}), "POST", GRAPHQL, token, asked)
        spent = self._window(token)
        limit = int((self.world.get("limits") or {}).get("graphql", LIMIT))
        if spent.points + weight.cost > limit:
            said = [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]
            return self._record(_json(200, {"errors": said}, **self._rate(token, limit)), "POST", GRAPHQL, token, asked)
        spent.points += weight.cost
        rate = {
            "cost": weight.cost,
            "limit": limit,
            "remaining": limit - spent.points,
            "used": spent.points,
            "resetAt": times.text(spent.since + HOUR),
            "nodeCount": weight.nodes,
        }
        answer = self._executed(document, asked, token, met, rate)
        if any(one.said.get("dropData") for one in met):
            answer = {"data": {}}
        return self._record(_json(200, answer, **self._rate(token, limit)), "POST", GRAPHQL, token, asked, weight.cost)

    def _executed(
        self,
        document: graphql.DocumentNode,
        asked: Mapping[str, Any],
        token: str,
        met: list[faults.Fault],
        rate: Mapping[str, Any],
    ) -> dict[str, Any]:
        world = self.world
        who = (world.get("tokens") or {}).get(token) or world.get("viewer") or {"login": "octocat"}
        result = graphql.execute_sync(
            graph.schema(),
            document,
            context_value=graph.Scene(world, self.clock.now(), who, met, rate),
            variable_values=dict(asked.get("variables") or {}),
            field_resolver=graph.resolve,
            type_resolver=graph.resolve_type,
        )
        answer: dict[str, Any] = {"data": result.data}
        if result.errors:
            answer["errors"] = [_error(one) for one in result.errors]
        return answer

    def _window(self, token: str, resource: str = "graphql") -> _Spent:
        now, digest = self.clock.now(), f"{_digest(token)} {resource}"
        spent = self._spent.setdefault(digest, _Spent(now))
        if now >= spent.since + HOUR:
            spent = self._spent[digest] = _Spent(now)
        return spent

    def _rate(self, token: str, limit: int, resource: str = "graphql") -> dict[str, str]:
        spent = self._window(token, resource)
        return {
            "x-ratelimit-limit": str(limit),
            "x-ratelimit-remaining": str(limit - spent.points),
            "x-ratelimit-used": str(spent.points),
            "x-ratelimit-reset": str(int(spent.since + HOUR)),
            "x-ratelimit-resource": resource,
        }

    def _record(
        self,
        reply: Reply,
        method: str,
        path: str,
        token: str,
        asked: Mapping[str, Any] | None = None,
        cost: int = 0,
    ) -> Reply:
        query = str((asked or {}).get("query", ""))
        named = re.match(r"\s*query (\w+)", query)
        who = _digest(token) if token else ""
        self.requests.append(Record(method, path, named[1] if named else "", _subjects(query), who, reply.status, cost))
        return reply


class DirectTransport:
    """vigil.kind.transport.Transport without a network."""

    def __init__(self, github: GitHub, token: str) -> None:
        self._github = github
        self._token = token

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: float,  # noqa: ASYNC109 - it is the contract of a transport
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """Hand one request in."""
        sent = {"authorization": f"Bearer {self._token}"} | {
            name.lower(): value for name, value in (headers or {}).items()
        }
        reply = self._github.handle(method, url, sent, body or b"")
        assert len(reply.body) <= max_bytes
        return transport.Response(reply.status, reply.headers, reply.body, url)


@contextlib.asynccontextmanager
async def serve(world: Mapping[str, Any], port: int = 0) -> AsyncIterator[GitHub]:
    """A GitHub on loopback."""
    github = GitHub(world)

    async def answer(request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        reply = github.handle(request.method, request.path_qs, headers, await request.read())
        return web.Response(status=reply.status, headers=reply.headers, body=reply.body)

    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{rest:.*}", answer)
    server = test_utils.TestServer(app, host="127.0.0.1", port=port or None)
    await server.start_server()
    github.url = f"http://127.0.0.1:{server.port}"
    try:
        yield github
    finally:
        await server.close()


@functools.lru_cache(maxsize=512)
def _parsed(query: str) -> tuple[graphql.DocumentNode, list[dict[str, Any]]]:
    """A query, and why GitHub would refuse it."""
    try:
        document = graphql.parse(query)
    except graphql.GraphQLSyntaxError as error:
        return graphql.DocumentNode(definitions=()), [{"message": error.message}]
    wrong = graphql.validate(graph.schema(), document)
    return document, [{"message": one.message, "extensions": {"code": "undefinedField"}} for one in wrong]


def _error(error: graphql.GraphQLError) -> dict[str, Any]:
    if error.original_error is not None and not isinstance(error.original_error, graphql.GraphQLError):
        raise error.original_error
    extensions = dict(error.extensions or {})
    kind = extensions.pop("type", None)
    said: dict[str, Any] = {"message": error.message, "path": list(error.path or [])}
    return said | ({"type": kind} if kind else {}) | ({"extensions": extensions} if extensions else {})


def _refused(met: list[faults.Fault], query: str) -> Reply | None:
    """The first fault that answers in GitHub's place."""
    aliases = _subjects(query)
    for one in met:
        if aliases > int(one.said.get("maxAliases", aliases)):
            return _json(502, {"message": "Bad Gateway"})
        if "status" in one.said:
            body = one.said.get("body", {"message": "No"})
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            kind = str(one.said.get("contentType") or ("text/html" if isinstance(body, str) else JSON))
            return Reply(int(one.said["status"]), {"content-type": kind, **(one.said.get("headers") or {})}, content)
    return None


def _json(status: int, body: Any, **headers: str) -> Reply:
    return Reply(status, {"content-type": JSON, **headers}, json.dumps(body).encode())


def _subjects(query: str) -> int:
    """How many repositories a query asks for under aliases of their own."""
    return len(set(re.findall(r"^ {2}(s\d+): repository\(", query, re.MULTILINE)))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()[:12]
