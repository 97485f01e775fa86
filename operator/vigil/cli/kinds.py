"""`vigil kinds`: what can be watched, with which objectives, and what can be heard of it."""

import json
from typing import Any

import click

from vigil.cli import manifests, tables
from vigil.kind import api


@click.command(name="kinds", short_help="List the installed kinds.")
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the keys and the schemas.")
def command(*, name: str | None, as_json: bool) -> None:
    """List the installed kinds, or show the objectives and keys of the kind NAME."""
    known = manifests.kinds()
    if name is not None and name not in known:
        manifests.fail(f"there is no kind {name!r}; kinds are: {', '.join(known)}")
    shown = [known[name]] if name is not None else list(known.values())
    if as_json:
        click.echo(json.dumps({kind.name: _described(kind) for kind in shown}, indent=2))
    elif name is None:
        _list(shown)
    else:
        _detail(shown[0])


def _described(kind: api.Kind) -> dict[str, Any]:
    return {
        "summary": kind.summary,
        "defaultHost": kind.default_host,
        "objectives": {
            name: {"summary": one.summary, "type": "finite" if one.finite else "standing"}
            for name, one in kind.objectives.items()
        },
        "keys": [
            {
                "key": key.pattern,
                "stream": key.stream,
                "severities": sorted(key.severities),
                "resetsOn": sorted(key.resets_on),
                "meaning": key.meaning,
            }
            for key in kind.keys
        ],
        "subject": kind.subject.model_json_schema(by_alias=True),
        "options": kind.options.model_json_schema(by_alias=True),
    }


def _list(kinds: list[api.Kind]) -> None:
    rows = [(kind.name, ", ".join(kind.objectives), kind.summary) for kind in kinds]
    tables.show(("KIND", "OBJECTIVES", "WATCHES"), rows)


def _detail(kind: api.Kind) -> None:
    click.echo(f"{kind.name}: {kind.summary}\n")
    for name, one in kind.objectives.items():
        click.echo(f"  {name} ({'finite' if one.finite else 'standing'}): {one.summary}")
    click.echo()
    rows = [
        (key.pattern, ", ".join(sorted(key.severities)), ", ".join(sorted(key.resets_on)), key.stream, key.meaning)
        for key in kind.keys
    ]
    tables.show(("KEY", "SEVERITY", "RESETS ON", "STREAM", "MEANING"), rows)
