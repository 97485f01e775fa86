"""The table of manifests: one base, and what each row makes of it."""

import copy
import dataclasses
import pathlib
from typing import Any

from vigil.api import yamljson

FILE = pathlib.Path(__file__).with_name("manifests.yaml")

BASE: dict[str, Any] = {
    "apiVersion": "vigil.dev/v1alpha1",
    "kind": "Watch",
    "metadata": {"name": "api"},
    "spec": {"kind": "toy", "objective": "done", "subjects": [{"name": "api"}]},
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One manifest, and what is to be said of it."""

    claim: str
    valid: bool
    manifest: dict[str, Any]
    at: str = ""
    says: str = ""


def rows() -> list[Row]:
    """Every row, in the order of the file."""
    return [_row(raw) for raw in yamljson.load(FILE.read_bytes())]


def _row(raw: dict[str, Any]) -> Row:
    manifest = copy.deepcopy(BASE)
    for path, value in raw.get("set", {}).items():
        put(manifest, path, value)
    for path in raw.get("remove", []):
        parent, name = _parent(manifest, path)
        del parent[name]
    if "repeat" in raw:
        put(manifest, raw["repeat"]["path"], _repeated(**raw["repeat"]))
    return Row(raw["claim"], raw["valid"], manifest, raw.get("at", ""), raw.get("says", ""))


def put(manifest: dict[str, Any], path: str, value: object) -> None:
    """Put a value at a dotted path, with the objects that it needs."""
    parent, name = _parent(manifest, path)
    parent[name] = value


def _parent(manifest: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *parents, name = path.split(".")
    for parent in parents:
        manifest = manifest.setdefault(parent, {})
    return manifest, name


def _repeated(path: str, count: int, item: Any, **more: Any) -> Any:
    """A text or a list that is so long; in the place of `$` in an object, where one is given."""
    value = item * count if isinstance(item, str) else [item] * count
    whole = more.get("as")
    return {name: value if part == "$" else part for name, part in whole.items()} if whole else value
