"""The scenarios of docs/policies.md, each followed by the table that `vigil simulate` prints for it.

`python -m tests.docs.policies` writes the tables anew, for somebody who then reads what changed.
"""

import dataclasses
import pathlib
import re
from typing import Final

from click import testing

from vigil.cli import simulate

DOCUMENT: Final = pathlib.Path(__file__).parents[2] / "docs" / "policies.md"
_SCENARIO: Final = re.compile(r"```yaml\n(?P<scenario>.*?)```\n\n```text\n(?P<table>.*?)```", re.DOTALL)
_HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Documented:
    """One scenario with its table; `heading` is that of its section, `place` its number in the document."""

    heading: str
    place: int
    scenario: str
    table: str

    def __str__(self) -> str:
        return f"{self.place}: {self.heading}"


def documented() -> list[Documented]:
    """All scenarios of the document."""
    text = DOCUMENT.read_text()
    headings = [(found.start(), found[1]) for found in _HEADING.finditer(text)]
    return [
        Documented(
            heading=[title for start, title in headings if start < found.start()][-1],
            place=place,
            scenario=found["scenario"],
            table=found["table"],
        )
        for place, found in enumerate(_SCENARIO.finditer(text), start=1)
    ]


def printed(scenario: str) -> str:
    """What the command prints for a scenario, without the blanks at the ends of its lines."""
    ran = testing.CliRunner().invoke(simulate.command, ["-"], input=scenario)
    assert ran.exit_code == 0, ran.output
    return "".join(f"{line.rstrip()}\n" for line in ran.output.splitlines())


def written_anew(text: str) -> str:
    """The document with the tables as they are now."""
    return _SCENARIO.sub(lambda one: f"```yaml\n{one[1]}```\n\n```text\n{printed(one[1])}```", text)


if __name__ == "__main__":
    DOCUMENT.write_text(written_anew(DOCUMENT.read_text()))
