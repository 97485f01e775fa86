"""What is wrong with an expression before anything is evaluated: its syntax, and names that there are not."""

import re
from typing import Final

from vigil_kinds.http_json import worker

VARIABLES: Final = ("body", "now", "status")
"""What an expression is about."""

_TYPES = frozenset(
    {"bool", "bytes", "double", "duration", "int", "list", "map", "null_type", "string", "timestamp", "type", "uint"}
)
_NAMESPACES = frozenset({"base64", "lists", "math", "optional", "sets", "strings"})
_BOUND = re.compile(r"\.\s*(?:all|exists|exists_one|filter|map)\s*\(\s*([A-Za-z_]\w*)\s*,")
_WORD = re.compile(r"[A-Za-z]")
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): (?:Syntax error: )?([^\n]*)")
_DEEP = "Recursion limit"
_SAID_LIMIT = 160


def problem(source: str) -> str | None:
    """Why this text is no expression that could ever give a value, as the rest of a sentence; None if it is one.

    It compiles in this process: the parser of at most 1,000 characters takes milliseconds and bounds its own depth.
    """
    try:
        program = worker.compiled(source)
    except Exception as error:  # noqa: BLE001, RUF100 - whatever the parser raises is a fault of the text
        return f"is not CEL: {_said(str(error))}"
    variables = set(program.variables()) - {*VARIABLES, *_TYPES, *_NAMESPACES, *_BOUND.findall(source)}
    if variables:
        return f"names {min(variables)}, which is not there; there are {', '.join(VARIABLES)}"
    functions = {name for name in program.functions() if _WORD.match(name)} - worker.FUNCTIONS
    if functions:
        return f"calls {min(functions)}, and there is no such function"
    return None


def _said(text: str) -> str:
    if _DEEP in text:
        return "it is nested too deeply"
    found = _PLACE.search(text)
    if not found:
        return text.partition("\n")[0][:_SAID_LIMIT]
    line, column, said = found.groups()
    return f"{said.partition(' expecting ')[0][:_SAID_LIMIT]} (line {line}, column {column})"
