"""The client through the guarded transport, against a server on loopback."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import bound
from vigil.kind import api, transport
from vigil.model import failures
from vigil_providers.github import client

NOW = 1_772_360_000.0
RATE = {"cost": 3, "limit": 5000, "remaining": 4711, "resetAt": "2026-03-01T11:00:00Z"}
REST = {"x-ratelimit-limit": "5000", "x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1772362800"}


class Meter:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.quotas: list[api.Quota] = []

    def report(self, quota: api.Quota) -> None:
        self.quotas.append(quota)


def answering(*answers: web.Response | Callable[[web.Request], web.Response]) -> http_servers.Handler:
    """A handler that gives these answers, one after another, and the last one from then on."""
    left = list(answers)

    async def handler(request: web.Request) -> web.Response:
        answer = left.pop(0) if len(left) > 1 else left[0]
        return answer(request) if callable(answer) else answer

    return handler


def said(
    body: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Callable[[web.Request], web.Response]:
    """An answer in JSON."""
    return lambda _: web.json_response(body, status=status, headers=headers)


async def asked(
    site: http_servers.Site,
    ask: Callable[[client.Client], Any],
    *,
    etags: client.Etags | None = None,
    requests: int = 10,
) -> tuple[Any, Meter]:
    """What a client makes of the site, and what it said of the allowance."""
    meter = Meter()
    async with http_servers.guarded() as guarded:
        github = client.Client(
            bound.BoundTransport(guarded, site.url),
            host=f"127.0.0.1:{site.port}",
            now=NOW,
            timeout=5,
            meter=meter,
            etags=etags,
            allowance=client.Allowance(requests),
        )
        return await ask(github), meter


async def test_a_query_is_posted_to_the_graphql_of_the_host_with_its_variables() -> None:
    async with http_servers.serving(answering(said({"data": {"a": 1, "rateLimit": RATE}}))) as site:
        answer, meter = await asked(site, lambda github: github.query("query Q { a }", {"owner": "acme"}))
    assert (answer.data["a"], answer.errors) == (1, ())
    assert (site.requests[0].method, site.requests[0].path) == ("POST", "/api/graphql")
    assert json.loads(site.bodies[0]) == {"query": "query Q { a }", "variables": {"owner": "acme"}}
    assert meter.quotas == [api.Quota("graphql", 5000, 4711, 1772362800.0, 3.0)]


async def test_what_failed_in_parts_comes_beside_the_rest() -> None:
    error = {"type": "FORBIDDEN", "path": ["s0", "x", 0], "message": "Resource not accessible by integration"}
    async with http_servers.serving(answering(said({"data": {"s0": {"x": None}}, "errors": [error]}))) as site:
        answer, _ = await asked(site, lambda github: github.query("{a}", {}))
    assert answer.data == {"s0": {"x": None}}
    assert [(one.path, one.failure.category) for one in answer.errors] == [
        (("s0", "x", 0), failures.Category.FORBIDDEN)
    ]


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ({"data": None, "errors": [{"message": "Something went wrong"}]}, failures.Category.TRANSIENT),
        ({"errors": [{"message": "Something went wrong", "path": ["s0"]}]}, failures.Category.TRANSIENT),
        (
            {
                "data": {"a": 1},
                "errors": [{"type": "RATE_LIMITED", "path": ["a"], "message": "API rate limit exceeded"}],
            },
            failures.Category.THROTTLED,
        ),
        (
            {"data": {"a": 1}, "errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "Too many nodes."}]},
            failures.Category.TOO_LARGE,
        ),
        ({}, failures.Category.MALFORMED),
        ({"data": None}, failures.Category.MALFORMED),
        ({"data": []}, failures.Category.MALFORMED),
        ({"data": {}, "errors": "none"}, failures.Category.MALFORMED),
        ({"data": {}, "errors": [{}]}, failures.Category.MALFORMED),
        ([], failures.Category.MALFORMED),
        (7, failures.Category.MALFORMED),
    ],
)
async def test_a_200_may_be_a_failure_as_a_whole(body: Any, category: failures.Category) -> None:
    async with http_servers.serving(answering(said(body))) as site:
        with pytest.raises(transport.ReadError) as raised:
            await asked(site, lambda github: github.query("{a}", {}))
    assert raised.value.failure.category is category


async def test_a_refusal_is_classified_with_its_headers() -> None:
    refused = said({"message": "You have exceeded a secondary rate limit."}, 403, {"retry-after": "30"})
    async with http_servers.serving(answering(refused)) as site:
        with pytest.raises(transport.ReadError) as raised:
            await asked(site, lambda github: github.query("{a}", {}))
    assert (raised.value.failure.category, raised.value.failure.retry_after) == (failures.Category.THROTTLED, 30.0)


async def test_what_has_not_changed_comes_from_memory_and_costs_nothing() -> None:
    etags = client.Etags()
    first = said({"id": 5}, headers={"etag": '"e1"', "last-modified": "Sun, 01 Mar 2026 10:00:00 GMT", **REST})
    unchanged = web.Response(status=304, headers=REST)
    async with http_servers.serving(answering(first, unchanged)) as site:
        before, paid = await asked(site, lambda github: github.get("/pulls/5"), etags=etags)
        after, free = await asked(site, lambda github: github.get("/pulls/5"), etags=etags)
    assert before == after == {"id": 5}
    assert site.requests[1].headers["if-none-match"] == '"e1"'
    assert "if-modified-since" not in site.requests[1].headers
    assert [one.cost for one in (*paid.quotas, *free.quotas)] == [1.0, 0.0]


async def test_another_credential_has_other_etags() -> None:
    async with http_servers.serving(answering(said({"id": 5}, headers={"etag": '"e1"'}))) as site:
        await asked(site, lambda github: github.get("/pulls/5"), etags=client.Etags())
        await asked(site, lambda github: github.get("/pulls/5"), etags=client.Etags())
    assert "if-none-match" not in site.requests[1].headers


async def test_not_modified_without_a_question_is_asked_again_past_every_cache() -> None:
    async with http_servers.serving(answering(web.Response(status=304), said({"id": 5}))) as site:
        answer, _ = await asked(site, lambda github: github.get("/pulls/5"), etags=client.Etags())
    assert answer == {"id": 5}
    assert site.requests[1].headers["cache-control"] == "no-cache"


async def test_not_modified_twice_without_a_question_is_no_answer() -> None:
    async with http_servers.serving(answering(lambda _: web.Response(status=304))) as site:
        with pytest.raises(transport.ReadError) as raised:
            await asked(site, lambda github: github.get("/pulls/5"), etags=client.Etags())
    assert raised.value.failure.category is failures.Category.MALFORMED
    assert len(site.requests) == 2


async def test_no_more_is_sent_than_a_read_may_send() -> None:
    async with http_servers.serving(answering(said({"id": 5}))) as site:
        with pytest.raises(transport.ReadError, match="used up"):
            await asked(site, lambda github: github.get("/pulls/5"), requests=0)
    assert site.requests == []


def test_etags_are_kept_for_so_many_urls_and_the_oldest_goes_first() -> None:
    etags = client.Etags()
    for number in range(client.REMEMBERED + 1):
        etags[f"/{number}"] = (f'"{number}"', None, {}, None)
        etags.get("/0")
    assert len(etags) == client.REMEMBERED
    assert "/0" in etags
    assert "/1" not in etags


def test_an_answer_without_an_etag_is_not_kept_and_replaces_one_that_was() -> None:
    etags = client.Etags()
    etags["/a"] = ('"1"', "Sun, 01 Mar 2026 10:00:00 GMT", {}, None)
    assert etags["/a"] == ('"1"', None, {}, None)
    etags["/a"] = (None, "Sun, 01 Mar 2026 10:00:00 GMT", {}, None)
    assert "/a" not in etags
