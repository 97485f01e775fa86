"""A session's client of the sidecar: to attach, and to claim, keep, give back and complete turns."""

import datetime

from vigil.adapters import wire as exchange
from vigil.api import base, turn
from vigil.api import wake as wire
from vigil.model import ids, wakes


class StaleTurnError(Exception):
    """The turn is not this session's any more: its lease ran out, or another completed it. Nothing changed."""


class NotAttachedError(Exception):
    """The sidecar does not know the session, or its time was over: attach again."""


class SessionClient:
    """One session over a connection, which whoever made it closes.

    Every method raises DeliveryError when nothing is known.
    """

    def __init__(self, connection: exchange.Wire, namespace: str, name: str) -> None:
        self._wire = connection
        self._path = f"/v1/sessions/{namespace}/{name}"

    async def attach(
        self, ttl: int, activity: turn.Activity, last_user_turn: ids.Instant | None = None
    ) -> turn.Session:
        """Attach or renew: the session lives for `ttl` seconds more."""
        at: datetime.datetime | None = None if last_user_turn is None else base.time_of(last_user_turn)
        body = turn.Attach(ttl_seconds=ttl, state=activity, last_user_turn=at)
        return (await self._wire.ask("PUT", self._path, body)).parsed(turn.Session)

    async def detach(self) -> None:
        """Say that the session is gone."""
        answer = await self._wire.ask("DELETE", self._path)
        if not answer.ok:
            raise answer.failed()

    async def next(self, wait: ids.Seconds, request: str, *, user_turn: bool = False) -> turn.Turn | None:
        """Claim a turn, waiting up to so many seconds; the same `request` after a lost answer gets the same turn again.

        Raises NotAttachedError.
        """
        body = turn.Next(request=request, user_turn=user_turn)
        answer = await self._wire.ask("POST", f"{self._path}/next", body, query={"wait": str(wait)}, wait=wait)
        if answer.status == 204:
            return None
        if answer.status == 409:
            raise NotAttachedError("the session is not attached")
        return answer.parsed(turn.Turn)

    async def renew(self, taken: turn.Turn) -> turn.Lease:
        """Keep the turn for another lease. Raises StaleTurnError."""
        answer = await self._wire.ask("POST", f"{_wake(taken)}/renew", turn.Held(fence=taken.fence))
        return _current(answer).parsed(turn.Lease)

    async def release(self, taken: turn.Turn) -> wakes.SubmitResult:
        """Give the turn back: it is offered once again, or Lost. Raises StaleTurnError."""
        answer = await self._wire.ask("POST", f"{_wake(taken)}/release", turn.Held(fence=taken.fence))
        return _current(answer).parsed(wire.Standing).value()

    async def complete(self, taken: turn.Turn, report: turn.Report) -> wakes.SubmitResult:
        """The turn is done; may be repeated until it is answered. Raises StaleTurnError."""
        body = turn.Complete(
            fence=taken.fence,
            watch_uid=taken.main.watch.uid,
            generation=taken.main.watch.generation,
            tokens=report.tokens,
            dispositions=report.dispositions,
        )
        answer = await self._wire.ask("POST", f"{_wake(taken)}/complete", body)
        return _current(answer).parsed(wire.Standing).value()

    async def evidence(self, taken: turn.Turn) -> bytes:
        """The evidence of the turn's first wake, UTF-8."""
        answer = await self._wire.ask("GET", f"{_wake(taken)}/evidence")
        if not answer.ok:
            raise answer.failed()
        return answer.body


def _wake(taken: turn.Turn) -> str:
    return f"/v1/wakes/{taken.main.wake_id}"


def _current(answer: exchange.Answer) -> exchange.Answer:
    if answer.status in {404, 409}:
        problem = answer.problem()
        raise StaleTurnError(problem.message if problem is not None else "the turn is not known any more")
    return answer
