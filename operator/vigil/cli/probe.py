"""`vigil probe`: read the subjects once and show what they say, deliver nothing and remember nothing."""

import asyncio
import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import click

from vigil import ports
from vigil.adapters import clock, signals
from vigil.api import status_prior
from vigil.cli import local, manifests
from vigil.model import failures, observations
from vigil.scheduler import plans, reads
from vigil.tick import enrolment, gather, memory


@click.command(name="probe", short_help="Read the subjects of Watches once and print their entries.")
@manifests.files_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a subject.")
@local.local_options
def command(
    *,
    filenames: tuple[str, ...],
    as_json: bool,
    allow_address: tuple[str, ...],
    credentials: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
) -> None:
    """Read the subjects of the Watches in FILE once and print their entries; deliver nothing.

    The exit code is 0 when every subject was read, 1 when one could not be, 2 for a manifest that is not valid.
    """
    watches = manifests.load(filenames, manifests.kinds())
    options = local.parsed(allow_address, credentials, kubeconfig)
    try:
        known = asyncio.run(_probe(watches, options))
    except local.ClusterError as error:
        manifests.fail(str(error), code=1)
    for one in known:
        for line in _json_lines(one) if as_json else _lines(one):
            click.echo(line)
    failed = any(isinstance(of, failures.Failure) for one in known for of in one.current.reading.values())
    raise SystemExit(1 if failed else 0)


async def _probe(watches: list[enrolment.Enrolment], options: local.Local) -> list[memory.Memory]:
    system = clock.SystemClock()
    # Asked by hand, a suspended Watch is read too.
    awake = [dataclasses.replace(watch, suspend=False) for watch in watches]
    known = [memory.begin(watch, memory.Stored(), system.now()) for watch in awake]
    async with local.guarded(options) as guarded, local.transports(options, guarded, watches) as transports:
        return await _read(known, transports, system)


async def _read(known: list[memory.Memory], transports: ports.Transports, system: ports.Clock) -> list[memory.Memory]:
    parts = [await plans.parts_of(one, transports) for one in known]
    reader = reads.Reads(system, signals.Silent(), reads.ReadLimits())
    answers: reads.Answers = {}
    for key, plan in plans.plan(of for of in parts if isinstance(of, list)).items():
        kind = next(one.watch.kind for one in known if one.watch.kind.name == key.kind)
        answers |= await reader.read(key, kind, plan.bound, plan.wanted, plan.watches)
    found = list[memory.Memory]()
    for one, of in zip(known, parts, strict=True):
        mine = dict.fromkeys((target.id for target in one.live), of) if isinstance(of, failures.Failure) else answers
        found.append(await gather.gather(one, mine, system.now()))
    return found


def _lines(known: memory.Memory) -> Iterator[str]:
    ref = known.watch.ref
    for target in known.watch.targets:
        of = known.current.reading[target.id]
        head = f"{ref.namespace}/{ref.name}  {target.label}"
        if isinstance(of, failures.Failure):
            yield f"{head}  could not be read: {of.category}: {_plain(of.message)}"
            continue
        state = f"pending {of.pending}" if of.pending else "settled"
        whole = "" if of.complete else f", incomplete{f': {_plain(of.error.message)}' if of.error is not None else ''}"
        yield f"{head}  revision {_plain(of.revision) or '-'}, {state}{whole}"
        yield from (f"  {_entry(seen)}" for seen in of.observations)
        if not of.observations:
            yield "  nothing open"


def _entry(seen: observations.Observation) -> str:
    facts = [seen.severity.value, f"resets on {seen.resets_on.value}"]
    if seen.outcome is not None:
        facts.append(seen.outcome.value)
    if seen.hold:
        facts.append(f"hold {seen.hold if seen.hold == observations.SETTLE else f'{seen.hold:g}s'}")
    return f"{_plain(seen.key)}  ({', '.join(facts)})  {_plain(seen.brief)}".rstrip()


def _plain(text: str) -> str:
    """A stranger's text on one line, without what a terminal acts on."""
    return status_prior.cut(text, failures.MESSAGE_LIMIT)


def _json_lines(known: memory.Memory) -> Iterator[str]:
    ref = known.watch.ref
    for target in known.watch.targets:
        of = known.current.reading[target.id]
        head = {"watch": f"{ref.namespace}/{ref.name}", "subject": target.label, "id": target.id}
        yield json.dumps(head | (_failure(of) if isinstance(of, failures.Failure) else _result(of)))


def _failure(failure: failures.Failure) -> dict[str, Any]:
    return {"error": {"category": failure.category, "message": failure.message, "retryAfter": failure.retry_after}}


def _result(of: observations.ProbeResult) -> dict[str, Any]:
    return {
        "revision": of.revision,
        "complete": of.complete,
        "pending": of.pending,
        "error": None if of.error is None else _failure(of.error)["error"],
        "observations": [
            {
                "key": seen.key,
                "severity": seen.severity,
                "resetsOn": seen.resets_on,
                "outcome": seen.outcome,
                "claim": seen.claim,
                "hold": seen.hold,
                "episode": seen.episode,
                "brief": seen.brief,
            }
            for seen in of.observations
        ],
    }
