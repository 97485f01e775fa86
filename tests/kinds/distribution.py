"""A kind of another distribution, in a folder as an installer lays it out: all that its author has to write."""

import importlib
import json
import pathlib
import textwrap
from collections.abc import Mapping

from vigil.kind import api, readme, schema

NAME = "acme_gauge"

_INIT = '''
"""A gauge that has to reach its mark."""

from acme_gauge import observe, read, subject
from vigil.kind import api
from vigil.model import observations

KIND = api.Kind(
    name="acme_gauge",
    summary="A gauge that has to reach its mark.",
    subject=subject.Gauge,
    objectives={"reached": api.Objective("The gauge stands at its mark.")},
    keys=(
        api.Key(
            "reached",
            "gauge",
            frozenset({observations.Severity.TERMINAL}),
            frozenset({observations.ResetsOn.NEVER}),
            "The gauge stands at its mark. Succeeded.",
        ),
    ),
    reader=read.GaugeReader,
    observe=observe.observe,
    default_host="gauges.example.com",
)
'''

_SUBJECT = '''
"""The subject: a gauge by its name."""

from vigil.kind import api


class Gauge(api.Subject):
    """A gauge."""

    name: str

    def identity(self, scope: api.Scope) -> str:
        """Its name, whatever its case."""
        return self.name.lower()

    def label(self) -> str:
        """Its name."""
        return self.name
'''

_READ = '''
"""The IO half."""

import json

from vigil.kind import api


class GaugeReader:
    """Reads one gauge a request."""

    def __init__(self, transport):
        self._transport = transport

    async def read(self, wanted, budget):
        """Every gauge's own answer."""
        return {key: api.Snapshot(await self._gauge(one.subject.name, budget)) for key, one in wanted.items()}

    async def _gauge(self, name, budget):
        answer = await self._transport.request("GET", f"/gauges/{name}", timeout=budget.timeout)
        return json.loads(answer.body)
'''

_OBSERVE = '''
"""The pure half."""

from vigil.kind import transport
from vigil.model import failures, observations


def observe(snapshot, objective, options, now):
    """One entry at the mark, none below it."""
    match snapshot.payload:
        case {"value": int(value), "mark": int(mark)}:
            return observations.ProbeResult(_reached() if value >= mark else (), revision="", pending=int(value < mark))
        case _:
            raise transport.ReadError(failures.Failure(failures.Category.MALFORMED, "not a gauge"))


def _reached():
    return (
        observations.Observation(
            "reached",
            observations.Severity.TERMINAL,
            observations.ResetsOn.NEVER,
            outcome=observations.Outcome.SUCCEEDED,
        ),
    )
'''

_GOLDEN = """
subjects:
  - {items: [{name: north}, {name: North}]}
  - {items: [{name: south}]}
refused:
  - {subject: {}, at: name}
rows:
  - claim: A gauge at its mark has reached it.
    fixture: at-the-mark
    objective: reached
    unneeded: [unit]
    result:
      revision: ""
      observations: [{key: reached, severity: Terminal, resetsOn: Never, outcome: Succeeded}]
  - claim: A gauge below its mark is pending.
    fixture: below
    objective: reached
    result: {revision: "", pending: 1, observations: []}
"""

_README = """
# acme_gauge

```yaml
apiVersion: vigil.dev/v1alpha1
kind: Watch
metadata: {name: north, namespace: team-a}
spec: {kind: acme_gauge, objective: reached, subjects: [{name: north}]}
```

<!-- generated: objectives -->
<!-- end: objectives -->

<!-- generated: keys -->
<!-- end: keys -->
"""

_PACKAGE: Mapping[str, str] = {
    "__init__.py": _INIT,
    "subject.py": _SUBJECT,
    "read.py": _READ,
    "observe.py": _OBSERVE,
    "golden.yaml": _GOLDEN,
    "README.md": _README,
    "fixtures/at-the-mark.json": json.dumps({"value": 7, "mark": 7, "unit": "m"}),
    "fixtures/below.json": json.dumps({"value": 6, "mark": 7, "unit": "m"}),
}


def declare(site: pathlib.Path, name: str, value: str, *, distribution: str = "acme-kinds") -> None:
    """Write the metadata of a distribution whose entry point `name` is `value`."""
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    _write(info / "METADATA", f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    _write(info / "entry_points.txt", f"[vigil.kinds]\n{name} = {value}\n")


def write_module(site: pathlib.Path, name: str, text: str) -> None:
    """Write one module."""
    _write(site / f"{name}.py", textwrap.dedent(text))


def write_kind(site: pathlib.Path) -> None:
    """Write the distribution of NAME, complete but for what is generated."""
    declare(site, NAME, f"{NAME}:KIND")
    for file, text in _PACKAGE.items():
        _write(site / NAME / file, text.lstrip("\n"))


def generate(site: pathlib.Path, kind: api.Kind) -> None:
    """Write what is generated from the loaded kind, as its author would."""
    _write(site / NAME / schema.FILE_NAME, schema.render(kind))
    _write(site / NAME / readme.FILE_NAME, readme.rewrite(_README.lstrip("\n"), kind))


def _write(path: pathlib.Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    importlib.invalidate_caches()
