"""How long what is known of an entry is kept: `realertAfter` after the last read that showed it."""

import dataclasses
import math
from collections.abc import Mapping
from typing import TypeVar

from vigil.decision import step
from vigil.model import ids, states, verdicts

M = TypeVar("M", states.Stamp, states.Disposed, states.Answered)


def refresh(tick: step.Step) -> None:
    """Put the time of this read on all that it shows, and drop what was not shown for too long."""
    for subject, memory in tick.subjects.items():
        if memory.alerted or memory.dispositions or memory.answered:
            tick.keep(subject, _seen(tick, subject, memory))
    if tick.flown is not None and tick.entries:
        tick.flown = _flown_seen(tick, tick.flown)


def _seen(tick: step.Step, subject: ids.SubjectId, memory: states.SubjectState) -> states.SubjectState:
    """The memory with the time of this read on what it shows, without what was not shown for `realertAfter`.

    An entry that the last read of its subject showed was never gone, however long ago that read was and whatever
    failed since.
    """
    now, entries = tick.now, tick.entries
    lately = math.nextafter(now - tick.limits.policy.realert_after, math.inf)
    since = min(tick.prior.read_at.get(subject, -math.inf), lately)
    alerted = {
        one: states.Stamp(stamp.at, now)
        for one, stamp in memory.alerted.items()
        if one in entries and stamp.shown >= since
    }
    said = {
        one: states.Disposed(told.disposition, now, told.invariant)
        for one, told in memory.dispositions.items()
        if one in entries and told.shown >= since
    }
    answered = {
        one: told._replace(shown=now) for one, told in memory.answered.items() if one in entries and told.shown >= since
    }
    oldest = since if subject in tick.reading and subject not in tick.results else lately
    return dataclasses.replace(
        memory,
        alerted=_with_lately(tick, alerted, memory.alerted, oldest),
        dispositions=_with_lately(tick, said, memory.dispositions, oldest),
        answered=_with_lately(tick, answered, memory.answered, oldest),
    )


def _with_lately(
    tick: step.Step, shown: dict[verdicts.Identity, M], memos: Mapping[verdicts.Identity, M], oldest: ids.Instant
) -> dict[verdicts.Identity, M]:
    """What is shown, and what is not and was lately; a clock that stepped back makes nothing last longer."""
    if len(shown) == len(memos):
        return shown
    return shown | {
        one: memo if memo.shown <= tick.now else memo._replace(shown=tick.now)
        for one, memo in memos.items()
        if one not in tick.entries and memo.shown >= oldest
    }


def _flown_seen(tick: step.Step, flown: states.InFlight) -> states.InFlight:
    """The wake in flight with the time of this read on what it shows: an outcome may come much later."""
    sent = tuple(
        dataclasses.replace(one, shown=tick.now) if one.identity in tick.entries else one for one in flown.sent
    )
    return dataclasses.replace(flown, sent=sent)
