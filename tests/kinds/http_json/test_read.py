"""The reader through the guarded client, against servers on loopback."""

import asyncio
from collections.abc import Mapping

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.http_json import KIND, read, subject

NOW = 1_772_360_400.0
BUDGET = api.ReadBudget(timeout=10, requests=50, now=NOW)
SCOPE = api.Scope("team-a", "example.com")
OPEN = b'{"open": [1, 2]}'
Answer = api.Snapshot | failures.Failure


async def read_all(base: str, paths: list[str], budget: api.ReadBudget = BUDGET) -> dict[str, Answer]:
    """What a reader makes of these paths of a server, by path."""
    async with http_servers.guarded() as client:
        return await read_with(KIND.reader(client), base, paths, budget)


async def read_with(
    reader: api.Reader, base: str, paths: list[str], budget: api.ReadBudget = BUDGET
) -> dict[str, Answer]:
    """The same with a reader that is there already."""
    wanted = {ids.SubjectId(path): api.Wanted(subject.DocumentSubject(url=base + path), SCOPE) for path in paths}
    answers = await reader.read(wanted, budget)
    assert answers.keys() == wanted.keys()
    return {str(name): answer for name, answer in answers.items()}


async def read_one(handler: http_servers.Handler) -> Answer:
    """What the reader makes of one answer."""
    async with http_servers.serving(handler) as site:
        return (await read_all(site.url, ["/state"]))["/state"]


async def read_raw(*parts: bytes) -> Answer:
    """What the reader makes of these bytes, each in a write of its own."""
    async with http_servers.scripted(http_servers.sends(*parts)) as url:
        return (await read_all(url, ["/state"]))["/state"]


def failure(answer: Answer) -> failures.Failure:
    """The answer, which has to be a failure."""
    assert isinstance(answer, failures.Failure)
    return answer


def answering(status: int, body: bytes = OPEN, headers: Mapping[str, str] | None = None) -> http_servers.Handler:
    """A handler that gives this answer."""

    async def handler(_request: web.Request) -> web.Response:
        return web.Response(status=status, body=body, headers=headers)

    return handler


@pytest.mark.parametrize("status", [200, 201, 202, 203])
async def test_a_document_comes_with_its_status(status: int) -> None:
    assert await read_one(answering(status)) == api.Snapshot({"status": status, "body": {"open": [1, 2]}})


async def test_the_content_type_is_not_asked() -> None:
    answer = await read_one(answering(200, headers={"content-type": "text/html"}))
    assert isinstance(answer, api.Snapshot)


async def test_a_request_is_a_get_of_the_url_as_written_that_asks_for_json() -> None:
    async with http_servers.serving(answering(200)) as site:
        await read_all(site.url, ["/a%2fb?x=%7E&y"])
    (request,) = site.requests
    assert (request.method, request.raw_path) == ("GET", "/a%2fb?x=%7E&y")
    assert request.headers["accept"] == "application/json"
    assert "authorization" not in request.headers


async def test_a_page_with_200_is_malformed_with_a_short_clean_excerpt() -> None:
    page = b"<html>\x1b[31m<title>Sign in</title>\r\n" + b"padding " * 1000
    answer = failure(await read_one(answering(200, page, {"content-type": "text/html"})))
    assert answer.category is failures.Category.MALFORMED
    assert "'<html><title>Sign in</title> padding" in answer.message
    assert answer.message.isprintable()
    assert len(answer.message) < 200


@pytest.mark.parametrize(
    ("status", "category"),
    [
        (204, failures.Category.MALFORMED),
        (206, failures.Category.MALFORMED),
        (304, failures.Category.MALFORMED),
        (300, failures.Category.MALFORMED),
        (400, failures.Category.UNKNOWN),
        (401, failures.Category.AUTH),
        (403, failures.Category.FORBIDDEN),
        (404, failures.Category.NOT_FOUND),
        (405, failures.Category.UNKNOWN),
        (408, failures.Category.TRANSIENT),
        (410, failures.Category.NOT_FOUND),
        (425, failures.Category.TRANSIENT),
        (429, failures.Category.THROTTLED),
        (451, failures.Category.FORBIDDEN),
        (500, failures.Category.TRANSIENT),
        (503, failures.Category.TRANSIENT),
    ],
)
async def test_a_status_is_classified_whatever_document_comes_with_it(status: int, category: failures.Category) -> None:
    answer = failure(await read_one(answering(status)))
    assert answer.category is category
    assert str(status) in answer.message
    assert answer.retry_after is None


async def test_an_empty_body_is_malformed() -> None:
    assert failure(await read_one(answering(200, b""))).category is failures.Category.MALFORMED


@pytest.mark.parametrize("status", [403, 429, 503])
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("999999999", 86400.0),
        ("Sun, 01 Mar 2026 10:25:00 GMT", 300.0),
        ("Sun, 01 Mar 2026 10:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2099 10:00:00 GMT", 86400.0),
    ],
)
async def test_a_retry_after_is_a_throttle_with_a_bounded_time(status: int, value: str, seconds: float) -> None:
    answer = failure(await read_one(answering(status, b"", {"retry-after": value})))
    assert (answer.category, answer.retry_after) == (failures.Category.THROTTLED, seconds)


@pytest.mark.parametrize("value", ["", "soon", "-5", "1.5", "Sun, 99 Mar 2026", "9" * 40])
async def test_a_retry_after_that_says_nothing_is_none(value: str) -> None:
    answer = failure(await read_one(answering(503, b"", {"retry-after": value})))
    assert (answer.category, answer.retry_after) == (failures.Category.TRANSIENT, None)


