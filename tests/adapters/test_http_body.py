"""Bodies: whole or not at all, bounded, and read in time (C122, C124)."""

import asyncio
import contextlib
import gzip
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Mapping

import pytest
from aiohttp import web

from tests.adapters import http_servers
from vigil.adapters.http import body, errors
from vigil.kind import transport
from vigil.model import failures

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def _get(script: http_servers.Script, max_bytes: int = 1000, within: float = 5) -> transport.Response:
    async with http_servers.scripted(script) as url, http_servers.guarded() as guarded:
        return await guarded.request("GET", url, timeout=within, max_bytes=max_bytes)


async def _failure(script: http_servers.Script, max_bytes: int = 1000, within: float = 5) -> failures.Failure:
    return await http_servers.failure_of(_get(script, max_bytes, within))


def _gzipped(payload: bytes) -> bytes:
    packed = gzip.compress(payload)
    return OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b'e\r\n{"open":[1,2]}\r\n',
        CHUNKED + b'e\r\n{"open":[1,2]}',
        CHUNKED + b'ff\r\n{"open":[1,2]}',
        OK + b'Content-Length: 20\r\n\r\n{"open":[1,2]}',
        OK + b"Content-Length: 20\r\n\r\n",
    ],
)
async def test_a_body_that_is_cut_is_transient_though_the_part_parses(sent: bytes) -> None:
    failure = await _failure(http_servers.sends(sent))
    assert failure.category is failures.Category.TRANSIENT
    assert "cut before its end" in failure.message


async def test_a_compressed_body_that_ends_early_is_transient_though_its_length_is_right() -> None:
    part = gzip.compress(json.dumps({"open": list(range(200))}).encode())[:-12]
    head = OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(part)
    failure = await _failure(http_servers.sends(head + part), max_bytes=10_000)
    assert failure.category is failures.Category.TRANSIENT
    assert "compressed body was cut" in failure.message


async def test_a_body_in_many_chunks_is_read_whole() -> None:
    chunks = [b"5\r\n" + b"%05d" % number + b"\r\n" for number in range(200)]
    response = await _get(http_servers.sends(CHUNKED, *chunks, b"0\r\n\r\n"))
    assert response.body == b"".join(b"%05d" % number for number in range(200))


async def test_a_body_without_a_length_ends_with_its_connection() -> None:
    response = await _get(http_servers.sends(OK + b"Connection: close\r\n\r\n", b"whole", b" body"))
    assert response.body == b"whole body"


async def test_a_page_of_html_with_200_is_an_answer_that_the_kind_classifies() -> None:
    page = b"<html><title>Sign in</title></html>"
    response = await _get(http_servers.sends(OK + b"content-type: text/html\r\nContent-Length: 35\r\n\r\n" + page))
    assert (response.status, response.body) == (200, page)
    assert response.headers["content-type"] == "text/html"


