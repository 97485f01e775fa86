"""`vigil simulate`: what the engine decides in a made-up course of events, so that a policy can be tried."""

import json
import pathlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from vigil.api import durations, problems, scenario, status_prior
from vigil.cli import manifests, tables
from vigil.model import failures, ids, observations
from vigil.tick import simulation

SHOWN: Final = 2000
"""Characters of one cell of the table."""


@click.command(name="simulate", short_help="Try a policy on a made-up course of events.")
@click.argument("source", metavar="SCENARIO")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a step.")
def command(*, source: str, as_json: bool) -> None:
    """Decide every step of SCENARIO (a YAML file, or - for standard input) and print the verdicts.

    A scenario holds the policy and the budgets of a Watch, and what is read when. No cluster, clock or network is
    asked: the same file gives the same verdicts.

    \b
      spec: {policy: {coalesce: {window: 4m}}}
      steps:
        - {at: 0s, pending: 1, observations: [{key: red, severity: Wake, resetsOn: Revision}]}
        - {at: 5m, observations: [{key: red, severity: Wake, resetsOn: Revision}]}
        - {at: 6m, delivery: {state: Completed, tokens: 1200}}

    The exit code is 0, or 2 for a scenario that is not valid.
    """
    played = read(source)
    results = simulation.run(played.steps, played.subjects, played.limits)
    if as_json:
        for result in results:
            click.echo(json.dumps(as_object(result, several=played.several)))
        return
    rows = [_row(step, result, several=played.several) for step, result in zip(played.steps, results, strict=True)]
    tables.show(("AT", "READ", "VERDICT", "TURNS", "TOKENS", "ERRORS", "PHASE"), rows)


def read(source: str) -> scenario.Scenario:
    """The scenario of a file; what is wrong with it ends the command with exit code 2."""
    name = "standard input" if source == "-" else source
    try:
        return scenario.load(_text(source), name)
    except OSError as error:
        manifests.fail(f"{name}: {error.strerror}")
    except problems.InvalidManifest as error:
        manifests.fail(str(error))


def _text(source: str) -> bytes:
    """What stands in a file, to one byte more than is taken: the rest is refused unread."""
    if source == "-":
        return sys.stdin.buffer.read(scenario.MAX_BYTES + 1)
    with pathlib.Path(source).open("rb") as file:
        return file.read(scenario.MAX_BYTES + 1)


def as_object(result: simulation.Result, *, several: bool) -> dict[str, Any]:
    """One step as it is printed for machines; `several` says that keys need the name of their subject."""
    verdict, spent = result.verdict, result.state.spent
    told = None if verdict is None else {"type": type(verdict).__name__, "reason": verdict.reason}
    return {
        "at": int(result.at) if float(result.at).is_integer() else result.at,
        "verdict": None if told is None else {**told, "keys": _keys(result, several=several)},
        "spent": {"turns": spent.turns, "tokens": spent.tokens, "providerErrors": result.provider_errors},
        "phase": result.phase.value,
    }


def _keys(result: simulation.Result, *, several: bool) -> list[str]:
    return sorted({f"{one.subject}#{one.key}" if several else one.key for one in result.identities})


def _row(step: simulation.Step, result: simulation.Result, *, several: bool) -> Sequence[str]:
    spent = result.state.spent
    numbers = (str(spent.turns), str(spent.tokens), str(result.provider_errors))
    return (
        _offset(step.at),
        status_prior.cut("; ".join(_events(step, result, several=several)), SHOWN),
        _verdict(result, several=several),
        *numbers,
        result.phase.value,
    )


def _verdict(result: simulation.Result, *, several: bool) -> str:
    verdict = result.verdict
    if verdict is None:
        return "-"
    told = f"{type(verdict).__name__} {verdict.reason}"
    keys = _keys(result, several=several)
    return status_prior.cut(f"{told}: {', '.join(keys)}", SHOWN) if keys else told


def _offset(seconds: ids.Instant) -> str:
    return f"-{durations.render(-seconds)}" if seconds < 0 else durations.render(seconds)


def _events(step: simulation.Step, result: simulation.Result, *, several: bool) -> Iterator[str]:
    """What happens in a step, in a few words."""
    if step.delivery is not None:
        said = [f"{one.key} {one.disposition}" for one in step.delivery.dispositions]
        told = f" ({', '.join(said)})" if said else ""
        state = step.delivery.state.value
        yield f"wake {state}, but none is in flight" if result.missed else f"wake {state}{told}"
    if step.answer is not None:
        yield f"answer to {step.answer[0]}"
    if step.silence_until is not None:
        yield f"silence until {_offset(step.silence_until)}"
    if step.readings is not None:
        yield from (_read(name, shown, several=several) for name, shown in step.readings.items())
        if not step.readings:
            yield "the same again"


def _read(name: ids.SubjectId, shown: simulation.Shown, *, several: bool) -> str:
    label = f"{name}: " if several else ""
    if isinstance(shown, failures.Failure):
        return f"{label}{shown.category}"
    result = shown.result
    facts = [_entry(one) for one in result.observations] or ["nothing open"]
    facts += [f"at {shown.revision}"] if shown.revision else []
    facts += [f"{result.pending} pending"] if result.pending else []
    facts += [] if result.complete else ["incomplete"]
    return f"{label}{', '.join(facts)}"


def _entry(one: observations.Observation) -> str:
    return one.key if one.severity is observations.Severity.WAKE else f"{one.key} ({one.severity.lower()})"
