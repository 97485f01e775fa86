"""A small API server on loopback: lists only, with the real one's authentication, selectors, pages and errors."""

import asyncio
import contextlib
import dataclasses
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import aiohttp
import aiohttp.test_utils
from aiohttp import web

from vigil.kind import transport
from vigil.model import failures

TOKEN = "a-service-account-token"
SORTS = {
    "deployments": "Deployment",
    "statefulsets": "StatefulSet",
    "daemonsets": "DaemonSet",
    "jobs": "Job",
    "pods": "Pod",
}
PATHS = {
    "apps": "/apis/apps/v1",
    "batch": "/apis/batch/v1",
    "core": "/api/v1",
}
GROUPS = {"deployments": "apps", "statefulsets": "apps", "daemonsets": "apps", "jobs": "batch", "pods": "core"}


@dataclasses.dataclass(frozen=True)
class Request:
    """One request that was answered."""

    path: str
    query: Mapping[str, str]


class ApiServer:
    """What the tests may arrange and what they may look at."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.token = TOKEN
        self.forbidden: set[str] = set()
        self.unserved: set[str] = set()
        self.page_limit = 500
        self.expire_after: int | None = None
        """Expire every token that this many requests or more have passed."""
        self.broken: dict[str, list[web.Response]] = {}
        """Answers that come instead, by resource, the first one first."""
        self.hanging: set[str] = set()
        """Resources that are not answered."""
        self.cut: set[str] = set()
        """Resources whose next answer is cut off."""
        self._objects: dict[str, dict[tuple[str, str], Any]] = {resource: {} for resource in SORTS}
        self._stop = asyncio.Event()

    def put(self, resource: str, item: Mapping[str, Any]) -> None:
        """Store an object, or put it in the place of the one of its name."""
        metadata = item["metadata"]
        self._objects[resource][metadata["namespace"], metadata["name"]] = item

    def delete(self, resource: str, name: str, namespace: str = "team-a") -> None:
        """Delete an object."""
        del self._objects[resource][namespace, name]

    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator["LoopbackTransport"]:
        """Serve, and give a transport that is bound to the server and its token."""
        app = web.Application()
        app.router.add_get("/{prefix:apis/[a-z]+/v1|api/v1}/namespaces/{namespace}/{resource}", self._list)
        async with aiohttp.test_utils.TestServer(app) as server, aiohttp.ClientSession() as session:
            yield LoopbackTransport(session, str(server.make_url("/")).rstrip("/"))
            self._stop.set()

    async def _list(self, request: web.Request) -> web.StreamResponse:
        namespace, resource = request.match_info["namespace"], request.match_info["resource"]
        query = dict(request.query)
        self.requests.append(Request(request.path, query))
        refusal = await self._refuse(request, namespace, resource)
        answer = refusal if refusal is not None else self._page(namespace, resource, query)
        if resource in self.cut:
            self.cut.discard(resource)
            return await _half(request, answer)
        return answer

    async def _refuse(self, request: web.Request, namespace: str, resource: str) -> web.Response | None:
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            return status(401, "Unauthorized", "Unauthorized")
        if request.path != f"{PATHS[GROUPS.get(resource, 'core')]}/namespaces/{namespace}/{resource}":
            return web.Response(status=404, text="404 page not found\n", content_type="text/plain")
        if resource in self.unserved:
            return status(404, "NotFound", "the server could not find the requested resource")
        if resource in self.forbidden:
            who = 'User "system:serviceaccount:vigil:vigil" cannot list resource'
            return status(
                403, "Forbidden", f'{resource} is forbidden: {who} "{resource}" in the namespace "{namespace}"'
            )
        if resource in self.hanging:
            await self._stop.wait()
        return self.broken[resource].pop(0) if self.broken.get(resource) else None

    def _page(self, namespace: str, resource: str, query: Mapping[str, str]) -> web.Response:
        if set(query) - {"limit", "continue", "fieldSelector", "labelSelector"}:
            return status(400, "BadRequest", f"unexpected parameters: {sorted(query)}")
        try:
            items = [item for item in self._in(namespace, resource) if _selected(item, query)]
        except ValueError as error:
            return status(400, "BadRequest", str(error))
        start = 0
        if "continue" in query:
            start, asked_at = json.loads(query["continue"])
            if self.expire_after is not None and len(self.requests) - asked_at >= self.expire_after:
                return status(410, "Expired", "The provided continue parameter is too old")
        end = start + min(int(query.get("limit", 0)) or len(items), self.page_limit)
        metadata: dict[str, Any] = {"resourceVersion": "4711"}
        if end < len(items):
            metadata |= {"continue": json.dumps([end, len(self.requests)]), "remainingItemCount": len(items) - end}
        return web.json_response(
            {
                "kind": f"{SORTS[resource]}List",
                "apiVersion": PATHS[GROUPS[resource]].removeprefix("/apis/").removeprefix("/api/"),
                "metadata": metadata,
                "items": items[start:end],
            }
        )

    def _in(self, namespace: str, resource: str) -> list[Any]:
        """The objects in order; the items of a list say neither kind nor apiVersion, as those of the real server."""
        found = sorted(self._objects[resource].items())
        return [
            {name: part for name, part in item.items() if name not in ("kind", "apiVersion")}
            for (where, _), item in found
            if where == namespace
        ]


def status(code: int, reason: str, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """An error in the API server's own form."""
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": code}
    return web.json_response({**body, "reason": reason, "message": message}, status=code, headers=headers)


