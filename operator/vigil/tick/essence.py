"""What of a checkpoint is worth storing: a tick that changes nothing of it writes nothing."""

import dataclasses
from typing import TypeAlias

from vigil.model import failures, observations, states, verdicts
from vigil.tick import checkpoint

Essence: TypeAlias = tuple[object, ...]


def essence(left: checkpoint.Checkpoint) -> Essence:
    """Two checkpoints with the same essence differ in nothing but counters, times of reading and texts.

    Counters and times are written along with the next change: stamps and starts are what counts after a restart.
    """
    return (
        left.watch.ref.generation,
        left.watch.suspend,
        _state(left.state),
        _verdict(left.verdict),
        {name: _reading(of) for name, of in left.reading.items()},
        dict(left.anchors),
        left.wakes,
        left.trouble.reason if left.trouble is not None else None,
        left.quarantined,
        left.blocked.category if left.blocked is not None else None,
        left.paced is not None,
    )


def _state(state: states.State) -> states.State:
    flown = state.in_flight
    return dataclasses.replace(
        state,
        subjects={name: _subject(memory) for name, memory in state.subjects.items()},
        in_flight=None if flown is None else dataclasses.replace(flown, sent=_sent(flown.sent)),
        owed=_sent(state.owed),
        spent=dataclasses.replace(state.spent, active_time=0.0),
        stall=None if state.stall is None else dataclasses.replace(state.stall, ticks=0),
        floor=0,
        floor_since=None,
        last_tick=None,
        read_at={},
    )


def _sent(sent: tuple[states.Sent, ...]) -> tuple[states.Sent, ...]:
    return tuple(dataclasses.replace(one, shown=None) for one in sent)


def _subject(memory: states.SubjectState) -> states.SubjectState:
    return dataclasses.replace(
        memory,
        errors=0,
        alerted={identity: stamp._replace(shown=0.0) for identity, stamp in memory.alerted.items()},
        dispositions={identity: said._replace(shown=0.0) for identity, said in memory.dispositions.items()},
        answered={identity: told._replace(shown=0.0) for identity, told in memory.answered.items()},
    )


def _reading(of: observations.ReadingOf) -> object:
    if isinstance(of, failures.Failure):
        return of.category
    seen = frozenset((one.key, one.severity, one.resets_on, one.episode, one.outcome) for one in of.observations)
    return (of.revision, of.complete, None if of.error is None else of.error.category, seen)


def _verdict(verdict: verdicts.Verdict | None) -> object:
    """A verdict without its texts."""
    if isinstance(verdict, verdicts.Wake | verdicts.Terminal):
        return (type(verdict).__name__, verdict.reason, tuple(entry.identity for entry in verdict.entries))
    return verdict
