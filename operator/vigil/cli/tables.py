"""Tables for people: as wide as the terminal, and never folded where another program reads them."""

from collections.abc import Iterable, Sequence
from typing import Final

import rich.console
import rich.table

UNFOLDED: Final = 10_000
"""Columns of a table that goes into a pipe."""


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; what stands in a cell is text and nothing else."""
    # A label such as [red] or :bell: is no markup.
    console = rich.console.Console(markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = UNFOLDED
    table = rich.table.Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)
