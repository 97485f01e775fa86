"""Fixtures that are written by a reader: the files of a kind whose payloads are too large to keep true by hand."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any


def rendered(payloads: Mapping[str, Any]) -> dict[str, str]:
    """The text of each fixture's file, by the name of its state."""
    return {
        name: json.dumps(payload, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        for name, payload in payloads.items()
    }


def written(folder: pathlib.Path) -> dict[str, str]:
    """What the files of a folder hold, in the same form."""
    return {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}


def write(folder: pathlib.Path, payloads: Mapping[str, Any]) -> None:
    """Make the folder hold these fixtures and no others."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.json"):
        if path.stem not in payloads:
            path.unlink()
    for name, text in rendered(payloads).items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