@pytest.mark.parametrize("status", [204, 304, 400, 403, 404, 429, 500, 503])
async def test_every_status_is_an_answer(status: int) -> None:
    async def refusing(_request: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Retry-After": "7"})

    async with http_servers.serving(refusing) as site, http_servers.guarded() as guarded:
        response = await guarded.request("GET", f"{site.url}/", timeout=5)
    assert (response.status, response.headers["retry-after"]) == (status, "7")


async def test_headers_of_one_name_are_joined_and_cookies_are_neither_kept_nor_shown() -> None:
    sent = OK + b'Link: <a>; rel="next"\r\nLINK: <b>; rel="last"\r\nSet-Cookie: session=s\r\nContent-Length: 0\r\n\r\n'
    response = await _get(http_servers.sends(sent))
    assert response.headers["link"] == '<a>; rel="next", <b>; rel="last"'
    assert "set-cookie" not in response.headers


async def test_no_cookie_is_sent_back() -> None:
    async def setting(_request: web.Request) -> web.Response:
        answer = web.Response()
        answer.set_cookie("session", "s", domain=http_servers.NAME)
        return answer

    resolver = http_servers.resolving(http_servers.NAME)
    async with http_servers.serving(setting) as site, http_servers.guarded(resolver) as guarded:
        for _ in range(2):
            await guarded.request("GET", f"http://{http_servers.NAME}:{site.port}/", timeout=5)
    assert ["Cookie" in request.headers for request in site.requests] == [False, False]


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
async def test_a_body_up_to_the_limit_is_read_plain_and_compressed(size: int) -> None:
    payload = bytes(size)
    plain = OK + b"Content-Length: %d\r\n\r\n" % size + payload
    assert (await _get(http_servers.sends(plain))).body == payload
    assert (await _get(http_servers.sends(_gzipped(payload)))).body == payload


async def test_a_body_that_announces_too_much_is_refused_before_it_is_sent() -> None:
    failure = await _failure(http_servers.sends(OK + b"Content-Length: 1001\r\n\r\n"))
    assert failure.category is failures.Category.TOO_LARGE
    assert "larger than 1000 bytes" in failure.message


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + b"3e9\r\n" + b"x" * 1001 + b"\r\n0\r\n\r\n",
        OK + b"Connection: close\r\n\r\n" + b"x" * 1001,
        _gzipped(bytes(1001)),
        _gzipped(bytes(50_000_000)),
    ],
)
async def test_a_body_over_the_limit_is_too_large_after_decompression(sent: bytes) -> None:
    assert (await _failure(http_servers.sends(sent))).category is failures.Category.TOO_LARGE


async def test_an_endless_body_is_too_large_and_not_read_to_its_end() -> None:
    written = 0

    async def endless(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        writer.write(CHUNKED)
        while True:
            writer.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
            written += 1024
            await writer.drain()

    failure = await _failure(endless, max_bytes=100_000)
    assert failure.category is failures.Category.TOO_LARGE
    assert written < 50_000_000


async def test_gzip_that_yields_nothing_is_bounded_too() -> None:
    with pytest.raises(errors.TooLargeError):
        await body.gunzip(_repeated(gzip.compress(b""), 100_000), 1000)


async def test_gzip_in_single_bytes_and_in_several_members_is_read_whole() -> None:
    packed = gzip.compress(b"first ") + gzip.compress(b"second")
    assert await body.gunzip(_single_bytes(packed), 12) == b"first second"
    with pytest.raises(errors.TooLargeError):
        await body.gunzip(_single_bytes(packed), 11)


async def test_a_bomb_never_takes_much_more_memory_than_the_limit() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    packed = b"".join(packer.compress(bytes(1_000_000)) for _ in range(100)) + packer.flush()
    tracemalloc.start()
    try:
        with pytest.raises(errors.TooLargeError):
            await body.gunzip(_repeated(packed, 1), 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "sent",
    [
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nplain",
        OK + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nplain",
        OK + b"Content-Encoding: gzip, gzip\r\nContent-Length: 5\r\n\r\nplain",
    ],
)
async def test_a_body_that_is_not_what_its_headers_say_is_malformed(sent: bytes) -> None:
    assert (await _failure(http_servers.sends(sent))).category is failures.Category.MALFORMED


@pytest.mark.parametrize(
    "sent",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"220 mail.example.test ESMTP\r\n\r\n",
        b"<html></html>",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"\x15\x03\x01\x00\x02\x02\x46",
        OK + b"X: " + b"x" * 200_000 + b"\r\n\r\n",
        OK + b"X: y\r\n" * 10_000 + b"\r\n",
    ],
)
async def test_what_is_not_http_is_malformed(sent: bytes) -> None:
    failure = await _failure(http_servers.sends(sent))
    assert failure.category is failures.Category.MALFORMED
    assert "not HTTP" in failure.message


async def test_a_connection_that_is_closed_without_an_answer_is_transient() -> None:
    assert (await _failure(http_servers.sends())).category is failures.Category.TRANSIENT


