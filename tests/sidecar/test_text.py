"""Text from outside is made harmless: cleaned, redacted, cut."""

import unicodedata

import hypothesis
import pytest
from hypothesis import strategies

from vigil.sidecar import text

ANY_TEXT = strategies.text(strategies.characters(codec=None), max_size=300)


def test_control_sequences_leave_one_line_and_line_ends_show() -> None:
    """C115."""
    raw = "\u001b[?25l\u001b]0;pwn\u0007red\u001b[31mX\u001b[0m\u0000 a\u2028fake: line\u0085b\n"
    assert text.clean(raw) == "redX a␤fake: line␤b\n"


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\b", "alinkb"),
        ("a\x9b31mb\x9d0;t\x9cc", "abc"),
        ("a\x1bPq#0\x1b\\b", "ab"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("hid\u200bden\ufeff\U000e0041\U000e0101", "hidden"),
        ("a\tb", "a   b"),
        ("half \ud800 pair", "half  pair"),
        ("tail\x1b[", "tail"),
        ("tail\x1b", "tail"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_away(raw: str, cleaned: str) -> None:
    assert text.clean(raw) == cleaned


@hypothesis.settings(deadline=None)
@hypothesis.given(ANY_TEXT)
def test_cleaned_text_ends_lines_with_line_feeds_only_and_hides_nothing(raw: str) -> None:
    cleaned = text.clean(raw)
    assert cleaned.splitlines() == cleaned.removesuffix("\n").split("\n") or cleaned == ""
    assert not {unicodedata.category(char) for char in cleaned if char != "\n"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert text.clean(cleaned) == cleaned


@hypothesis.settings(deadline=None)
@hypothesis.given(ANY_TEXT)
def test_visible_text_loses_nothing_but_shows_all_that_hides(raw: str) -> None:
    shown = text.visible(raw)
    assert not {unicodedata.category(char) for char in shown if char not in "\n\t"} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert len(shown) >= len(raw.replace("\r\n", "\n"))


@pytest.mark.parametrize(
    "secret",
    [
        "Authorization: Bearer abcDEF123456.xyz",
        "authorization: token 0123456789abcdef",
        "bearer abcDEF123456",
        "ghp_0123456789abcdefABCDEF0123456789abcd",
        "github_pat_11ABCDEFG0123456789_abcdef",
        "glpat-abcdefghij0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "password=hunter2hunter2",
        'password: "hunter2 hunter2"',
        "DB_PASSWORD='hunter2hunter2'",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI",
        "token=0123456789abcdef",
        "api_key: 0123456789abcdef",
        "https://user:hunter2hunter2@example.test/path",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk and then it was cut",
    ],
)
@pytest.mark.parametrize("around", ["{}", "before {} after", "line\n{}\nline"])
def test_credentials_are_taken_out(secret: str, around: str) -> None:
    redacted = text.redact(text.clean(around.format(secret)))
    assert text.REDACTED in redacted
    for part in ("hunter2", "0123456789abcdef", "abcDEF123456", "MIIEow", "b3Blbn", "IOSFODNN7", "wJalr", "eyJzdWIi"):
        assert part not in redacted
    assert text.redact(redacted) == redacted


def test_an_invisible_character_does_not_split_a_secret() -> None:
    assert "hunter2" not in text.one_line("pass\u200bword=hun\u200bter2")
    assert text.one_line("gh\x1b[31mp_0123456789abcdef") == text.REDACTED


def test_harmless_words_stay() -> None:
    said = "3 tokens: the secretary read the author's tokenizer tests"
    assert text.redact(said) == said


def test_a_name_keeps_what_stands_after_a_colon() -> None:
    assert text.name("red:secret:scan/token: check") == "red:secret:scan/token: check"


def test_cuts_show_and_stay_within_the_limit() -> None:
    assert text.fit("abcdef", 4) == "abc…"
    assert text.fit("abcd", 4) == "abcd"


def test_redaction_of_a_long_text_takes_no_longer_than_its_length() -> None:
    for part in ("a", "token", "://", "Bearer ", "-----BEGIN ", "\x1b]", "eyJ"):
        text.redact(text.clean(part * (400_000 // len(part))))
