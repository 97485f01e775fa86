"""From what was read of the subjects to the reading of the Watch: the kind's pure half, guarded."""

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import TypeVar

from vigil.kind import api as kind_api
from vigil.kind import transport
from vigil.model import failures, ids, observations, readings, verdicts
from vigil.tick import enrolment, memory, overflow

T = TypeVar("T")

Reads = Mapping[ids.SubjectId, kind_api.Snapshot | failures.Failure]
"""What a plural read gave, by subject."""


async def gather(before: memory.Memory, reads: Reads, now: ids.Instant) -> memory.Memory:
    """The memory with this tick's reading of every live target.

    A subject that the reads do not name was not answered for, which is the kind's fault and an `unknown` failure.
    """
    watch = before.watch
    observed = {target.id: await _observe(watch, reads.get(target.id, _UNANSWERED), now) for target in before.live}
    reading = overflow.bounded(observed, before.state, watch.kind.stream_of)
    snapshots = {name: one for name, one in reads.items() if isinstance(one, kind_api.Snapshot)}
    anchors = {name: one.anchor for name, one in snapshots.items() if one.anchor}
    ours = {target.id for target in watch.targets}
    gathered = dataclasses.replace(before, snapshots={**before.snapshots, **_of(snapshots, ours)})
    return gathered.with_current(
        reading=reading,
        anchors={**before.current.anchors, **_of(anchors, ours)},
        since=_since(before.current.since, reading, now),
    )


_UNANSWERED = failures.Failure(failures.Category.UNKNOWN, "the kind gave no answer for this subject")


def _of(by_subject: Mapping[ids.SubjectId, T], names: set[ids.SubjectId]) -> dict[ids.SubjectId, T]:
    return {name: value for name, value in by_subject.items() if name in names}


async def _observe(
    watch: enrolment.Enrolment, read: kind_api.Snapshot | failures.Failure, now: ids.Instant
) -> observations.ReadingOf:
    """What the kind sees in a snapshot; a kind that fails at it makes the subject unreadable, not the process."""
    if isinstance(read, failures.Failure):
        return read
    arguments = (read, watch.objective, watch.options, now)
    try:
        if watch.kind.offload:
            return await asyncio.to_thread(watch.kind.observe, *arguments)
        return watch.kind.observe(*arguments)
    except transport.ReadError as error:
        return error.failure
    except Exception as error:
        # A kind is a plug-in: whatever it raises is its own failure to observe.
        message = f"the kind {watch.kind.name} cannot make sense of the answer: {type(error).__name__}: {error}"
        return failures.Failure(failures.Category.UNKNOWN, message)


def _since(
    before: Mapping[verdicts.Identity, ids.Instant], reading: readings.Reading, now: ids.Instant
) -> dict[verdicts.Identity, ids.Instant]:
    """When each open entry was first shown; a read that is not complete proves nothing about what it does not show."""
    unproven = {name for name, of in reading.items() if isinstance(of, failures.Failure) or not of.complete}
    kept = {identity: since for identity, since in before.items() if identity.subject in unproven}
    return {**kept, **{identity: before.get(identity, now) for identity in readings.shown(reading)}}
