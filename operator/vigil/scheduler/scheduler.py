"""The loop: what is due is read in groups, each Watch is ticked once its subjects were read, and is due again later."""

import asyncio
import dataclasses
import hashlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from vigil import ports
from vigil.model import failures, ids, verdicts, wakes
from vigil.scheduler import entry, feed, groups, plans, reads
from vigil.tick import checkpoint, enrolment, essence, memory, tick

_LOG = logging.getLogger(__name__)

FIRST_WRITE_AFTER: Final[ids.Seconds] = 2.0
"""A new Watch is shown as Pending when its first read takes longer: most have a verdict by then, and one write."""
READ_GRACE: Final[ids.Seconds] = 5.0
"""How long a read that is under way may take to its end once everything is to end."""
WITHDRAW_TIMEOUT: Final[ids.Seconds] = 10.0
_IDLE: Final[ids.Seconds] = 60.0
_PREFETCH: Final = 4
"""Subjects that are due within this part of their interval are read along with the group."""


@dataclasses.dataclass(frozen=True, slots=True)
class Options:
    """How the scheduler works; times in seconds.

    `timer_period` is the period of the timers outside that call `beat`, None where there are none. `spread` is over
    how much of its interval a Watch that was known before is first read after a start.
    """

    read_limits: reads.ReadLimits = dataclasses.field(default_factory=reads.ReadLimits)
    timer_period: ids.Seconds | None = None
    spread: float = 1.0


def _unheard(_known: memory.Memory) -> None:
    """For a process that shows no ticks."""


