"""`vigil explain`: why a Watch is quiet, entry by entry, and when that changes."""

import dataclasses
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from vigil.adapters import clock, files
from vigil.api import durations, manifest, problems, restore, status_prior, times
from vigil.api import v1alpha1_status as shape
from vigil.cli import kubeconfig as cluster_option
from vigil.cli import manifests, simulate, tables, watchlist
from vigil.kind import registry
from vigil.model import ids, limits, verdicts
from vigil.state import codec
from vigil.tick import explain, simulation


@dataclasses.dataclass(frozen=True, slots=True)
class _Told:
    """What is printed: whose explanation it is, its last verdict, and when `now` is."""

    name: str
    phase: str
    verdict: str
    explanation: explain.Explanation
    labels: Mapping[str, str]
    now: ids.Instant
    scenario: bool = False


@click.command(name="explain", short_help="Say why a Watch is quiet, and when that changes.")
@click.argument("name", required=False, metavar="WATCH")
@click.option("-n", "--namespace", default="default", show_default=True, help="The namespace of the Watch.")
@click.option(
    "--state-dir",
    type=click.Path(path_type=pathlib.Path, file_okay=False, exists=True),
    help="Read the state folder of vigil run and not a cluster.",
)
@click.option("--scenario", "scenario_file", metavar="FILE", help="Explain a step of a scenario and no Watch.")
@click.option("--at", "step", type=click.IntRange(min=1), help="The step of the scenario, counted from 1; the last.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@cluster_option.option("The cluster; inside a pod its own.")
def command(
    *,
    name: str | None,
    namespace: str,
    state_dir: pathlib.Path | None,
    scenario_file: str | None,
    step: int | None,
    as_json: bool,
    kubeconfig: pathlib.Path | None,
) -> None:
    """Say why WATCH is quiet: what keeps each open entry back, and when that changes if nothing else does.

    The answer comes from the Watch's state and the clock alone: nothing is read but the Watch.

    \b
      vigil explain api-42 -n team-a
      vigil explain api-42 -n team-a --state-dir ./state
      vigil explain --scenario policy.yaml --at 3

    The exit code is 0, 1 when the Watch cannot be had, 2 for bad input.
    """
    if (name is None) == (scenario_file is None):
        manifests.fail("name a Watch, or give --scenario FILE")
    if scenario_file is not None:
        told = _of_scenario(scenario_file, step)
    else:
        told = _of_watch(_found(name or "", namespace, state_dir, kubeconfig))
    if as_json:
        click.echo(json.dumps(_as_object(told), indent=2))
        return
    for line in _lines(told):
        click.echo(line)
    if told.explanation.entries:
        tables.show(("ENTRY", "WHY", "", "SINCE", "CHANGES"), [_row(why, told) for why in told.explanation.entries])


def _found(
    name: str, namespace: str, state_dir: pathlib.Path | None, kubeconfig: pathlib.Path | None
) -> Mapping[str, Any]:
    watches = files.stored(state_dir) if state_dir is not None else watchlist.in_cluster(kubeconfig, namespace)
    named = [one for one in watches if (one["metadata"]["name"], one["metadata"]["namespace"]) == (name, namespace)]
    return named[0] if named else manifests.fail(f"there is no Watch {name!r} in the namespace {namespace}", code=1)


def _of_scenario(source: str, step: int | None) -> _Told:
    played = simulate.read(source)
    if step is not None and step > len(played.steps):
        manifests.fail(f"the scenario has {len(played.steps)} steps")
    last = list(simulation.run(played.steps[:step], played.subjects, played.limits))[-1]
    opened = explain.opened_by(last.reading, last.state, played.limits.policy)
    several = played.several
    return _Told(
        name=f"step {step or len(played.steps)} of {source}",
        phase=last.phase.value,
        verdict="" if last.verdict is None else f"{type(last.verdict).__name__} {last.verdict.reason}",
        explanation=explain.explain(last.state, opened, played.limits, last.at),
        labels={subject: subject if several else "" for subject in played.subjects},
        now=last.at,
        scenario=True,
    )


def _of_watch(watch: Mapping[str, Any]) -> _Told:
    metadata, now = watch["metadata"], clock.SystemClock().now()
    status: Mapping[str, Any] = watch.get("status") or {}
    name = f"{metadata['namespace']}/{metadata['name']}"
    state = restore.state_of(status, ids.WatchUid(metadata["uid"]))
    if isinstance(state, codec.Quarantined):
        manifests.fail(f"{name}: {state.reason}: {state.detail}", code=1)
    if state is None:
        manifests.fail(f"{name} was not evaluated yet", code=1)
    prior = status_prior.read(status).status
    under = _limits(watch.get("spec") or {})
    labels = {one.id: one.label if len(prior.subjects) > 1 else "" for one in prior.subjects}
    return _Told(
        name=name,
        phase="" if prior.phase is None else prior.phase.value,
        verdict="" if prior.verdict is None else f"{prior.verdict.type} {prior.verdict.reason}",
        explanation=explain.explain(state, list(_opened(prior)), under, now),
        labels=labels,
        now=now,
    )


def _limits(spec: Mapping[str, Any]) -> limits.Limits:
    """The limits of a Watch's spec; whether its objective is finite is known where its kind is installed."""
    try:
        kind = registry.load().get(str(spec.get("kind", "")))
        objective = None if kind is None else kind.objectives.get(str(spec.get("objective", "")))
        finite = objective is None or objective.finite
        return manifest.parse_limits(spec.get("policy"), spec.get("budgets"), finite=finite)
    except (registry.KindLoadError, problems.InvalidManifest) as error:
        manifests.fail(str(error))


def _opened(prior: shape.WatchStatus) -> Iterator[explain.Open]:
    """The open entries of a status: it knows that an entry is held or withheld, and not for how long it must be."""
    ids_of = {one.label: ids.SubjectId(one.id) for one in prior.subjects}
    unread = {one.id for one in prior.subjects if one.phase is shape.SubjectPhase.UNREADABLE}
    for one in prior.observations:
        subject = ids_of.get(one.subject, ids.SubjectId(one.subject))
        identity = verdicts.Identity(subject, one.key, one.revision, one.episode or "")
        yield explain.Open(
            identity,
            hold=None if one.state is shape.Standing.HOLDING else 0,
            claim=one.state is shape.Standing.WITHHELD,
            read=subject not in unread,
        )


def _lines(told: _Told) -> Iterator[str]:
    yield "  ".join(part for part in (told.name, told.phase, told.verdict) if part)
    for fact in told.explanation.facts:
        since = "" if fact.since is None else f", since {_time(fact.since, told)}"
        until = "" if fact.until is None else f", until {_time(fact.until, told)}"
        yield f"  {status_prior.cut(fact.text, 200)}{since}{until}"


def _row(why: explain.Why, told: _Told) -> Sequence[str]:
    label = told.labels.get(why.identity.subject, "")
    key = status_prior.cut(f"{label}#{why.identity.key}" if label else why.identity.key, 200)
    since = "" if why.fact.since is None else _time(why.fact.since, told)
    until = "" if why.fact.until is None else _time(why.fact.until, told)
    return (key, why.because.value, status_prior.cut(why.fact.text, 200), since, until)


def _time(at: ids.Instant, told: _Told) -> str:
    """A time for people: where it is, and how far away."""
    passed = told.now - at
    away = f"{durations.render(round(passed))} ago" if passed >= 0 else f"in {durations.render(round(-passed))}"
    if told.scenario:
        return f"{durations.render(at)} ({away})"
    return f"{times.render(at)} ({away})"


def _as_object(told: _Told) -> dict[str, Any]:
    return {
        "name": told.name,
        "phase": told.phase,
        "verdict": told.verdict,
        "facts": [{"text": fact.text, **_when(fact, told)} for fact in told.explanation.facts],
        "entries": [
            {
                "subject": why.identity.subject,
                "key": why.identity.key,
                "because": why.because.value,
                "text": why.fact.text,
                **_when(why.fact, told),
            }
            for why in told.explanation.entries
        ],
    }


def _when(fact: explain.Fact, told: _Told) -> dict[str, Any]:
    """The times as RFC 3339, those of a scenario in seconds from its start."""
    moments = {"since": fact.since, "until": fact.until}
    return {name: at if told.scenario else times.render(at) for name, at in moments.items() if at is not None}
