"""When a session may be given a turn, and which wakes the turn is about. Pure.

1. One outstanding automatic turn per session, and none while it is busy.
2. A pause between the end of one turn and the next.
3. So many automatic turns in a row suspend the session's waking until a real turn of a user's.
4. A day's budget of turns, and a namespace's, where they are set.
5. A turn is about the oldest wake that may start one; what only rides goes along with it (`ladder.choose`).
6. A claim is a lease. Lost once, the wake is offered again; lost again, it is Lost.
"""

import dataclasses

from vigil.model import ids, wakes

DAY: ids.Seconds = 86_400.0


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """The numbers. Times in seconds; None is no limit.

    `offers` counts the leases that a wake gets. `riders` bounds the wakes that go along with a turn. `fresh` is whether
    something is configured that starts a fresh context for a wake.
    """

    lease: ids.Seconds = 600.0
    offers: int = 2
    pause: ids.Seconds = 5.0
    row: int | None = 8
    riders: int = 3
    turns_per_day: int | None = None
    turns_per_day_of_namespace: int | None = None
    fresh: bool = False

    def row_is_full(self, turns_in_row: int) -> bool:
        """Whether so many automatic turns in a row are all that a session takes."""
        return self.row is not None and turns_in_row >= self.row


@dataclasses.dataclass(frozen=True, slots=True)
class Ground:
    """What the rules need to know of a live session: is it at work, and since when is it at rest.

    `outstanding` is whether a turn was handed out and has not ended. `spent_until` is when a budget has a turn again,
    None while there is one.
    """

    busy: bool = False
    outstanding: bool = False
    suspended: bool = False
    last_turn_ended: ids.Instant | None = None
    spent_until: ids.Instant | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Hold:
    """No turn now. `until` is when to look again, None when something has to happen first."""

    reason: wakes.QueuedReason
    until: ids.Instant | None = None


def hold(ground: Ground, rules: Rules, now: ids.Instant) -> Hold | None:
    """Why a session is given no automatic turn now, or None when it may have one."""
    if ground.suspended:
        return Hold(wakes.QueuedReason.WAKING_SUSPENDED)
    if ground.busy or ground.outstanding:
        return Hold(wakes.QueuedReason.BUSY)
    if ground.spent_until is not None and now < ground.spent_until:
        return Hold(wakes.QueuedReason.BUDGET_EXCEEDED, ground.spent_until)
    # A clock that stepped back may not make the pause longer than it is.
    if ground.last_turn_ended is not None and 0 <= now - ground.last_turn_ended < rules.pause:
        return Hold(wakes.QueuedReason.BUSY, ground.last_turn_ended + rules.pause)
    return None


def after_loss(offers: int, rules: Rules) -> wakes.WakeState:
    """What a wake is after a claim of it was lost; `offers` counts that claim."""
    return wakes.WakeState.QUEUED if offers < rules.offers else wakes.WakeState.LOST
