"""The phase of a Watch: one word for people, derived from what the tick left behind."""

import enum
from typing import Final

from vigil.model import failures, observations, readings, states, verdicts
from vigil.state import codec
from vigil.tick import checkpoint


class Phase(enum.StrEnum):
    """Where a Watch stands; what it says of Ready, Reconciling and Stalled is the status renderer's."""

    PENDING = "Pending"
    WATCHING = "Watching"
    SUSPENDED = "Suspended"
    SUPERSEDED = "Superseded"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    EXPIRED = "Expired"
    EXHAUSTED = "Exhausted"
    INVALID = "Invalid"
    BLOCKED = "Blocked"
    STALLED = "Stalled"


_OF_STOP: Final = {
    verdicts.StopReason.LIFETIME: Phase.EXPIRED,
    verdicts.StopReason.ACTIVE_TIME: Phase.EXPIRED,
    verdicts.StopReason.QUESTION_EXPIRED: Phase.EXPIRED,
    verdicts.StopReason.TURNS: Phase.EXHAUSTED,
    verdicts.StopReason.TOKENS: Phase.EXHAUSTED,
    verdicts.StopReason.PROVIDER_ERRORS: Phase.EXHAUSTED,
    verdicts.StopReason.STALLED: Phase.STALLED,
    verdicts.StopReason.SUPERSEDED: Phase.SUPERSEDED,
    verdicts.StopReason.CANNOT_ACT: Phase.BLOCKED,
}


def phase_of(left: checkpoint.Checkpoint) -> Phase:
    """The phase of a valid Watch (an invalid one has no checkpoint and is `Invalid`)."""
    if left.quarantined == codec.QuarantineReason.VERSION_UNKNOWN:
        return Phase.STALLED
    if left.blocked is not None:
        return Phase.BLOCKED
    return of(left.state, left.verdict, left.reading, suspended=left.watch.suspend)


def of(
    state: states.State, verdict: verdicts.Verdict | None, reading: readings.Reading, *, suspended: bool = False
) -> Phase:
    """The phase by what was decided and read; `reading` is the latest one of the live subjects."""
    if state.ended is not None:
        return _of_end(state.ended)
    if suspended:
        return Phase.SUSPENDED
    if verdict is None:
        return Phase.PENDING
    failed = (one for one in reading.values() if isinstance(one, failures.Failure))
    return Phase.BLOCKED if any(not one.heals for one in failed) else Phase.WATCHING


def _of_end(ended: states.Ended) -> Phase:
    if isinstance(ended, verdicts.StopReason):
        return _OF_STOP[ended]
    return Phase.SUCCEEDED if ended is observations.Outcome.SUCCEEDED else Phase.FAILED
