"""The process in which expressions are evaluated, and the only file that knows the CEL library.

The library holds the interpreter's lock while it evaluates, so neither a thread nor a signal handler can stop it. Here
the kernel does: each expression, and each request as a whole, has a timer of CPU time whose signal ends the process.
CPU time and not the wall clock, so that a busy machine does not decide what a Watch sees. Memory is bounded in the same
way: what needs more ends the process.

The file is run by its path, isolated (`python -I`), with no environment; it imports nothing of Vigil. It reads one
request a line and answers one line an expression, in their order, so that the side that asks knows which expression a
process ended at.
"""

import datetime
import enum
import functools
import hashlib
import json
import re
import resource
import signal
import sys
import types
from collections.abc import Callable
from typing import IO, Any, Final

# The package imports its command line, and with it a terminal toolkit: 1.4 s of CPU instead of 0.05 s at each start.
sys.modules.setdefault("cel.cli", types.ModuleType("cel.cli"))

import cel  # noqa: E402 - after the line above
from cel import stdlib  # noqa: E402 - as above

MEMORY: Final = 256 * 1024 * 1024
"""Bytes of address space that a worker may have."""

NAME_LIMIT: Final = 200
"""Characters of a name; a longer one is given as its digest."""

TEXT_LIMIT: Final = 1000
"""Characters of a text that are given back."""

COUNT_LIMIT: Final = 1_000_000
"""The largest count."""

_ERROR_LIMIT = 200
_UNFIT = re.compile(r"Undefined variable or function: '([^']*)'")

NATIVE_FUNCTIONS: Final = frozenset(
    {
        "bytes",
        "contains",
        "double",
        "duration",
        "dyn",
        "endsWith",
        "getDate",
        "getDayOfMonth",
        "getDayOfWeek",
        "getDayOfYear",
        "getFullYear",
        "getHours",
        "getMilliseconds",
        "getMinutes",
        "getMonth",
        "getSeconds",
        "hasValue",
        "int",
        "matches",
        "none",
        "of",
        "ofNonZeroValue",
        "or",
        "orValue",
        "size",
        "startsWith",
        "string",
        "timestamp",
        "type",
        "uint",
        "value",
    }
)
"""The functions that the library has without its extensions; those of optional values go by their last word."""

FUNCTIONS: Final = NATIVE_FUNCTIONS | {name.rpartition(".")[2] for name in stdlib.STDLIB_FUNCTIONS}
"""All functions that an expression may call, each by its last word: `greatest` for `math.greatest`."""


class Shape(enum.StrEnum):
    """What is made of the value that an expression gives."""

    TRUTH = "truth"
    """true or false, and nothing else."""
    COUNT = "count"
    """A whole number from 0 to COUNT_LIMIT; true is 1."""
    NAME = "name"
    """A string, a whole number or a truth value as text of at most NAME_LIMIT characters."""
    TEXT = "text"
    """The same or a fraction, as text that is cut at TEXT_LIMIT characters."""
    DIGEST = "digest"
    """A digest of any value."""


@functools.lru_cache(maxsize=512)
def compiled(source: str) -> cel.Program:
    """The program of an expression; raises ValueError for what is no expression."""
    return cel.compile(source)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"it gives {_kind_of(value)}, and true or false is wanted")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value <= COUNT_LIMIT:
        raise TypeError(f"it gives {_kind_of(value)}, and a count from 0 to {COUNT_LIMIT} is wanted")
    return int(value)


def _name(value: Any) -> str:
    if not isinstance(value, str | int):
        raise TypeError(f"it gives {_kind_of(value)}, and a string is wanted")
    text = _spelled(value)
    return text if len(text) <= NAME_LIMIT else _digest(text)


def _text(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise TypeError(f"it gives {_kind_of(value)}, and a string is wanted")
    return _spelled(value)[:TEXT_LIMIT]


def _spelled(value: str | float) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def _plain(value: Any) -> Any:
    match value:
        case datetime.datetime():
            return value.isoformat()
        case datetime.timedelta():
            return value.total_seconds()
        case bytes():
            return value.hex()
        case cel.OptionalValue():
            return [value.value()] if value.has_value() else []
        case _:
            raise TypeError(f"it gives {_kind_of(value)}, of which there is no digest")


_SHAPED: Final[dict[Shape, Callable[[Any], bool | int | str]]] = {
    Shape.TRUTH: _truth,
    Shape.COUNT: _count,
    Shape.NAME: _name,
    Shape.TEXT: _text,
    Shape.DIGEST: _digest,
}

_KINDS: Final[dict[type[object], str]] = {
    type(None): "null",
    bool: "true or false",
    int: "a whole number",
    float: "a fraction",
    str: "a string",
    list: "a list",
    dict: "a map",
    bytes: "bytes",
    datetime.datetime: "a timestamp",
    datetime.timedelta: "a duration",
}


def _kind_of(value: object) -> str:
    return _KINDS.get(type(value), "a value of another kind")


def _sentence(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"there is no field {error}"[:_ERROR_LIMIT]
    said = str(error).strip().partition("\n")[0] or type(error).__name__
    unfit = _UNFIT.match(
        said
    )  # The names were checked before: the function is there, and its argument is of another kind.
    return (f"{unfit[1]} does not take a value of this kind" if unfit else said)[:_ERROR_LIMIT]


def _answer(source: str, shape: Shape, context: cel.Context | str) -> dict[str, Any]:
    if isinstance(context, str):
        return {"error": context}
    try:
        return {"value": _SHAPED[shape](compiled(source).execute(context))}
    except BaseException as error:  # noqa: BLE001, RUF100 - a panic of the library is a BaseException, and is this expression's own failure
        return {"error": _sentence(error)}


def _context(request: dict[str, Any]) -> cel.Context | str:
    """The variables and functions, or why CEL has no place for this document."""
    try:
        moment = datetime.datetime.fromtimestamp(request["now"], tz=datetime.UTC)
        context = cel.Context({"body": request["body"], "status": request["status"], "now": moment})
        stdlib.add_stdlib_to_context(context)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever the library raises is about the document
        return f"the document holds what CEL cannot: {_sentence(error)}"
    return context


def _serve(request: dict[str, Any], answers: IO[bytes]) -> None:
    """Answer one request; an expression whose condition is not known to hold gets an empty answer."""
    signal.setitimer(signal.ITIMER_PROF, request["all"])
    context = _context(request)
    holds = {"", *request["known"]}
    left = len(request["expressions"])
    for name, source, shape, condition in request["expressions"]:
        answer: dict[str, Any] = {}
        if condition in holds:
            signal.setitimer(signal.ITIMER_VIRTUAL, request["each"])
            answer = _answer(source, Shape(shape), context)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if answer.get("value") is True:
            holds.add(name)
        left -= 1
        if not left:  # No timer may run on once the last answer is out: the process is then another request's.
            signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _confine() -> None:
    """Let the timers end this process, whatever was inherited, and bound what it may use."""
    for number in (signal.SIGVTALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def main() -> None:
    """Serve until the other side closes."""
    _confine()
    for line in sys.stdin.buffer:
        _serve(json.loads(line), sys.stdout.buffer)


if __name__ == "__main__":
    main()
