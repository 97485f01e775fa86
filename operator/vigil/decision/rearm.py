"""What a new generation of a Watch means for its memory."""

import dataclasses
from collections.abc import Collection

from vigil.decision import flight
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
    kept = {
        name: dataclasses.replace(memory, retired=None) if changed else memory
        for name, memory in state.subjects.items()
        if name in subjects
    }
    ended = {name: memory.retired for name, memory in kept.items() if memory.retired is not None}
    finished = bool(ended) and ended.keys() == set(subjects)
    dropped = sum(len(memory.alerted) for name, memory in state.subjects.items() if name not in kept)
    stopped = isinstance(state.ended, verdicts.StopReason)
    return dataclasses.replace(
        state,
        generation=generation,
        purpose=purpose,
        subjects=kept,
        window={identity: member for identity, member in state.window.items() if identity.subject in subjects},
        started=now if stopped or (state.ended is not None and not finished) else state.started,
        ended=flight.worst(ended.values()) if finished else None,
        owed=tuple(one for one in state.owed if one.identity.subject in ended),
        owed_notice=False,
        forgotten=state.forgotten + dropped,
    )
