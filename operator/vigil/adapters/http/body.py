"""Reading a body: whole, bounded after decompression, and never a part that looks like a whole.

aiohttp is told not to decompress: it takes a gzip stream that ends early for a whole one.
"""

import zlib
from collections.abc import AsyncIterable
from typing import Final

import aiohttp

from vigil.adapters.http import errors

ACCEPT_ENCODING: Final = "gzip"

_GZIP: Final = frozenset({"gzip", "x-gzip"})
_IDENTITY: Final = frozenset({"", "identity"})
_BODILESS: Final = frozenset({204, 304})
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS


async def read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """The whole body of a response, decompressed, of at most `max_bytes`.

    Raises TooLargeError, CutBodyError, MalformedBodyError, and what aiohttp raises while it reads.
    """
    if response.method == "HEAD" or response.status in _BODILESS:
        return b""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding in _IDENTITY:
        if (response.content_length or 0) > max_bytes:
            raise _too_large(max_bytes)
        return await _plain(response.content.iter_any(), max_bytes)
    if coding in _GZIP:
        return await gunzip(response.content.iter_any(), max_bytes)
    raise errors.MalformedBodyError("the body has a content encoding that was not asked for")


async def gunzip(chunks: AsyncIterable[bytes], max_bytes: int) -> bytes:
    """Decompress a gzip stream of one or more members, holding no more than `max_bytes`. An empty one is empty."""
    stream = _Gunzip(max_bytes)
    async for chunk in chunks:
        stream.feed(chunk)
    return stream.end()


class _Gunzip:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._received = 0
        self._whole = bytearray()

    def feed(self, chunk: bytes) -> None:
        self._received += len(chunk)
        # Compressed bytes that yield nothing are bounded too: gzip adds far less than this to what it cannot compress.
        if self._received > self._max_bytes + self._max_bytes // 64 + 1024:
            raise _too_large(self._max_bytes)
        while chunk:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP_WINDOW)
            self._whole += self._decompress(chunk)
            if len(self._whole) > self._max_bytes:
                raise _too_large(self._max_bytes)
            chunk = self._member.unused_data

    def end(self) -> bytes:
        if self._received and not self._member.eof:
            raise errors.CutBodyError("the compressed body was cut before its end")
        return bytes(self._whole)

    def _decompress(self, chunk: bytes) -> bytes:
        try:
            # One byte more than there is room for tells too much from just enough; 0 would mean no bound at all.
            return self._member.decompress(chunk, self._max_bytes - len(self._whole) + 1)
        except zlib.error:
            raise errors.MalformedBodyError("the body is not the gzip that its headers say") from None


async def _plain(chunks: AsyncIterable[bytes], max_bytes: int) -> bytes:
    whole = bytearray()
    async for chunk in chunks:
        whole += chunk
        if len(whole) > max_bytes:
            raise _too_large(max_bytes)
    return bytes(whole)


def _too_large(max_bytes: int) -> errors.TooLargeError:
    return errors.TooLargeError(f"the body is larger than {max_bytes} bytes")