@pytest.mark.parametrize("sent", [b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 20", OK + b"X: y\r\n"])
async def test_a_head_that_is_cut_is_transient(sent: bytes) -> None:
    assert (await _failure(http_servers.sends(sent))).category is failures.Category.TRANSIENT


@pytest.mark.parametrize("sent", [b"", OK + b"Content-Length: 20\r\n\r\nx"])
async def test_a_connection_that_is_reset_is_transient(sent: bytes) -> None:
    async def resetting(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        writer.transport.abort()

    assert (await _failure(resetting)).category is failures.Category.TRANSIENT


async def test_a_refused_connection_is_transient() -> None:
    async with http_servers.scripted(http_servers.sends()) as url:
        gone = url
    async with http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", gone, timeout=5))
    assert failure.category is failures.Category.TRANSIENT
    assert failure.message == f"GET {gone}: no connection: connection refused"


async def test_a_head_answer_has_headers_and_no_body() -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response(text="x" * 5000, headers={"ETag": '"1"'})

    async with http_servers.serving(page) as site, http_servers.guarded() as guarded:
        response = await guarded.request("HEAD", f"{site.url}/", timeout=5, max_bytes=10)
    assert (response.status, response.body, response.headers["etag"]) == (200, b"", '"1"')


async def _hang(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await _reader.read()


async def _drip(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(CHUNKED)
    while True:
        writer.write(b"1\r\nx\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def _interim(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("script", [_hang, _drip, _interim])
async def test_the_deadline_bounds_the_whole_exchange(script: http_servers.Script) -> None:
    failure = await _failure(script, within=0.2)
    assert failure.category is failures.Category.TIMEOUT
    assert "within 0.2 s" in failure.message


async def test_the_deadline_bounds_a_chain_of_redirects_that_are_each_quick_enough() -> None:
    async def slow(request: web.Request) -> web.Response:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.1)
        return web.Response(status=302, headers={"Location": request.path + "x"})

    async with http_servers.serving(slow) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=0.25))
    assert failure.category is failures.Category.TIMEOUT


@pytest.mark.parametrize("within", [0.0, -1.0, float("nan")])
async def test_without_time_nothing_is_sent(within: float) -> None:
    async def page(_request: web.Request) -> web.Response:
        return web.Response()

    async with http_servers.serving(page) as site, http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request("GET", f"{site.url}/", timeout=within))
    assert failure.category is failures.Category.TIMEOUT
    assert site.requests == []


async def test_a_cancelled_request_is_cancelled_and_not_a_failure() -> None:
    entered = asyncio.Event()

    async def waiting(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        entered.set()
        await reader.read()

    async with http_servers.scripted(waiting) as url, http_servers.guarded() as guarded:
        task = asyncio.create_task(guarded.request("GET", url, timeout=30))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def _repeated(chunk: bytes, times: int) -> AsyncIterator[bytes]:
    for _ in range(times):
        yield chunk


async def _single_bytes(packed: bytes) -> AsyncIterator[bytes]:
    for place in range(len(packed)):
        yield packed[place : place + 1]


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Note": "a\r\nX-Evil: b"},
        {"X-Note": "a\nb"},
        {"X-Note": "nul\0"},
        {"X Note": "a"},
        {"X-Note:": "a"},
        {"X-Note": "caf\u00e9"},
        {"Host": "other.example.test"},
        {"Transfer-Encoding": "chunked"},
        {"Content-Length": "3"},
        {"Connection": "upgrade"},
    ],
)
async def test_a_header_that_could_change_the_request_is_refused(headers: Mapping[str, str]) -> None:
    async with http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(
            guarded.request("GET", "http://127.0.0.1:1/", timeout=5, headers=headers)
        )
    assert failure.category is failures.Category.CONFIG
    assert "Evil" not in failure.message


@pytest.mark.parametrize("method", ["get", "CONNECT", "TRACE", "GET / HTTP/1.1\r\nX: y", ""])
async def test_a_method_that_is_none_is_refused(method: str) -> None:
    async with http_servers.guarded() as guarded:
        failure = await http_servers.failure_of(guarded.request(method, "http://127.0.0.1:1/", timeout=5))
    assert failure.category is failures.Category.CONFIG
