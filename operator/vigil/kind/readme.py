"""The tables of a kind's README, rendered from its registration, so that no document says what the code does not."""

import re
from collections.abc import Collection, Sequence
from typing import Final

from vigil.kind import api

FILE_NAME: Final = "README.md"


class MarkerError(ValueError):
    """A README lacks the pair of markers of a table, or has it twice."""


def objectives(kind: api.Kind) -> str:
    """The table of the kind's objectives."""
    rows = [(f"`{name}`", "finite" if one.finite else "standing", one.summary) for name, one in kind.objectives.items()]
    return _table(("objective", "end", "met when"), rows)


def keys(kind: api.Kind) -> str:
    """The table of the kind's keys."""
    rows = [
        (f"`{k.pattern}`", _words(k.severities), _words(k.resets_on), f"`{k.stream}`", k.meaning) for k in kind.keys
    ]
    return _table(("key", "severity", "resets on", "stream", "meaning"), rows)


def rewrite(text: str, kind: api.Kind) -> str:
    """The README with both tables as they have to be; the same text if they already are. Raises MarkerError."""
    return _replace(_replace(text, "objectives", objectives(kind)), "keys", keys(kind))


def _replace(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    pattern = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if text.count(begin) != 1 or text.count(end) != 1 or not pattern.search(text):
        raise MarkerError(f"needs {begin} and, on a later line, {end}, each exactly once")
    return pattern.sub(lambda _: f"{begin}\n{table}{end}", text)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"{_row(cells)}\n" for cells in (head, ["---"] * len(head), *rows))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _words(values: Collection[str]) -> str:
    return ", ".join(sorted(values))
