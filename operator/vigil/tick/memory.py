"""What the process remembers of one Watch between two ticks; it is authoritative, what is stored is its checkpoint."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from vigil.decision import rearm
from vigil.kind import api as kind_api
from vigil.model import ids, observations, readings, states, verdicts
from vigil.state import codec
from vigil.tick import checkpoint, enrolment

WAKES_SHOWN = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Stored:
    """What an earlier process left of a Watch: `state` is None where nothing was stored."""

    state: codec.Decoded | None = None
    since: Mapping[verdicts.Identity, ids.Instant] = dataclasses.field(
        default_factory=dict[verdicts.Identity, ids.Instant]
    )
    anchors: Mapping[ids.SubjectId, str] = dataclasses.field(default_factory=dict[ids.SubjectId, str])
    wakes: tuple[checkpoint.WakeRecord, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    """One Watch in this process.

    `current` is how it stands, `saved` how it was last stored (None: not yet by this process). `snapshots` are the
    latest ones, for the evidence of a wake.
    """

    current: checkpoint.Checkpoint
    saved: checkpoint.Checkpoint | None = None
    snapshots: Mapping[ids.SubjectId, kind_api.Snapshot] = dataclasses.field(
        default_factory=dict[ids.SubjectId, kind_api.Snapshot]
    )

    @property
    def watch(self) -> enrolment.Enrolment:
        """The Watch as it is enrolled."""
        return self.current.watch

    @property
    def state(self) -> states.State:
        """The bookkeeping."""
        return self.current.state

    def with_current(self, **changes: Any) -> "Memory":
        """The same memory with some fields of the checkpoint changed."""
        return dataclasses.replace(self, current=dataclasses.replace(self.current, **changes))

    @property
    def live(self) -> tuple[enrolment.Target, ...]:
        """The targets that are still read."""
        return tuple(one for one in self.watch.targets if self.state.subject(one.id).retired is None)

    @property
    def shown(self) -> dict[verdicts.Identity, observations.Observation]:
        """The entries that the latest reading shows."""
        return readings.shown(self.current.reading)

    @property
    def probed(self) -> bool:
        """Whether the Watch is read at all: not when it is suspended, has ended, or its memory is quarantined."""
        held = self.current.quarantined == codec.QuarantineReason.VERSION_UNKNOWN
        return not (self.watch.suspend or held or self.state.ended is not None)


def begin(watch: enrolment.Enrolment, stored: Stored, now: ids.Instant) -> Memory:
    """The memory of a Watch that is enrolled: what was stored, armed for the generation of the spec."""
    found = stored.state
    if isinstance(found, codec.Quarantined) and found.reason is codec.QuarantineReason.VERSION_UNKNOWN:
        if watch.reset in ("", found.reset):
            return _begun(watch, stored, states.State(watch.ref.uid), found)
        found = None
    state = found if isinstance(found, states.State) else states.State(watch.ref.uid)
    aside = found if isinstance(found, codec.Quarantined) else None
    return _begun(watch, stored, _armed(state, watch, now), aside)


def _begun(watch: enrolment.Enrolment, stored: Stored, state: states.State, aside: codec.Quarantined | None) -> Memory:
    return Memory(
        checkpoint.Checkpoint(
            watch=watch,
            state=state,
            since=stored.since,
            anchors=stored.anchors,
            wakes=stored.wakes,
            quarantined="" if aside is None else aside.reason.value,
            quarantined_document="" if aside is None else aside.document,
        )
    )


def renew(memory: Memory, watch: enrolment.Enrolment, now: ids.Instant) -> Memory:
    """The memory once the Watch has a newer spec or other annotations."""
    names = {target.id for target in watch.targets}
    reading = {name: of for name, of in memory.current.reading.items() if name in names}
    snapshots = {name: one for name, one in memory.snapshots.items() if name in names}
    anchors = {name: anchor for name, anchor in memory.current.anchors.items() if name in names}
    renewed = dataclasses.replace(memory, snapshots=snapshots)
    held = memory.current.quarantined == codec.QuarantineReason.VERSION_UNKNOWN
    if held and watch.reset in ("", memory.watch.reset):
        return renewed.with_current(watch=watch, reading=reading, anchors=anchors)
    lifted = {"quarantined": "", "quarantined_document": ""} if held else {}
    state = _armed(memory.state, watch, now)
    return renewed.with_current(watch=watch, state=state, reading=reading, anchors=anchors, **lifted)


def _armed(state: states.State, watch: enrolment.Enrolment, now: ids.Instant) -> states.State:
    """The memory for this generation and these annotations."""
    kept = rearm.reset(state, watch.reset)
    armed = rearm.rearm(kept, watch.ref.generation, watch.purpose, [target.id for target in watch.targets], now)
    if armed.silence_until == watch.silence_until:
        return armed
    return dataclasses.replace(armed, silence_until=watch.silence_until)
