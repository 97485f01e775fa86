"""What the tests of the sidecar share: a clock that is set by hand, and wakes."""

import asyncio
import dataclasses
import heapq
import itertools
from typing import Any

from vigil.api import turn
from vigil.model import ids, observations, wakes
from vigil.sidecar import sessions

NOW: ids.Instant = 1_772_366_400.0
"""2026-03-01T12:00:00Z."""
HOOK = wakes.Notify(receiver="oncall")
SUPERVISOR = sessions.Address("team-a", "supervisor")
TO_SESSION = wakes.Deliver(session="supervisor", prompt="Fix what is red, then confirm.")
TO_BOTH = dataclasses.replace(TO_SESSION, notify=HOOK)


class Clock:
    """A clock that stands until it is set; whoever sleeps wakes when it has come that far."""

    def __init__(self, now: ids.Instant = NOW) -> None:
        self._now = now
        self._monotonic = 0.0
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Event]] = []

    def now(self) -> ids.Instant:
        return self._now

    def monotonic(self) -> ids.Seconds:
        return self._monotonic

    async def sleep(self, delay: ids.Seconds) -> None:
        if delay <= 0:
            await asyncio.sleep(0)
            return
        due = asyncio.Event()
        heapq.heappush(self._sleepers, (self._monotonic + delay, next(self._order), due))
        await due.wait()

    def advance(self, seconds: ids.Seconds) -> None:
        """Let time pass."""
        self._now += seconds
        self._monotonic += seconds
        while self._sleepers and self._sleepers[0][0] <= self._monotonic:
            heapq.heappop(self._sleepers)[2].set()


def entry(key: str = "red:ci/unit", **changes: Any) -> wakes.WakeEntry:
    """One entry of a wake."""
    made = wakes.WakeEntry(
        subject="acme/api#42", key=key, severity=observations.Severity.WAKE, brief="", since=NOW - 60, revision="h1"
    )
    return dataclasses.replace(made, **changes)


def wake(wake_id: str = "w1", sequence: int = 1, *, watch: str = "api-42", **changes: Any) -> wakes.WakeMessage:
    """One version of a wake of a Watch whose uid is named after it."""
    made = wakes.WakeMessage(
        id=ids.WakeId(wake_id),
        sequence=sequence,
        watch=wakes.WatchRef(ids.WatchUid(f"uid-{watch}"), "team-a", watch, 1),
        type=wakes.WakeType.WAKE,
        reason="converged",
        brief="converged: red:ci/unit",
        entries=(entry(),),
        decided_at=NOW,
        observed_at=NOW,
        evidence="exit code 1\n",
        deliver=TO_SESSION,
        kind="github_pull_request",
    )
    return dataclasses.replace(made, **changes)


def notice(wake_id: str, *, watch: str = "api-42", **changes: Any) -> wakes.WakeMessage:
    """A notice of a Watch."""
    return wake(wake_id, watch=watch, type=wakes.WakeType.NOTICE, reason="turns", **changes)


def bare(result: wakes.SubmitResult) -> wakes.SubmitResult:
    """Where a wake stands, without what became of it."""
    return dataclasses.replace(result, event=None)


def idle(ttl: ids.Seconds = 3600.0, last_user_turn: ids.Instant | None = None) -> sessions.Attachment:
    """An idle session's word."""
    return sessions.Attachment(ttl, turn.Activity.IDLE, last_user_turn)


def busy(ttl: ids.Seconds = 3600.0) -> sessions.Attachment:
    """A busy session's word."""
    return sessions.Attachment(ttl, turn.Activity.BUSY)


def standing(result: wakes.SubmitResult) -> wakes.SubmitResult:
    """Where a wake stands, without what became of it."""
    return dataclasses.replace(result, event=None)
