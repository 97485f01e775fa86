"""The table of small scenarios, each with the lines that `--json` prints for it."""

import dataclasses
import json
import pathlib
from typing import Any

from vigil.api import durations, scenario, yamljson
from vigil.cli import simulate
from vigil.tick import simulation

FILE = pathlib.Path(__file__).with_name("scenarios.yaml")


@dataclasses.dataclass(frozen=True)
class Row:
    """One scenario, and the objects of its lines."""

    claim: str
    text: str
    lines: list[dict[str, Any]]

    def __str__(self) -> str:
        return self.claim


def rows() -> list[Row]:
    """Every row, in the order of the file."""
    return [_row(raw) for raw in yamljson.load(FILE.read_bytes())["rows"]]


def play(text: str) -> list[dict[str, Any]]:
    """The objects that `--json` prints for a scenario."""
    made = scenario.load(text, "s.yaml")
    results = simulation.run(made.steps, made.subjects, made.limits)
    return [json.loads(json.dumps(simulate.as_object(result, several=made.several))) for result in results]


def _row(raw: dict[str, Any]) -> Row:
    steps = [step for step, _ in raw["steps"]]
    text = json.dumps({"spec": raw.get("spec"), "steps": steps})
    return Row(raw["claim"], text, [_line(durations.parse(step["at"]), told) for step, told in raw["steps"]])


def _line(at: float, told: str) -> dict[str, Any]:
    words, spent, phase = (part.strip() for part in f"{told}||".split("|")[:3])
    turns, tokens, errors = map(int, (spent or "0 0 0").split())
    return {
        "at": at,
        "verdict": None if words == "-" else _verdict(*words.split()),
        "spent": {"turns": turns, "tokens": tokens, "providerErrors": errors},
        "phase": phase or "Watching",
    }


def _verdict(type_: str, reason: str, *keys: str) -> dict[str, Any]:
    return {"type": type_, "reason": reason, "keys": list(keys)}
