"""What a new generation of a Watch, and a new value of its annotation `vigil.dev/reset`, mean for its memory."""

import dataclasses
from collections.abc import Collection

from vigil.decision import flight, questions
from vigil.model import ids, states, verdicts


def rearm(
    state: states.State, generation: int, purpose: str, subjects: Collection[ids.SubjectId], now: ids.Instant
) -> states.State:
    """The memory for this generation; the same one when it is known already.

    The memory of subjects that are still there is kept, with what was spent; what was removed is pruned. A Stop is
    lifted, and the lifetime begins again. A Watch that came to its end is armed again only when its objective, its
    options or its subjects changed.
    """
    if state.generation == generation and state.purpose == purpose:
        return state
    changed = bool(state.purpose) and state.purpose != purpose
    known = _without_questions_of(state, [name for name in state.subjects if name not in subjects])
    stopped = isinstance(state.ended, verdicts.StopReason)
    kept = {name: _rearmed(memory, changed, stopped) for name, memory in known.subjects.items() if name in subjects}
    ended = {name: memory.retired for name, memory in kept.items() if memory.retired is not None}
    finished = bool(ended) and ended.keys() == set(subjects)
    return dataclasses.replace(
        known,
        generation=generation,
        purpose=purpose,
        subjects=kept,
        window={identity: member for identity, member in state.window.items() if identity.subject in subjects},
        started=now if stopped or (state.ended is not None and not finished) else state.started,
        ended=flight.worst(ended.values()) if finished else None,
        owed=tuple(one for one in state.owed if one.identity.subject in ended),
        owed_notice=False,
        forgotten=known.forgotten + sum(_stamps(known, name) for name in known.subjects if name not in kept),
        stall=None if stopped else state.stall,
        read_at={name: at for name, at in state.read_at.items() if name in subjects},
        blocked=None,
    )


def _rearmed(memory: states.SubjectState, changed: bool, stopped: bool) -> states.SubjectState:
    """The memory of a subject that stays; after a Stop its row of failures begins again, or it would end at once."""
    armed = dataclasses.replace(memory, retired=None) if changed else memory
    return dataclasses.replace(armed, errors=0, failing=None, blind=None) if stopped else armed


def _without_questions_of(state: states.State, removed: Collection[ids.SubjectId]) -> states.State:
    """A question is void as a whole when the subject of one of its entries is watched no longer."""
    for question in {row.question for name in removed for row in state.subject(name).parked.values()}:
        state = questions.take_back(state, question)
    return state


def _stamps(state: states.State, name: ids.SubjectId) -> int:
    return len(state.subject(name).alerted)


def reset(state: states.State, value: str) -> states.State:
    """A memory that knows nothing, for a new value of the annotation; the same one for a value that is known.

    The wake in flight stays, since a session may have it: it is told, and what it told when it was claimed is told
    once more.
    """
    if not value or value == state.reset:
        return state
    flown = state.in_flight
    if flown is not None and flown.claimed is not None:
        flown = questions.unstamped(flown, [one.identity for one in flown.sent])
    return states.State(
        state.watch,
        generation=state.generation,
        purpose=state.purpose,
        silence_until=state.silence_until,
        in_flight=flown,
        unstamped=state.unstamped,
        forgotten=state.forgotten + sum(_stamps(state, name) for name in state.subjects),
        reset=value,
    )
