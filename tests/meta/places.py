"""Where things are."""

import pathlib
import tomllib
from typing import Any

ROOT = pathlib.Path(__file__).parents[2]
VIGIL = ROOT / "operator" / "vigil"
KINDS = ROOT / "kinds" / "vigil_kinds"
PROVIDERS = ROOT / "kinds" / "vigil_providers"
SHIPPED = (VIGIL, KINDS, PROVIDERS)
"""What is in the wheel."""


def project() -> dict[str, Any]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def sources(*folders: pathlib.Path) -> list[pathlib.Path]:
    """The Python files below these folders."""
    found = sorted(path for folder in folders for path in folder.rglob("*.py"))
    assert found
    return found
