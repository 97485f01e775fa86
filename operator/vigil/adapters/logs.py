"""Logging: one line an event on the standard error, in UTC, without secrets; structlog and the standard library alike.

Libraries that would log a line a tick, or the bodies of answers (Secrets among them), are held at a level of their own.
"""

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO, TypeAlias, TypeGuard

import structlog

REDACTED: Final = "[redacted]"

Event: TypeAlias = MutableMapping[str, Any]
Processor: TypeAlias = Callable[[Any, str, Event], Event]

QUIET_LIBRARIES: Final[Mapping[str, int]] = {
    "kopf": logging.WARNING,  # INFO has a line for every tick of every timer
    "kubernetes": logging.INFO,  # DEBUG has the bodies of all answers, those with Secrets too
    "urllib3": logging.INFO,  # DEBUG has the query of every URL
    "aiohttp.access": logging.WARNING,
    "uvicorn.access": logging.WARNING,
    "sqlalchemy.engine": logging.WARNING,  # INFO has every statement with its parameters
    "asyncio": logging.INFO,
}
"""The lowest level of each library: it can be raised by the level of the process, never lowered."""

_SECRET_NAME = re.compile(
    r"(?i)(token|secret|passw(or)?d|authorization|api[-_]?key|private[-_]?key|cookie|signature)s?$"
)
_SECRET_TEXT: Final = (
    (re.compile(r"(?i)\b(bearer|basic|token)\s+[A-Za-z0-9._~+/=-]{8,}"), rf"\1 {REDACTED}"),
    (re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^/\s@:]*:?[^/\s@]*@"), rf"\1{REDACTED}@"),
    (re.compile(r"(?i)([?&][\w-]*(?:token|secret|key|password|signature|sig)=)[^&\s\"']+"), rf"\1{REDACTED}"),
    (re.compile(r"\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[\w-]{10,}"), REDACTED),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+"), REDACTED),
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"), REDACTED),
)
_DEPTH: Final = 4


def configure(
    level: str, form: Literal["json", "console"], *, stream: TextIO | None = None, cache: bool = True
) -> None:
    """Send every log of the process to one stream, the standard error by default; what was set up before is replaced.

    `level` is DEBUG, INFO, WARNING or ERROR. `cache` False lets loggers that exist follow a later call.
    """
    shared = _shared()
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=cache,
    )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=list(_rendering(form)))
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name, lowest in QUIET_LIBRARIES.items():
        logging.getLogger(name).setLevel(max(lowest, root.level))
    logging.captureWarnings(capture=True)


def redact(text: str) -> str:
    """The text with what looks like a credential taken out: bearer tokens, a URL's user and key, known token forms."""
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text


def without_secrets(_logger: Any, _method: str, event: Event) -> Event:
    """A processor that blanks values under a secret's name and redacts all other text."""
    for name, value in event.items():
        event[name] = _clean(name, value, _DEPTH)
    return event


def _clean(name: str, value: Any, depth: int) -> Any:
    if _SECRET_NAME.search(name) and isinstance(value, str | bytes):
        return REDACTED
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, BaseException):
        return redact(f"{type(value).__name__}: {value}")
    if _is_mapping(value):
        return {str(key): _clean(str(key), item, depth - 1) for key, item in value.items()} if depth else REDACTED
    if _is_collection(value):
        return [_clean(name, item, depth - 1) for item in value] if depth else REDACTED
    return value


# These two say to both type checkers what the items are: anything.
def _is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return isinstance(value, Mapping)


def _is_collection(value: object) -> TypeGuard[Iterable[Any]]:
    return isinstance(value, list | tuple | set | frozenset)


def _text(value: object) -> str:
    return redact(repr(value))


def _shared() -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
        structlog.processors.StackInfoRenderer(),
    ]


def _rendering(form: Literal["json", "console"]) -> Iterator[Any]:
    # The traceback is text before the secrets are looked for: an exception's message may hold one.
    yield structlog.stdlib.ProcessorFormatter.remove_processors_meta
    yield structlog.processors.format_exc_info
    yield structlog.processors.UnicodeDecoder()
    yield without_secrets
    if form == "json":
        yield structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=False, default=_text)
    else:
        yield structlog.dev.ConsoleRenderer(colors=False)