async def _half(request: web.Request, answer: web.Response) -> web.StreamResponse:
    """Send one byte of an answer and close the connection."""
    assert isinstance(answer.body, bytes)
    cut = web.StreamResponse(headers={"Content-Length": str(len(answer.body))})
    await cut.prepare(request)
    await cut.write(answer.body[:1])
    assert request.transport is not None
    request.transport.close()
    return cut


def _selected(item: Mapping[str, Any], query: Mapping[str, str]) -> bool:
    metadata = item["metadata"]
    field = query.get("fieldSelector", "")
    if field and not field.startswith("metadata.name="):
        raise ValueError(f"field label not supported: {field}")
    if field and metadata["name"] != field.removeprefix("metadata.name="):
        return False
    labels = metadata.get("labels", {})
    return all(_meets(part, labels) for part in re.split(r",(?![^(]*\))", query.get("labelSelector", "")) if part)


def _meets(requirement: str, labels: Mapping[str, str]) -> bool:
    if listed := re.fullmatch(r"(\S+) (in|notin) \(([^)]*)\)", requirement):
        return (labels.get(listed[1]) in listed[3].split(",")) == (listed[2] == "in")
    if equal := re.fullmatch(r"([^=!\s]+)=([^=\s]*)", requirement):
        return labels.get(equal[1]) == equal[2]
    if present := re.fullmatch(r"(!?)([^=!\s]+)", requirement):
        return (present[2] in labels) != bool(present[1])
    raise ValueError(f"unable to parse requirement: {requirement}")


class LoopbackTransport:
    """A transport of the kinds' contract, without the guard."""

    def __init__(self, session: aiohttp.ClientSession, base: str) -> None:
        self._session = session
        self._base = base

    async def request(
        self,
        method: str,
        url: str,
        *,
        timeout: float,  # noqa: ASYNC109 - as in the contract
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        max_bytes: int = transport.DEFAULT_MAX_BYTES,
    ) -> transport.Response:
        """Send one request; every error is a ReadError."""
        sent = {**(headers or {}), "Authorization": f"Bearer {TOKEN}"}
        limit = aiohttp.ClientTimeout(total=timeout)
        try:
            async with self._session.request(
                method, self._base + url, headers=sent, data=body, timeout=limit
            ) as answer:
                content = await answer.read()
        except TimeoutError as error:
            raise transport.ReadError(failures.Failure(failures.Category.TIMEOUT, "no answer in time")) from error
        except aiohttp.ClientError as error:
            raise transport.ReadError(failures.Failure(failures.Category.TRANSIENT, str(error))) from error
        if len(content) > max_bytes:
            raise transport.ReadError(failures.Failure(failures.Category.TOO_LARGE, "too large"))
        seen = {name.lower(): value for name, value in answer.headers.items()}
        return transport.Response(answer.status, seen, content, str(answer.url))
