"""What is a document, and what only looks like one."""

import pytest

from vigil.kind import transport
from vigil.model import failures
from vigil_kinds.http_json import document, text


def refusal(body: bytes) -> failures.Failure:
    """The failure that a body ends in."""
    with pytest.raises(transport.ReadError) as raised:
        document.parse(body)
    return raised.value.failure


@pytest.mark.parametrize(
    ("body", "meant"),
    [
        (b'{"open": [1, 2]}', {"open": [1, 2]}),
        (b"null", None),
        (b" 0 ", 0),
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        ('{"a": "ü"}'.encode("utf-16"), {"a": "ü"}),
        (b'{"name": "caf\xe9"}', {"name": "caf�"}),
        (b'{"name": "\\ud83d\\ude00 \\ud83d"}', {"name": "😀 �"}),
        (b"[9223372036854775807, 18446744073709551615]", [2**63 - 1, 2**64 - 1]),
        (b"[18446744073709551616, -9223372036854775809]", [2.0**64, -(2.0**63)]),
        (b'{"a": {"x": 1}, "b": {"x": 1}}', {"a": {"x": 1}, "b": {"x": 1}}),
    ],
)
def test_a_document_is_read_whole_in_any_encoding_of_json(body: bytes, meant: object) -> None:
    assert document.parse(body) == meant


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "is empty"),
        (b" \r\n\t", "is empty"),
        (b"<html><title>Sign in</title></html>", "it begins '<html><title>Sign in</title></html>'"),
        (b'{"open": [1, 2', "not JSON (line 1, column 15)"),
        (b'{"a": 1}\n{"a": 2}', "not JSON (line 2, column 1)"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": -Infinity}', "-Infinity is no JSON number"),
        (b'{"a": 1e999}', "a number is too large"),
        (b'{"a": ' + b"9" * 400 + b"}", "a number is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"state": "red", "state": "green"}', "an object has a name twice"),
        (b'[{"a": [{"b": 1, "b": 1}]}]', "an object has a name twice"),
        (b"{'a': 1}", "not JSON"),
        (b"\x00\x01\x02\x03", "not JSON"),
    ],
)
def test_what_is_ambiguous_or_no_json_is_malformed(body: bytes, said: str) -> None:
    failure = refusal(body)
    assert failure.category is failures.Category.MALFORMED
    assert said in failure.message


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * document.MAX_NODES + b"1]",
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000,
        b'"' + b"a" * document.MAX_BYTES + b'"',
    ],
    ids=["values", "levels", "far too many levels", "bytes"],
)
def test_what_is_more_than_a_rule_can_be_about_is_too_large(body: bytes) -> None:
    assert refusal(body).category is failures.Category.TOO_LARGE


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * (document.MAX_NODES - 2) + b"1]",
        b"[" * 64 + b"1" + b"]" * 64,
        b'"' + b"a" * (document.MAX_BYTES - 2) + b'"',
    ],
    ids=["values", "levels", "bytes"],
)
def test_the_bounds_themselves_are_within_bounds(body: bytes) -> None:
    assert document.parse(body) is not None


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[?25l\x1b]0;pwn\x07red\x1b[31mX\x1b[0m\x00 a\u2028fake: line\x85b\n", "redX a fake: line b"),
        ("\x9b31mred \x1b]8;;https://other.example\x1b\\link", "red link"),
        ("a\r\n\tb\x08\x7fc", "a bc"),
        ("left\u202eright\u200b\ufeff", "leftright"),
        ("\x1b]52;c;never closed", ""),
        ("x" * 600, "x" * 499 + "…"),
    ],
)
def test_foreign_text_is_one_line_that_acts_on_nothing(raw: str, shown: str) -> None:
    assert text.line(raw, text.BRIEF_LIMIT) == shown


def test_an_excerpt_is_short_and_clean_whatever_the_bytes() -> None:
    excerpt = text.excerpt(b"\x1b[2J<html>\r\n\xff<title>Sign in</title>" + b"a" * 10_000)
    assert excerpt.startswith("'<html> �<title>Sign in</title>aaa")
    assert len(excerpt) == text.EXCERPT_LIMIT + 2
