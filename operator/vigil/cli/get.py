"""`vigil get`: the Watches of a cluster, or of the state folder of `vigil run`, with the columns of kubectl."""

import datetime
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from vigil.adapters import clock, files
from vigil.api import status_prior
from vigil.cli import kubeconfig as cluster_option
from vigil.cli import manifests, tables, watchlist

_COLUMNS = ("NAMESPACE", "NAME", "KIND", "SUBJECT", "PHASE", "READY", "OPEN", "WAKES", "TURNS", "AGE")


@click.command(name="get", short_help="Show Watches and where they stand.")
@click.argument("name", required=False)
@click.option("-n", "--namespace", help="The namespace; all of them without this option.")
@click.option("--json", "as_json", is_flag=True, help="Print the Watches as one JSON list.")
@click.option(
    "--state-dir",
    type=click.Path(path_type=pathlib.Path, file_okay=False, exists=True),
    help="Read the state folder of vigil run and not a cluster.",
)
@cluster_option.option("The cluster; inside a pod its own.")
def command(
    *,
    name: str | None,
    namespace: str | None,
    as_json: bool,
    state_dir: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
) -> None:
    """Show the Watches, or the one called NAME, and where they stand.

    The exit code is 0, or 1 when there is no such Watch or the cluster cannot be asked.
    """
    found = files.stored(state_dir) if state_dir is not None else watchlist.in_cluster(kubeconfig, namespace)
    shown = [watch for watch in found if _wanted(watch["metadata"], name, namespace)]
    if as_json:
        click.echo(json.dumps(shown, indent=2))
    elif shown:
        tables.show(_COLUMNS, [_row(watch) for watch in shown])
    within = "" if namespace is None else f" in the namespace {namespace}"
    if not shown and name is not None:
        manifests.fail(f"there is no Watch {name!r}{within}", code=1)
    if not shown and not as_json:
        click.echo(f"there are no Watches{within}", err=True)


def _wanted(metadata: Mapping[str, Any], name: str | None, namespace: str | None) -> bool:
    return name in (None, metadata["name"]) and namespace in (None, metadata["namespace"])


def _row(watch: Mapping[str, Any]) -> Sequence[str]:
    metadata: Mapping[str, Any] = watch["metadata"]
    status: Mapping[str, Any] = watch.get("status") or {}
    summary: Mapping[str, Any] = status.get("summary") or {}
    conditions: Sequence[Mapping[str, Any]] = status.get("conditions") or ()
    ready = next((one["status"] for one in conditions if one["type"] == "Ready"), "")
    return (
        metadata["namespace"],
        metadata["name"],
        watch.get("spec", {}).get("kind", ""),
        status_prior.cut(summary.get("subject", ""), 100),
        status.get("phase", ""),
        ready,
        str(summary.get("open", "")),
        str(summary.get("wakes", "")),
        str(summary.get("turns", "")),
        _age(metadata.get("creationTimestamp")),
    )


def _age(created: str | None) -> str:
    """The age as kubectl shows it: the largest unit only."""
    if not created:
        return ""
    seconds = clock.SystemClock().now() - datetime.datetime.fromisoformat(created).timestamp()
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * length:
            return f"{int(seconds // length)}{unit}"
    return f"{max(int(seconds), 0)}s"