class Scheduler:
    """The queue of one process. All methods belong to one event loop.

    `ticked` is called with the memory of a Watch after each of its ticks and outcomes.
    """

    def __init__(
        self,
        *,
        clock: ports.Clock,
        transports: ports.Transports,
        ticker: tick.Ticker,
        store: ports.StateStore[checkpoint.Checkpoint],
        delivery: ports.Delivery,
        signals: ports.Signals,
        options: Options,
        ticked: Callable[[memory.Memory], None] = _unheard,
    ) -> None:
        self._clock = clock
        self._transports = transports
        self._ticker = ticker
        self._store = store
        self._delivery = delivery
        self._signals = signals
        self._options = options
        self._ticked = ticked
        self._reads = reads.Reads(clock, signals, options.read_limits)
        self._entries: dict[ids.WatchUid, entry.Entry] = {}
        self._kick = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._readings: set[asyncio.Task[reads.Answers]] = set()
        self._draining = False
        self.looped = clock.monotonic()
        """When the loop last went round, by the monotonic clock; it does so at least every minute."""

    # --- what is watched -------------------------------------------------------------------------------------------

    def __contains__(self, uid: ids.WatchUid) -> bool:
        return uid in self._entries

    def uids(self) -> frozenset[ids.WatchUid]:
        """The Watches that are enrolled."""
        return frozenset(self._entries)

    def memory_of(self, uid: ids.WatchUid) -> memory.Memory | None:
        """What is known of a Watch now."""
        found = self._entries.get(uid)
        return None if found is None else found.memory

    def enrol(self, watch: enrolment.Enrolment, stored: memory.Stored) -> None:
        """Watch something new, or go on with a newer spec or other annotations; `stored` counts for a new one only."""
        now = self._clock.now()
        known = self._entries.get(watch.ref.uid)
        if known is None:
            self._enrol_new(watch, stored, now)
        elif known.watch != watch:
            newer = known.watch.ref.generation != watch.ref.generation
            known.memory = memory.renew(known.memory, watch, now)
            if newer or known.poke != watch.poke:
                known.hurry(now)
            known.poke = watch.poke
        self._kick.set()

    def _enrol_new(self, watch: enrolment.Enrolment, stored: memory.Stored, now: ids.Instant) -> None:
        begun = memory.begin(watch, stored, now)
        new = entry.Entry(begun, now, self._clock.monotonic(), changed_at=now, poke=watch.poke)
        if stored.state is not None and begun.state.in_flight is None:
            new.due = now + self._options.spread * watch.cadence.interval * _spread(watch.ref.uid)
        self._entries[watch.ref.uid] = new
        if begun.state.quiet_for_good:
            new.announce(self._signals)
        elif stored.state is None:
            new.pending = self._spawn(self._show_pending(new))

    async def _show_pending(self, new: entry.Entry) -> None:
        await self._clock.sleep(FIRST_WRITE_AFTER)
        async with new.lock:
            shown = new.memory.current
            result = await self._store.save(shown)
            if result is ports.SaveResult.SAVED:
                new.memory = dataclasses.replace(new.memory, saved=shown)
            elif result is ports.SaveResult.GONE:
                self._forget(new)

    def poke(self, uid: ids.WatchUid) -> None:
        """Bring the next read of a Watch forward."""
        if (known := self._entries.get(uid)) is not None:
            known.hurry(self._clock.now())
            self._kick.set()

    def beat(self, uid: ids.WatchUid) -> None:
        """The timer of a Watch was heard of; a Watch that is late is due now."""
        if (known := self._entries.get(uid)) is not None:
            known.beat, known.timer_lost = self._clock.monotonic(), False
            if known.due <= self._clock.now():
                self._kick.set()

    async def drop(self, uid: ids.WatchUid) -> None:
        """Watch it no longer, and take its wake back if no session has it; an unreachable sidecar is not waited for."""
        if (known := self._entries.get(uid)) is not None:
            self._forget(known)
            await self._withdraw(known)

    def _forget(self, known: entry.Entry) -> None:
        known.gone = True
        known.read_at_last()
        known.announce(self._signals)
        if self._entries.get(known.watch.ref.uid) is known:
            del self._entries[known.watch.ref.uid]
        self._reads.keep_only({key for other in self._entries.values() for key in other.keys})

    async def _withdraw(self, known: entry.Entry) -> None:
        try:
            async with asyncio.timeout(WITHDRAW_TIMEOUT), known.lock:
                # With the lock, since a tick that is under way may be about to submit the wake.
                flown = known.memory.state.in_flight
                if flown is not None and flown.claimed is None:
                    await self._delivery.withdraw(flown.id)
        except (ports.DeliveryError, TimeoutError):
            # The sidecar finds out by itself: a claim of a wake whose Watch is gone completes into nothing.
            return

    # --- the loop --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; what is under way is then finished or cancelled with it."""
        follower = asyncio.create_task(feed.Feed(self._delivery, self._clock, self.outcome).run())
        try:
            while True:
                if follower.done():
                    follower.result()
                self._kick.clear()
                self.looped = self._clock.monotonic()
                await self._start_round()
                await self._wait()
        finally:
            under_way: list[asyncio.Task[Any]] = [follower, *self._tasks, *self._readings]
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def round(self) -> None:
        """One round over what is due now, waited for; for a run that ends after it."""
        await self._start_round()
        await self._ended()

    async def drain(self) -> None:
        """Begin nothing more, let what is under way end (reads for a while), and store what is not stored yet."""
        self._draining = True
        for known in self._entries.values():
            known.read_at_last()
        if self._readings:
            await asyncio.wait(self._readings, timeout=READ_GRACE)
        for reading in self._readings:
            # A read may take longer than there is time, and whoever comes next reads it again.
            reading.cancel()
        await self._ended()
        unsettled = [known for known in self._entries.values() if known.settle_at is not None]
        await asyncio.gather(*(self._settle(known) for known in unsettled), return_exceptions=True)

    async def _ended(self) -> None:
        """Wait for what is under way; a task that failed has logged it."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def outcome(self, event: wakes.OutcomeEvent) -> None:
        """What became of a wake."""
        known = self._entries.get(event.watch)
        if known is None:
            return
        async with known.lock:
            before = known.memory
            ticked = await self._ticker.outcome(before, event, self._clock.now())
            if ticked.memory is before:
                return
            self._took(known, ticked)
            known.due = min(known.due, known.next_due(self._clock.now()))
        self._kick.set()

    async def _wait(self) -> None:
        now = self._clock.now()
        times = [self._next(known) for known in self._entries.values() if not known.busy]
        delay = min(max(min(times, default=now + _IDLE) - now, 0.0), _IDLE)
        waiter = asyncio.create_task(self._kick.wait())
        sleeper = asyncio.create_task(self._clock.sleep(delay))
        try:
            await asyncio.wait({waiter, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            sleeper.cancel()

    def _next(self, known: entry.Entry) -> ids.Instant:
        if known.over:
            return self._clock.now() + _IDLE
        return known.due if known.settle_at is None else min(known.due, known.settle_at)

    async def _start_round(self) -> None:
        if self._draining:
            return
        now = self._clock.now()
        self._notice_lost_timers()
        free = [known for known in self._entries.values() if not known.busy and not known.over]
        for known in free:
            if known.due > now and known.settle_at is not None and known.settle_at <= now:
                known.busy = True
                self._spawn(self._settle(known))
        ripe = [known for known in free if known.due <= now and not known.busy]
        if ripe:
            soon = [known for known in free if not known.busy and known.due > now and self._soon(known, now)]
            await self._start_reads(ripe, soon)

    def _soon(self, known: entry.Entry, now: ids.Instant) -> bool:
        probed = known.memory.probed
        return probed and known.due - now <= known.watch.cadence.interval / _PREFETCH

    async def _start_reads(self, ripe: list[entry.Entry], soon: list[entry.Entry]) -> None:
        """Group the subjects of what is due, and of what is due soon in the same groups, and read each group once."""
        for known in (*ripe, *soon):
            known.busy = True
        began = {known.watch.ref.uid: known.watch.ref.generation for known in (*ripe, *soon)}
        parts = {known.watch.ref.uid: await plans.parts_of(known.memory, self._transports) for known in ripe}
        keys = {part.key for of in parts.values() if isinstance(of, list) for part in of}
        for known in soon:
            mine = await plans.parts_of(known.memory, self._transports) if keys else []
            if isinstance(mine, list) and any(part.key in keys for part in mine):
                parts[known.watch.ref.uid] = mine
            else:
                known.busy = known.asked = False
        planned = plans.plan(of for of in parts.values() if isinstance(of, list))
        kinds = {known.watch.kind.name: known.watch.kind for known in (*ripe, *soon)}
        readings = {
            key: asyncio.create_task(self._reads.read(key, kinds[key.kind], plan.bound, plan.wanted, plan.watches))
            for key, plan in planned.items()
        }
        self._readings.update(readings.values())
        for reading in readings.values():
            reading.add_done_callback(self._readings.discard)
        for known in (*ripe, *soon):
            if (uid := known.watch.ref.uid) in parts:
                self._spawn(self._tick(known, began[uid], parts[uid], readings))

    async def _tick(
        self,
        known: entry.Entry,
        generation: int,
        parts: list[plans.Part] | failures.Failure,
        readings: Mapping[groups.GroupKey, asyncio.Task[reads.Answers]],
    ) -> None:
        was_due = known.due
        try:
            answers: reads.Answers = {}
            if isinstance(parts, failures.Failure):
                answers = {target.id: parts for target in known.memory.live}
            else:
                known.keys = frozenset(part.key for part in parts)
                for key in known.keys:
                    answers |= await asyncio.shield(readings[key])
            async with known.lock:
                if not known.gone and known.watch.ref.generation == generation:
                    await self._tick_locked(known, answers, was_due)
        finally:
            if known.due <= was_due:
                known.due = known.next_due(self._clock.now())
            if known.asked:
                known.due, known.asked = self._clock.now(), False
            known.busy = False
            self._kick.set()

    async def _tick_locked(self, known: entry.Entry, answers: reads.Answers, was_due: ids.Instant) -> None:
        known.read_at_last()
        now, before = self._clock.now(), known.memory
        ticked = await self._ticker.tick(before, answers, now)
        if ticked.saved is ports.SaveResult.STALE:
            # The spec is a newer one: this result is dropped, and decided again once the newer one is enrolled.
            known.due = now + entry.RETRY_FIRST
            return
        self._took(known, ticked)
        after = known.memory
        if essence.essence(before.current) != essence.essence(after.current):
            known.changed_at = now
        known.rechecks = known.rechecks + 1 if entry.computing(after) else 0
        known.due = known.next_due(self._clock.now())
        verdict = after.current.verdict or verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
        self._signals.emit(ports.TickDone(known.watch.kind.name, verdict, max(now - was_due, 0.0)))

    async def _settle(self, known: entry.Entry) -> None:
        try:
            async with known.lock:
                if not known.gone:
                    self._took(known, await self._ticker.settle(known.memory, self._clock.now()))
        finally:
            known.busy = False
            self._kick.set()

    def _took(self, known: entry.Entry, ticked: tick.Ticked) -> None:
        known.take(ticked, self._clock.now())
        if ticked.saved is ports.SaveResult.GONE:
            self._forget(known)
            self._spawn(self._withdraw(known))
        known.announce(self._signals)
        self._ticked(known.memory)

    def _notice_lost_timers(self) -> None:
        period = self._options.timer_period
        if period is None:
            return
        silent_since = self._clock.monotonic() - 3 * period
        for known in self._entries.values():
            if known.beat < silent_since and not known.timer_lost:
                known.timer_lost = True
                self._signals.emit(ports.TimerLost(known.watch.kind.name))

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        """One Watch must not end the others: what nobody foresaw is logged with its traceback, and tried again."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _LOG.error("a tick failed", exc_info=error)


def _spread(uid: ids.WatchUid) -> float:
    """A place between 0 and 1 that a Watch keeps over restarts."""
    return int.from_bytes(hashlib.sha256(uid.encode()).digest()[:4]) / 2**32
