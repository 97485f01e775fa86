"""The background work: leases that run out, notifications that are due, and what may be forgotten.

It sleeps until something rings or the next thing is due. Nothing is decided here: the store's plan says what to do, and
every step of it is a transaction, so that a crash in between costs a repetition and never a wake.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final

import structlog

from vigil import ports
from vigil.model import failures, ids, wakes
from vigil.sidecar import bell, evidence, notify, observer, sessions
from vigil.sidecar.store import port

PATROL: Final[ids.Seconds] = 60.0
"""The longest sleep: a clock that was set is noticed after it."""
PRUNE_EVERY: Final[ids.Seconds] = 3600.0
GUARD: Final[ids.Seconds] = 60.0
"""How long a wake is kept for a notification on its way; longer than a try can last."""
TELL_TRIES: Final = 8
PARALLEL: Final = 8
STOP_TIMEOUT: Final[ids.Seconds] = 5.0
RETRY: Final[ids.Seconds] = 5.0

_log: Any = structlog.get_logger(__name__)


class Work:
    """The one background task of a sidecar, and the notifications that it has on their way."""

    def __init__(
        self,
        store: port.Store,
        clock: ports.Clock,
        files: evidence.Evidence,
        ring: bell.Bell,
        *,
        heard: observer.Observer,
        notifications: notify.Notifications | None,
        retention: port.Retention,
        url_of: notify.UrlOf,
    ) -> None:
        self._store = store
        self._clock = clock
        self._files = files
        self._bell = ring
        self._observer = heard
        self._notifications = notifications
        self._retention = retention
        self._url_of = url_of
        self._slots = asyncio.Semaphore(PARALLEL)
        self._sending: dict[object, asyncio.Task[None]] = {}
        self._pruned: ids.Seconds | None = None
        self._failing = False

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            heard = self._bell.listen()
            await self._bell.wait(heard, await self._guarded_step())

    async def stop(self) -> None:
        """Give the notifications on their way a moment; one that is cut off is repeated after a restart."""
        if self._sending:
            await asyncio.wait(self._sending.values(), timeout=STOP_TIMEOUT)
        for task in self._sending.values():
            task.cancel()
        await asyncio.gather(*self._sending.values(), return_exceptions=True)

    async def _guarded_step(self) -> ids.Seconds:
        """How long to sleep now; it is logged once when the database begins to fail, and once when it is well again."""
        try:
            pause = await self.step()
        except (port.StoreError, OSError) as error:
            if not self._failing:
                _log.error("the sidecar's work is interrupted", error=str(error))
            self._failing = True
            return RETRY
        if self._failing:
            _log.info("the sidecar's work goes on")
        self._failing = False
        return pause

    async def step(self) -> ids.Seconds:
        """Do what is due, and give the seconds until something is due next."""
        now = self._clock.now()
        ended = await self._store.expire(now)
        if ended:
            self.tell(ended)
            self._bell.ring()
        plan = await self._store.plan(now)
        self._observer.planned(plan)
        if self._notifications is not None:
            for wake in plan.notify:
                self._start(wake, self._notify(wake, self._notifications))
            for session in plan.tell:
                self._start(session.address, self._tell_suspension(session, self._notifications))
        await self._prune(now)
        return PATROL if plan.due is None else min(PATROL, max(0.05, plan.due - now))

    def tell(self, ended: tuple[wakes.OutcomeEvent, ...]) -> None:
        """Tell the observer of outcomes."""
        for each in ended:
            self._observer.ended(each.state, each.tokens)

    def _start(self, what: object, sending: Coroutine[Any, Any, None]) -> None:
        if what in self._sending:
            sending.close()
            return
        task = asyncio.ensure_future(sending)
        self._sending[what] = task
        task.add_done_callback(lambda done: self._done(what, done))

    def _done(self, what: object, task: asyncio.Task[None]) -> None:
        self._sending.pop(what, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a notification was interrupted", error=str(error), exc_info=error)
        self._bell.ring()

    async def _notify(self, wake: ids.WakeId, through: notify.Notifications) -> None:
        async with self._slots:
            now = self._clock.now()
            held = await self._store.begin_notification(wake, now, now + GUARD)
            if held is None or held.message is None:
                return
            deliver = held.message.deliver
            assert deliver is not None
            assert deliver.notify is not None
            document = notify.of_wake(held.message, self._url_of(wake))
            failure = await through.send(held.watch.namespace, deliver.notify, document)
            now = self._clock.now()
            again = None if failure is None else now + notify.delay(held.tries, failure)
            self.tell(await self._store.end_notification(wake, held.sequence, again, now))
            self._note(failure, held.tries, wake=wake)

    async def _tell_suspension(self, session: sessions.Session, through: notify.Notifications) -> None:
        async with self._slots:
            where = session.suspended_for
            assert where is not None
            document = notify.of_suspension(session)
            failure = await through.send(session.address.namespace, where, document)
            tries = session.tell_tries + 1
            given_up = failure is None or tries >= TELL_TRIES
            again = None if given_up or failure is None else self._clock.now() + notify.delay(tries, failure)
            await self._store.end_telling(session.address, again)
            self._note(failure, tries, session=f"{session.address.namespace}/{session.address.name}")

    def _note(self, failure: failures.Failure | None, tries: int, **about: str) -> None:
        self._observer.notified(failure.category if failure else None)
        if failure is not None and tries == 1:
            _log.warning(
                "a notification was not accepted", category=failure.category.value, message=failure.message, **about
            )

    async def _prune(self, now: ids.Instant) -> None:
        at = self._clock.monotonic()
        if self._pruned is not None and at - self._pruned < PRUNE_EVERY:
            return
        self._pruned = at
        await self._files.remove(await self._store.prune(self._retention, now))
