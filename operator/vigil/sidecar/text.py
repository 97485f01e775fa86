"""Text from outside, made harmless: cleaned, then redacted, then cut, in this order. Pure.

`clean` takes away all that a terminal or an editor would obey and keeps the lines; `visible` shows it instead, for a
file in which nothing may be hidden. Redaction comes after cleaning, so that no invisible character can split a secret,
and before any cut, so that no half of one is left over.
"""

import re
import unicodedata
from typing import Final

CUT: Final = "…"
REDACTED: Final = "[redacted]"
LINE_MARK: Final = "␤"
"""What stands for a character that would end a line and is no line feed."""

_SEQUENCE = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # OSC: titles, links, the clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor, private modes
    r"|\x1b[ -/]*[0-~]?"
)
_LINE_ENDS = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_UNUSUAL = re.compile("[^\n\x20-\x7e]")
_HIDDEN = frozenset({"Cc", "Cf", "Cs"})

_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_TOKENS = (
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{10,}"),
    re.compile(r"\bgithub_pat_[A-Za-z0-9_]{10,}"),
    re.compile(r"\bglpat-[A-Za-z0-9_-]{10,}"),
    re.compile(r"\bxox[abeoprs]-[A-Za-z0-9-]{8,}"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(?:\.[A-Za-z0-9_-]*)?"),
    re.compile(r"\bnpm_[A-Za-z0-9]{20,}"),
    re.compile(r"\bsk-[A-Za-z0-9_-]{20,}"),
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)([ \t]+)[A-Za-z0-9._~+/=-]{6,}")
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization[\"']?[ \t]*[:=][ \t]*[\"']?)[^\s\"',;][^\n\"',;]*")
_USER_INFO = re.compile(r"(://)[^/\s@\"']{1,256}@")
_PAIR = re.compile(
    r"(?i)((?:password|passwd|passphrase|pwd|secret|token(?!s\b)|credential|api[_-]?key|access[_-]?key|private[_-]?key)"
    r"[\w-]{0,30}[\"']?[ \t]{0,3}[=:][ \t]{0,3})"
    r"(\[redacted\]|\"[^\"\n]*\"?|'[^'\n]*'?|[^\s,;&\"')\]}]+)"
)


def clean(text: str) -> str:
    """The text without control sequences, control and format characters.

    What would end a line unseen shows as LINE_MARK.
    """
    text = _SEQUENCE.sub("", _lines(text))
    text = _LINE_ENDS.sub(LINE_MARK, text).expandtabs(4)
    return _UNUSUAL.sub(lambda found: "" if _hides(found[0]) else found[0], text)


def visible(text: str) -> str:
    """The text with all its characters, those that hide or steer shown as `<U+202E>`; lines and tabs stay."""
    return _UNUSUAL.sub(_shown, _lines(text))


def redact_tokens(text: str) -> str:
    """The text without what has the shape of a credential; for names, in which a word before a colon says nothing."""
    text = _KEY_BLOCK.sub(REDACTED, text)
    for pattern in _TOKENS:
        text = pattern.sub(REDACTED, text)
    text = _BEARER.sub(rf"\1\2{REDACTED}", text)
    return _USER_INFO.sub(rf"\1{REDACTED}@", text)


def redact(text: str) -> str:
    """The text without credentials:

    what has their shape, and what a header or a pair such as `token=…` names as one.
    """
    return _PAIR.sub(rf"\1{REDACTED}", _HEADER.sub(rf"\1{REDACTED}", redact_tokens(text)))


def fit(text: str, limit: int) -> str:
    """The text in at most so many characters; a cut shows."""
    return text if len(text) <= limit else text[: max(0, limit - len(CUT))] + CUT


def one_line(text: str) -> str:
    """Text from outside on one line: cleaned, redacted, line feeds shown as LINE_MARK."""
    return redact(clean(text)).strip("\n").replace("\n", LINE_MARK)


def name(text: str) -> str:
    """A name from outside on one line, with no more taken out than must be: an agent has to be able to give it back."""
    return redact_tokens(clean(text)).replace("\n", LINE_MARK)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _hides(char: str) -> bool:
    """Whether it steers a terminal, turns the direction of text, or carries text that nobody sees."""
    return unicodedata.category(char) in _HIDDEN or "\U000e0100" <= char <= "\U000e01ef"


def _shown(found: re.Match[str]) -> str:
    char = found[0]
    return f"<U+{ord(char):04X}>" if char != "\t" and (_hides(char) or char in "\u2028\u2029") else char
