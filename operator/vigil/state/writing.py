"""From a State to the document: an identity is written once, and short rows of numbers refer to it."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from vigil.model import ids, states, verdicts
from vigil.state import migrations

_Index: TypeAlias = Mapping[verdicts.Identity, int]


def document_of(state: states.State) -> migrations.Document:
    """The document of a state, the same for equal states."""
    named = sorted(set(_identities(state)), key=_order)
    names = sorted({*state.subjects, *state.read_at, *(identity.subject for identity in named)})
    index = {identity: number for number, identity in enumerate(named)}
    return {
        "version": migrations.VERSION,
        "watch": state.watch,
        "generation": state.generation,
        "purpose": state.purpose,
        "reset": state.reset,
        "started": state.started,
        "lastTick": state.last_tick,
        "readAt": [[names.index(name), at] for name, at in sorted(state.read_at.items())],
        "names": names,
        "identities": _identity_rows(state, names, named),
        "subjects": [_subject(state.subjects[name], names.index(name), index) for name in sorted(state.subjects)],
        "window": sorted([index[one], since, claim] for one, since, claim in state.window.values()),
        "spent": [state.spent.turns, state.spent.tokens, state.spent.active_time],
        "unstamped": state.unstamped,
        "forgotten": state.forgotten,
        "inFlight": None if state.in_flight is None else _flight(state.in_flight, index),
        "owed": [_sent(one, index) for one in state.owed],
        "owedNotice": state.owed_notice,
        "ended": None if state.ended is None else state.ended.value,
        "silenceUntil": state.silence_until,
        "stall": None if state.stall is None else _stall(state.stall),
        "floor": [state.floor, state.floor_since],
        "blocked": None if state.blocked is None else [state.blocked.since, state.blocked.told],
        "churn": _churn(state.churn),
    }


def _identities(state: states.State) -> Iterator[verdicts.Identity]:
    for memory in state.subjects.values():
        yield from memory.alerted
        yield from memory.held
        yield from memory.dispositions
        yield from memory.parked
        yield from memory.answered
    yield from state.window
    flown = () if state.in_flight is None else state.in_flight.sent
    yield from (one.identity for one in (*flown, *state.owed))


def _order(identity: verdicts.Identity) -> tuple[str, str, bool, str, str]:
    subject, key, revision, episode = identity
    return (subject, key, revision is not None, revision or "", episode)


def _identity_rows(state: states.State, names: list[ids.SubjectId], named: list[verdicts.Identity]) -> list[list[Any]]:
    """Rows of [subject, key, revision, episode]: the subject is its place in `names`, its own revision is `true`."""
    places = {name: place for place, name in enumerate(names)}
    now = {name: memory.revision for name, memory in state.subjects.items()}
    return [
        [places[subject], key, True if revision is not None and revision == now.get(subject) else revision, episode]
        for subject, key, revision, episode in named
    ]


def _subject(memory: states.SubjectState, place: int, index: _Index) -> dict[str, Any]:
    """What there is: most memories are small."""
    written: dict[str, Any] = {
        "name": place,
        "revision": memory.revision,
        "alerted": sorted([index[one], *stamp] for one, stamp in memory.alerted.items()),
        "held": sorted([index[one], *held] for one, held in memory.held.items()),
        "dispositions": sorted(
            [index[one], said.value, shown, invariant] for one, (said, shown, invariant) in memory.dispositions.items()
        ),
        "parked": sorted([index[one], *parked] for one, parked in memory.parked.items()),
        "answered": sorted([index[one], *answered] for one, answered in memory.answered.items()),
        "retired": None if memory.retired is None else memory.retired.value,
        "read": memory.read,
        "errors": memory.errors,
        "failing": memory.failing,
        "blind": memory.blind,
    }
    return {name: value for name, value in written.items() if value is not None and value != []}


def _flight(flown: states.InFlight, index: _Index) -> dict[str, Any]:
    return {
        "id": flown.id,
        "decidedAt": flown.decided_at,
        "versions": [[version.first, version.type.value, version.reason] for version in flown.versions],
        "sent": [_sent(one, index) for one in flown.sent],
        "sequence": flown.sequence,
        "claimed": flown.claimed,
        "spells": [list(spell) for spell in flown.spells],
    }


def _sent(one: states.Sent, index: _Index) -> list[Any]:
    outcome = None if one.outcome is None else one.outcome.value
    told = [outcome, one.brief, one.claim, one.shown, one.stamps, one.detail]
    return [index[one.identity], one.since, one.at, one.joined, one.left, *told]


def _stall(stall: states.Stall) -> list[Any]:
    return [stall.digest, stall.since, stall.ticks, stall.told]


def _churn(churn: states.Churn) -> dict[str, Any]:
    return {
        "relapses": [
            [subject, key, of.revision, of.cleared, of.count] for (subject, key), of in sorted(churn.relapses.items())
        ],
        "stream": churn.stream,
        "alternations": churn.alternations,
        "series": [list(row) for row in churn.series],
        "rounds": dict(sorted(churn.rounds.items())),
    }
