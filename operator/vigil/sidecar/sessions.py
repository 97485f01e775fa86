"""What is known of a session, and how that changes. Pure.

A session lives until its TTL has passed and is then gone, but not forgotten: that it was suspended survives a new
attachment.
"""

import dataclasses

from vigil.api import turn
from vigil.model import ids, wakes
from vigil.sidecar import turns


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Address:
    """A session's name in its namespace: a Watch reaches only those of its own."""

    namespace: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Session:
    """One session. `turns_in_row` counts automatic turns since the last turn of a user's.

    `suspended_for` is where it is said that waking was suspended, None once that was said or where nobody is to be
    told.
    """

    address: Address
    activity: turn.Activity
    expires_at: ids.Instant
    last_user_turn: ids.Instant | None = None
    turns_in_row: int = 0
    last_turn_ended: ids.Instant | None = None
    suspended_at: ids.Instant | None = None
    suspended_for: wakes.Notify | None = None
    tell_at: ids.Instant = 0.0
    tell_tries: int = 0

    def live(self, now: ids.Instant) -> bool:
        """Whether it can take a turn, busy or not."""
        return now < self.expires_at


@dataclasses.dataclass(frozen=True, slots=True)
class Attachment:
    """What a session says of itself: it lives for `ttl` seconds more."""

    ttl: ids.Seconds
    activity: turn.Activity = turn.Activity.IDLE
    last_user_turn: ids.Instant | None = None


def attached(before: Session | None, address: Address, said: Attachment, now: ids.Instant) -> Session:
    """The session after it attached or renewed; a user's turn that is newer than the last known one begins a new row.

    A user's turn cannot lie in the future: a session whose clock is ahead would otherwise never be heard again.
    """
    base = before or Session(address, said.activity, 0.0)
    base = dataclasses.replace(base, activity=said.activity, expires_at=now + said.ttl)
    if said.last_user_turn is None:
        return base
    at = min(said.last_user_turn, now)
    known = base.last_user_turn
    return base if known is not None and at <= min(known, now) else with_user_turn(base, at)


def with_user_turn(session: Session, at: ids.Instant) -> Session:
    """The session after a real turn of a user's: its row of automatic turns is over, and so is a suspension."""
    return dataclasses.replace(
        session, last_user_turn=at, turns_in_row=0, suspended_at=None, suspended_for=None, tell_at=0.0, tell_tries=0
    )


def detached(session: Session, now: ids.Instant) -> Session:
    """The session after it said that it is gone."""
    return dataclasses.replace(session, expires_at=min(session.expires_at, now))


def turn_ended(
    session: Session, automatic: bool, notify: wakes.Notify | None, rules: turns.Rules, now: ids.Instant
) -> Session:
    """The session after a turn ended, completed or lost; the last turn of a full row suspends its waking."""
    row = session.turns_in_row + (1 if automatic else 0)
    session = dataclasses.replace(session, turns_in_row=row, last_turn_ended=now)
    if session.suspended_at is not None or not rules.row_is_full(row):
        return session
    return dataclasses.replace(session, suspended_at=now, suspended_for=notify, tell_at=now, tell_tries=0)