async def test_a_body_that_was_cut_is_transient_although_its_part_parses() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = failure(await read_raw(head, b"10\r\n" + OPEN + b"\r\n"))
    assert answer.category is failures.Category.TRANSIENT


async def test_a_body_in_many_chunks_is_read_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = [b"1\r\n" + bytes([byte]) + b"\r\n" for byte in OPEN]
    answer = await read_raw(head, *chunks, b"0\r\n\r\n")
    assert answer == api.Snapshot({"status": 200, "body": {"open": [1, 2]}})


async def test_more_than_a_mebibyte_is_too_large() -> None:
    answer = failure(await read_one(answering(200, b'"' + b"a" * 1024 * 1024 + b'"')))
    assert answer.category is failures.Category.TOO_LARGE


async def test_what_fails_fails_alone() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/gone":
            return web.Response(status=404)
        return web.Response(body=b"{" if request.path == "/broken" else OPEN)

    async with http_servers.serving(handler) as site:
        answers = await read_all(site.url, ["/gone", "/a", "/broken", "/b"])
    assert failure(answers["/gone"]).category is failures.Category.NOT_FOUND
    assert failure(answers["/broken"]).category is failures.Category.MALFORMED
    assert isinstance(answers["/a"], api.Snapshot)
    assert isinstance(answers["/b"], api.Snapshot)


class Gate:
    """A handler that lets nobody through until it is opened, and counts who waits."""

    def __init__(self, expected: int) -> None:
        self.opened = asyncio.Event()
        self.full = asyncio.Event()
        self.waiting = self.most = 0
        self._expected = expected

    async def __call__(self, _request: web.Request) -> web.Response:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting == self._expected:
            self.full.set()
        await self.opened.wait()
        self.waiting -= 1
        return web.Response(body=OPEN)


async def test_the_requests_of_a_read_run_together_but_no_more_than_four() -> None:
    gate = Gate(read.CONCURRENT)
    async with http_servers.serving(gate) as site:
        reading = asyncio.create_task(read_all(site.url, [f"/{index}" for index in range(8)]))
        await gate.full.wait()
        gate.opened.set()
        answers = await reading
    assert gate.most == read.CONCURRENT
    assert all(isinstance(answer, api.Snapshot) for answer in answers.values())


async def test_those_that_hang_do_not_use_up_the_time_of_the_others() -> None:
    never = asyncio.Event()

    async def handler(request: web.Request) -> web.Response:
        if request.path.startswith("/hangs"):
            await never.wait()
        return web.Response(body=OPEN)

    paths = [f"/hangs/{index}" for index in range(read.CONCURRENT)] + ["/a", "/b", "/c", "/d"]
    async with http_servers.serving(handler) as site:
        answers = await read_all(site.url, paths, api.ReadBudget(timeout=2, requests=50, now=NOW))
        never.set()
    hung = [failure(answers[path]).category for path in paths[: read.CONCURRENT]]
    assert hung == [failures.Category.TIMEOUT] * read.CONCURRENT
    assert all(isinstance(answers[path], api.Snapshot) for path in paths[read.CONCURRENT :])


async def test_what_the_allowance_leaves_out_waits_without_a_fault_and_comes_first_the_next_time() -> None:
    paths = ["/a", "/b", "/c"]
    async with http_servers.serving(answering(200)) as site, http_servers.guarded() as client:
        reader = KIND.reader(client)
        first = await read_with(reader, site.url, paths, api.ReadBudget(10, 2, NOW))
        second = await read_with(reader, site.url, paths, api.ReadBudget(10, 2, NOW))
    assert failure(first["/c"]).category is failures.Category.THROTTLED
    assert isinstance(second["/c"], api.Snapshot)
    assert len(site.requests) == 4


async def test_after_a_429_the_host_is_not_asked_again_in_the_same_read() -> None:
    async with http_servers.serving(answering(429, b"", {"retry-after": "60"})) as site:
        answers = await read_all(site.url, [f"/{index}" for index in range(12)])
    assert len(site.requests) <= read.CONCURRENT
    assert {failure(answer).retry_after for answer in answers.values()} == {60.0}


async def test_a_server_that_is_not_there_is_transient() -> None:
    async with http_servers.serving(answering(200)) as site:
        url = site.url
    answers = await read_all(url, ["/state"])
    assert failure(answers["/state"]).category is failures.Category.TRANSIENT


async def test_a_read_that_ends_before_some_had_their_turn_answers_for_them() -> None:
    class Slow:
        """A transport whose requests take no notice of their own time limit."""

        async def request(
            self,
            method: str,
            url: str,
            *,
            timeout: ids.Seconds,  # noqa: ASYNC109 - as in the protocol
            headers: Mapping[str, str] | None = None,
            body: bytes | None = None,
            max_bytes: int = transport.DEFAULT_MAX_BYTES,
        ) -> transport.Response:
            await asyncio.Event().wait()
            raise AssertionError

    answers = await read_with(
        KIND.reader(Slow()), "https://api.example.com", ["/a", "/b"], api.ReadBudget(0.05, 9, NOW)
    )
    assert {failure(answer).category for answer in answers.values()} == {failures.Category.TIMEOUT}


async def test_a_redirect_to_another_document_of_the_same_host_is_followed() -> None:
    async def handler(request: web.Request) -> web.Response:
        if request.path == "/state":
            return web.Response(status=302, headers={"location": "/new"})
        return web.Response(body=OPEN)

    assert isinstance(await read_one(handler), api.Snapshot)
