"""The bound on the state document: what is least needed goes first, and what is open is never cut. Pure."""

import dataclasses
from collections.abc import Callable, Collection, Iterator
from typing import Final

from vigil.model import ids, states, verdicts
from vigil.state import codec

_SLACK: Final = 0.9
"""A document that had to be pruned is pruned to this part of its bound, so that the next entry does not prune again."""


def fit(state: states.State, shown: Collection[verdicts.Identity]) -> states.State:
    """The state as it is, or pruned so far that its document keeps within its bound.

    First goes what is known of entries that are not shown any more, the oldest first, then what has left the wake in
    flight, the facts about churn and the texts of ends.
    """
    if _size(state) <= codec.MAX_BYTES:
        return state
    for prune in _prunings(state, shown):
        state = prune(state)
        if _size(state) <= codec.MAX_BYTES * _SLACK:
            break
    return state


def _size(state: states.State) -> int:
    return len(codec.encode(state).encode())


def _prunings(
    state: states.State, shown: Collection[verdicts.Identity]
) -> Iterator[Callable[[states.State], states.State]]:
    gone = sorted(
        {
            (at, identity)
            for memory in state.subjects.values()
            for identity, at in _last_shown(memory).items()
            if identity not in shown
        },
        key=lambda one: one[0],
    )
    step = max(1, len(gone) // 8)
    for start in range(0, len(gone), step):
        yield _forgetting({identity for _, identity in gone[start : start + step]})
    yield _without_left
    yield lambda before: dataclasses.replace(before, churn=states.Churn())
    yield _without_texts


def _without_left(state: states.State) -> states.State:
    """Without what has left the wake: if an older version turns out to be the claimed one, that is told once more."""
    flown = state.in_flight
    return state if flown is None else dataclasses.replace(state, in_flight=_of(flown, flown.present))


def _without_texts(state: states.State) -> states.State:
    flown = state.in_flight
    told = None if flown is None else _of(flown, _wordless(flown.sent))
    return dataclasses.replace(state, in_flight=told, owed=_wordless(state.owed))


def _of(flown: states.InFlight, sent: tuple[states.Sent, ...]) -> states.InFlight:
    return dataclasses.replace(flown, sent=sent)


def _wordless(sent: tuple[states.Sent, ...]) -> tuple[states.Sent, ...]:
    return tuple(dataclasses.replace(one, brief="") for one in sent)


def _last_shown(memory: states.SubjectState) -> dict[verdicts.Identity, ids.Instant]:
    stamps = {one: stamp.shown for one, stamp in memory.alerted.items()}
    said = {one: told.shown for one, told in memory.dispositions.items()}
    return stamps | said | {one: told.shown for one, told in memory.answered.items()}


def _forgetting(gone: Collection[verdicts.Identity]) -> Callable[[states.State], states.State]:
    def prune(state: states.State) -> states.State:
        subjects = {name: _without(memory, gone) for name, memory in state.subjects.items()}
        dropped = sum(len(state.subjects[name].alerted) - len(memory.alerted) for name, memory in subjects.items())
        return dataclasses.replace(state, subjects=subjects, forgotten=state.forgotten + dropped)

    return prune


def _without(memory: states.SubjectState, gone: Collection[verdicts.Identity]) -> states.SubjectState:
    return dataclasses.replace(
        memory,
        alerted={one: stamp for one, stamp in memory.alerted.items() if one not in gone},
        dispositions={one: said for one, said in memory.dispositions.items() if one not in gone},
        answered={one: told for one, told in memory.answered.items() if one not in gone},
    )
