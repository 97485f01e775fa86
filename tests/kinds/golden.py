"""A kind's package as the suite sees it: its files, and its golden table as values."""

import dataclasses
import datetime
import functools
import importlib
import importlib.metadata
import json
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from vigil.kind import api, registry
from vigil.model import failures, observations

NOW = "2026-01-01T00:00:00Z"
NAMESPACE = "team-a"
HOST = "example.com"


class JsonLoader(yaml.SafeLoader):
    """YAML by JSON's types only: a time, `yes` and `0x1f` are strings."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as in the base class


JsonLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"^(?:null|~|)$"), ["n", "~", ""])
JsonLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
JsonLoader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^-?(?:0|[1-9][0-9]*)$"), list("-0123456789"))
JsonLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$"),
    list("-0123456789"),
)


def load_yaml(text: str) -> Any:
    """The one document of the text."""
    return yaml.load(text, JsonLoader)


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of a golden table."""

    claim: str
    fixture: str
    objective: str
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    anchor: str = ""
    now: str = NOW
    unneeded: Sequence[str] = ()
    result: Mapping[str, Any] | None = None
    raises: str | None = None

    @property
    def instant(self) -> float:
        """The row's `now` in seconds since the epoch."""
        return datetime.datetime.fromisoformat(self.now).timestamp()


@dataclasses.dataclass(frozen=True, eq=False)
class Package:
    """One registered kind and the folder that it is in."""

    kind: api.Kind
    module: str
    root: pathlib.Path

    def text(self, name: str) -> str:
        """The text of one of its files."""
        return (self.root / name).read_text(encoding="utf-8")

    @functools.cached_property
    def golden(self) -> Mapping[str, Any]:
        """The golden file as it stands there."""
        document = load_yaml(self.text("golden.yaml"))
        assert set(document) == {"subjects", "refused", "rows"}
        return dict(document)

    @functools.cached_property
    def rows(self) -> Sequence[Row]:
        """The golden rows."""
        return [Row(**row) for row in self.golden["rows"]]

    @functools.cached_property
    def fixtures(self) -> Mapping[str, Any]:
        """The payloads by the name of their state."""
        return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in self.root.glob("fixtures/*.json")}

    def scope(self, entry: Mapping[str, Any]) -> api.Scope:
        """The scope that a row of `subjects` or `refused` names."""
        return api.Scope(entry.get("namespace", NAMESPACE), entry.get("host", self.kind.default_host or HOST))

    def observe(self, payload: Any, row: Row) -> observations.ProbeResult:
        """What the kind makes of a payload under a row's objective, options and time."""
        options = self.kind.options.model_validate(row.options)
        return self.kind.observe(api.Snapshot(payload, row.anchor), row.objective, options, row.instant)


def packages(only: Sequence[str] | None = None) -> Sequence[Package]:
    """All registered kinds, or those of these names."""
    points = {point.name: point for point in importlib.metadata.entry_points(group=registry.GROUP)}
    return [_package(kind, points[name].module) for name, kind in registry.load(only).items()]


def _package(kind: api.Kind, module: str) -> Package:
    file = importlib.import_module(module).__file__
    assert file is not None
    return Package(kind, module, pathlib.Path(file).parent)


def described(result: observations.ProbeResult) -> dict[str, Any]:
    """A result in the words of a golden row, with every field."""
    return {
        "revision": result.revision,
        "complete": result.complete,
        "pending": result.pending,
        "recheckAfter": result.recheck_after,
        "activity": result.activity,
        "waiting": result.waiting,
        "error": None if result.error is None else _failure(result.error),
        "observations": [_entry(entry) for entry in result.observations],
    }


def expected(row: Row, actual: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says, in the same form; what it leaves open is taken from what was seen."""
    assert row.result is not None
    seen_entries = list(actual["observations"])
    said = dict(row.result)
    entries = said.pop("observations")
    return {
        "revision": said.pop("revision"),
        "complete": said.pop("complete", True),
        "pending": said.pop("pending", 0),
        "recheckAfter": said.pop("recheckAfter", None),
        "activity": said.pop("activity", actual["activity"]),
        "waiting": said.pop("waiting", actual["waiting"]),
        "error": _expected_error(said.pop("error", None), actual["error"]),
        "observations": [
            _expected_entry(entry, seen_entries[index] if index < len(seen_entries) else {})
            for index, entry in enumerate(entries)
        ],
        **said,
    }


def _failure(failure: failures.Failure) -> dict[str, Any]:
    return {
        "category": str(failure.category),
        "message": failure.message,
        "retryAfter": failure.retry_after,
        "shared": failure.shared,
    }


def _entry(entry: observations.Observation) -> dict[str, Any]:
    return {
        "key": entry.key,
        "severity": str(entry.severity),
        "resetsOn": str(entry.resets_on),
        "outcome": None if entry.outcome is None else str(entry.outcome),
        "brief": entry.brief,
        "claim": entry.claim,
        "hold": entry.hold,
        "episode": entry.episode,
        "detail": entry.detail,
    }


def _expected_error(said: Mapping[str, Any] | None, seen: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if said is None else {**(seen or {}), **said}


def _expected_entry(said: Mapping[str, Any], seen: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        "outcome": None,
        "brief": "",
        "claim": False,
        "hold": 0,
        "episode": "",
        "detail": seen.get("detail", ""),
    }
    return {**defaults, **said}
