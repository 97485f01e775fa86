"""A document that is too long for a store is packed, and comes back as it was."""

import base64
import zlib

import pytest

from tests.unit.state.strategies import UID
from vigil.model import states
from vigil.state import codec, packing, reading

LONG = "x" * (packing.MAX_BYTES + 1)


def test_a_text_that_a_store_takes_stays_as_it_is() -> None:
    assert packing.pack("x" * packing.MAX_BYTES) == "x" * packing.MAX_BYTES
    assert packing.unpack("{}") == "{}"


def test_a_longer_one_is_packed_and_comes_back() -> None:
    packed = packing.pack(LONG)
    assert len(packed) < packing.MAX_BYTES
    assert packed == packing.pack(LONG)
    assert packing.unpack(packed) == LONG


def test_one_that_is_longer_than_any_document_is_left_alone() -> None:
    huge = "x" * (2 * 1024 * 1024)
    assert packing.pack(huge) == huge


def packed(data: bytes) -> str:
    """What looks like a packed document."""
    return f"zlib:{base64.b85encode(data).decode()}"


@pytest.mark.parametrize(
    "document",
    [
        "zlib:\x00",
        packed(b"no zlib"),
        packed(zlib.compress(LONG.encode())[:-8]),
        packed(zlib.compress(b"x" * (64 * 1024 * 1024))),
        packed(zlib.compress(b"\xff")),
    ],
    ids=["no base 85", "not compressed", "cut", "too long when it is unpacked", "no text"],
)
def test_what_cannot_be_unpacked_is_quarantined_as_it_is(document: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        packing.unpack(document)
    found = codec.decode(document, UID)
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.UNREADABLE
    assert found.document == document


def test_a_long_state_survives_its_packed_document() -> None:
    state = states.State(UID, churn=states.Churn(rounds={f"round {number}": number for number in range(5000)}))
    document = codec.encode(state)
    assert document.startswith("zlib:")
    assert len(document) < packing.MAX_BYTES
    assert codec.decode(document, UID) == state
    assert issubclass(reading.BadDocumentError, ValueError)
