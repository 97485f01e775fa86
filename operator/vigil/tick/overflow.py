"""The cap on the entries of a Watch: past it an entry of each stream stands for the rest. Pure."""

import dataclasses
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import Final

from vigil.model import ids, observations, readings, states, verdicts

MAX_ENTRIES: Final = 100
MAX_TEXT: Final = 6000
"""Bytes of the keys and episodes of all entries, so that the document of the state keeps within its bound."""


def bounded(
    reading: readings.Reading, known: states.State, stream_of: Callable[[str], str]
) -> dict[ids.SubjectId, observations.ReadingOf]:
    """The reading with as many entries as one Watch may have.

    An end is never among the rest, nor an entry that is remembered: its memory would go with it.
    """
    named = [
        (verdicts.identify(name, of, seen), seen)
        for name, of in reading.items()
        if isinstance(of, observations.ProbeResult)
        for seen in of.observations
    ]
    if len(named) <= MAX_ENTRIES and sum(_bytes(one) for one, _ in named) <= MAX_TEXT:
        return dict(reading)
    kept = set(_kept(named, set(_remembered(known))))
    rest: defaultdict[ids.SubjectId, list[observations.Observation]] = defaultdict(list)
    for identity, seen in named:
        if identity not in kept:
            rest[identity.subject].append(seen)
    return {
        name: _with_rest(name, of, kept, rest[name], stream_of) if isinstance(of, observations.ProbeResult) else of
        for name, of in reading.items()
    }


def _bytes(identity: verdicts.Identity) -> int:
    return len(json.dumps([identity.key, identity.episode], ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _remembered(known: states.State) -> Iterator[verdicts.Identity]:
    for memory in known.subjects.values():
        yield from (*memory.alerted, *memory.dispositions, *memory.parked, *memory.answered, *memory.held)
    yield from known.window
    if known.in_flight is not None:
        yield from (one.identity for one in known.in_flight.sent)


def _kept(
    named: Collection[tuple[verdicts.Identity, observations.Observation]], remembered: Collection[verdicts.Identity]
) -> Iterator[verdicts.Identity]:
    def order(one: tuple[verdicts.Identity, observations.Observation]) -> tuple[bool, bool, bool, str, str, str]:
        identity, seen = one
        calm = seen.severity is not observations.Severity.IMMEDIATE
        end = seen.severity is observations.Severity.TERMINAL
        return (not end, identity not in remembered, calm, identity.subject, identity.key, identity.episode)

    room = MAX_TEXT
    for number, (identity, seen) in enumerate(sorted(named, key=order)):
        room -= _bytes(identity)
        if seen.severity is observations.Severity.TERMINAL or (number < MAX_ENTRIES and room >= 0):
            yield identity


def _with_rest(
    name: ids.SubjectId,
    of: observations.ProbeResult,
    kept: Collection[verdicts.Identity],
    rest: Collection[observations.Observation],
    stream_of: Callable[[str], str],
) -> observations.ProbeResult:
    shown = tuple(one for one in of.observations if verdicts.identify(name, of, one) in kept)
    streams: defaultdict[str, list[observations.Observation]] = defaultdict(list)
    for one in rest:
        # A claim that all is well is not made while so much is open.
        if not one.claim:
            streams[stream_of(one.key)].append(one)
    return dataclasses.replace(of, observations=(*shown, *(_overflow(*of_one) for of_one in sorted(streams.items()))))


def _overflow(stream: str, rest: Collection[observations.Observation]) -> observations.Observation:
    """The one entry that stands for these: as lasting, as urgent and as ready to be told as the foremost of them."""
    lasting = any(one.resets_on is observations.ResetsOn.NEVER for one in rest)
    urgent = any(one.severity is observations.Severity.IMMEDIATE for one in rest)
    return observations.Observation(
        key=f"overflow:{stream}"[: observations.KEY_LIMIT],
        severity=observations.Severity.IMMEDIATE if urgent else observations.Severity.WAKE,
        resets_on=observations.ResetsOn.NEVER if lasting else observations.ResetsOn.REVISION,
        brief=f"{len(rest)} more: {', '.join(sorted(one.key for one in rest)[:3])}, …",
        hold=observations.SETTLE if all(one.hold for one in rest) else 0,
    )
