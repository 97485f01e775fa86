"""A document that is too long for a store is packed: one that most Watches have stays a text that people can read."""

import base64
import zlib
from typing import Final

from vigil.state import reading

MAX_BYTES: Final = 32 * 1024
"""What a store takes."""
_MAX_UNPACKED: Final = 1024 * 1024
_MARK: Final = "zlib:"
"""No document begins like this: they are objects of JSON."""


def pack(text: str) -> str:
    """The text as it is where a store takes it, else packed; the same for the same text."""
    data = text.encode()
    if not MAX_BYTES < len(data) <= _MAX_UNPACKED:
        return text
    return _MARK + base64.b85encode(zlib.compress(data, 9)).decode()


def unpack(document: str) -> str:
    """The text of a document; raises ValueError where it cannot be had, or would be longer than any that is packed."""
    if not document.startswith(_MARK):
        return document
    packed = zlib.decompressobj()
    try:
        data = packed.decompress(base64.b85decode(document.removeprefix(_MARK)), _MAX_UNPACKED + 1)
    except zlib.error as error:
        raise reading.BadDocumentError("it cannot be unpacked") from error
    if not packed.eof:
        raise reading.BadDocumentError("it is cut, or too long")
    return data.decode()
