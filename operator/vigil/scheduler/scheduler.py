"""The loop: what is due is read in groups, each Watch is ticked once its subjects were read, and is due again later."""

import asyncio
import dataclasses
import hashlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from vigil import ports
from vigil.model import failures, ids, verdicts, wakes
from vigil.scheduler import agenda, entry, feed, groups, lookout, places, plans, reads, withdrawals
from vigil.tick import checkpoint, enrolment, memory, tick

_LOG = logging.getLogger(__name__)

FIRST_WRITE_AFTER: Final[ids.Seconds] = 2.0
"""A new Watch is shown as Pending when its first read takes longer: most have a verdict by then, and one write."""
READ_GRACE: Final[ids.Seconds] = 5.0
"""How long a read that is under way may take to its end once everything is to end."""
_IDLE: Final[ids.Seconds] = 60.0


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
        self._withdrawals = withdrawals.Withdrawals(delivery, clock)
        self._entries: dict[ids.WatchUid, entry.Entry] = {}
        self._agenda = agenda.Agenda()
        self._places = places.Places(transports, self._reads)
        self._lookout = lookout.Lookout(
            self._entries,
            clock=clock,
            transports=transports,
            signals=signals,
            timer_period=options.timer_period,
            healed=self._hurry,
        )
        self._leaving: dict[ids.WatchUid, asyncio.Task[None]] = {}
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
            self._plan(known)

    def _enrol_new(self, watch: enrolment.Enrolment, stored: memory.Stored, now: ids.Instant) -> None:
        begun = memory.begin(watch, stored, now)
        new = entry.Entry(begun, now, self._clock.monotonic(), changed_at=now, poke=watch.poke)
        if stored.state is not None and begun.state.in_flight is None:
            new.due = now + self._options.spread * watch.cadence.interval * _spread(watch.ref.uid)
        self._entries[watch.ref.uid] = new
        self._places.add(new)
        self._plan(new)
        if begun.state.in_flight is not None:
            self._withdrawals.keep(begun.state.in_flight.id)
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
            self._hurry(known)

    def beat(self, uid: ids.WatchUid) -> None:
        """The timer of a Watch was heard of; a Watch that is late is due now."""
        if (known := self._entries.get(uid)) is not None:
            known.beat, known.timer_lost = self._clock.monotonic(), False
            if known.due <= self._clock.now():
                self._kick.set()

    def release(self, uid: ids.WatchUid) -> None:
        """Watch it no longer; its wake, if no session has it, is taken back in the background, whatever that takes."""
        if (known := self._entries.get(uid)) is not None:
            self._forget(known)

    async def drop(self, uid: ids.WatchUid) -> None:
        """Release a Watch, and wait a while until its wake is back; an unreachable sidecar is not waited for."""
        self.release(uid)
        if (leaving := self._leaving.get(uid)) is not None:
            await asyncio.wait({leaving}, timeout=withdrawals.TIMEOUT)

    def _forget(self, known: entry.Entry) -> None:
        if known.gone:
            return
        known.gone = True
        known.read_at_last()
        known.announce(self._signals)
        uid = known.watch.ref.uid
        del self._entries[uid]
        self._agenda.remove(uid)
        self._places.remove(known)
        self._leaving[uid] = self._spawn(self._take_back(known))

    async def _take_back(self, known: entry.Entry) -> None:
        uid, this = known.watch.ref.uid, asyncio.current_task()
        try:
            await self._withdrawals.first(known)
        finally:
            if self._leaving.get(uid) is this:
                del self._leaving[uid]

    def _plan(self, known: entry.Entry) -> None:
        """Put down when there is something to do for a Watch; what is busy is put down once it is free."""
        uid = known.watch.ref.uid
        if known.gone:
            return
        if known.busy or known.over:
            self._agenda.remove(uid)
        else:
            self._agenda.put(uid, known.next)
        self._kick.set()

    def _hurry(self, known: entry.Entry) -> None:
        known.hurry(self._clock.now())
        self._plan(known)

    def _free(self, known: entry.Entry) -> None:
        known.busy = False
        self._plan(known)

    # --- the loop --------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled; what is under way is then finished or cancelled with it."""
        follower = feed.Feed(self._delivery, self._clock, self.outcome)
        beside = [asyncio.create_task(one.run()) for one in (follower, self._withdrawals, self._lookout)]
        try:
            while True:
                for task in beside:
                    if task.done():
                        task.result()
                self._kick.clear()
                self.looped = self._clock.monotonic()
                await self._start_round()
                await self._wait()
        finally:
            await self._cancel(*beside)

    async def round(self) -> None:
        """One round over what is due now, waited for; for a run that ends after it."""
        try:
            await self._start_round()
            await self._ended()
        finally:
            await self._cancel()

    async def _cancel(self, *beside: asyncio.Task[None]) -> None:
        under_way: list[asyncio.Task[Any]] = [*beside, *self._tasks, *self._readings]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

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
        for known in self._entries.values():
            if known.settle_at is not None:
                self._spawn(self._settle(known))
        await self._ended()

    async def _ended(self) -> None:
        """Wait for what is under way, and let it go on where that is cut short; a task that failed has logged it."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def outcome(self, event: wakes.OutcomeEvent) -> None:
        """What became of a wake."""
        known = self._entries.get(event.watch)
        if known is None:
            return
        async with known.lock:
            before = known.memory
            if known.gone:
                return
            ticked = await self._ticker.outcome(before, event, self._clock.now())
            if ticked.memory is before:
                return
            self._took(known, ticked)
            known.due = min(known.due, self._next_due(known))
        self._plan(known)

    async def _wait(self) -> None:
        first = None if self._draining else self._agenda.first()
        delay = _IDLE if first is None else min(max(first - self._clock.now(), 0.0), _IDLE)
        waiter = asyncio.create_task(self._kick.wait())
        sleeper = asyncio.create_task(self._clock.sleep(delay))
        try:
            await asyncio.wait({waiter, sleeper}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()
            sleeper.cancel()

    async def _start_round(self) -> None:
        if self._draining:
            return
        now = self._clock.now()
        ripe: list[entry.Entry] = []
        for known in [self._entries[uid] for uid in self._agenda.take(now)]:
            known.busy = True
            if known.due <= now:
                ripe.append(known)
            else:
                self._spawn(self._settle(known))
        if ripe:
            await self._start_reads(ripe, now)

    async def _start_reads(self, ripe: list[entry.Entry], now: ids.Instant) -> None:
        """Group the subjects of what is due, and of what is due soon in the same groups, and read each group once."""
        starts = [await self._places.place(known) for known in ripe]
        starts += await self._along({key for start in starts for key in start.keys}, now)
        planned = plans.plan(start.parts for start in starts if isinstance(start.parts, list))
        kinds = {start.known.watch.kind.name: start.known.watch.kind for start in starts}
        readings = {
            key: asyncio.create_task(self._reads.read(key, kinds[key.kind], plan.bound, plan.wanted, plan.watches))
            for key, plan in planned.items()
        }
        self._readings.update(readings.values())
        for reading in readings.values():
            reading.add_done_callback(self._readings.discard)
        for start in starts:
            self._spawn(self._tick(start, readings))

    async def _along(self, keys: set[groups.GroupKey], now: ids.Instant) -> list[places.Placed]:
        """What is due soon and turns out to be in one of these groups."""
        soon = [known for known in self._places.near(keys) if known.soon(now)] if keys else []
        for known in soon:
            known.busy = True
            self._agenda.remove(known.watch.ref.uid)
        along: list[places.Placed] = []
        for known in soon:
            start = await self._places.place(known)
            if start.keys & keys:
                along.append(start)
            else:
                known.asked = False
                self._free(known)
        return along

    async def _tick(
        self, placed: places.Placed, readings: Mapping[groups.GroupKey, asyncio.Task[reads.Answers]]
    ) -> None:
        known, was_due = placed.known, placed.known.due
        try:
            answers: reads.Answers = {}
            if isinstance(placed.parts, failures.Failure):
                answers = {target.id: placed.parts for target in known.memory.live}
            for key in placed.keys:
                answers |= await asyncio.shield(readings[key])
            async with known.lock:
                if not known.gone and known.watch.ref.generation == placed.generation:
                    await self._tick_locked(known, answers, was_due)
        finally:
            if known.due <= was_due:
                known.due = self._next_due(known)
            if known.asked:
                known.due, known.asked = self._clock.now(), False
            if known.gone:
                self._places.tidy(placed.keys)
            self._free(known)

    async def _tick_locked(self, known: entry.Entry, answers: reads.Answers, was_due: ids.Instant) -> None:
        known.read_at_last()
        now = self._clock.now()
        before = known.memory = known.paced(self._reads.interval(known.keys))
        ticked = await self._ticker.tick(before, answers, now)
        if ticked.saved is ports.SaveResult.STALE:
            # The spec is a newer one: this result is dropped, and decided again once the newer one is enrolled.
            known.due = now + entry.RETRY_FIRST
            return
        self._took(known, ticked)
        known.ticked(before, now)
        known.due = self._next_due(known)
        verdict = known.memory.current.verdict or verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
        self._signals.emit(ports.TickDone(known.watch.kind.name, verdict, max(now - was_due, 0.0)))

    def _next_due(self, known: entry.Entry) -> ids.Instant:
        return known.next_due(self._clock.now(), self._reads.interval(known.keys))

    async def _settle(self, known: entry.Entry) -> None:
        try:
            async with known.lock:
                if not known.gone:
                    self._took(known, await self._ticker.settle(known.memory, self._clock.now()))
        finally:
            self._free(known)

    def _took(self, known: entry.Entry, ticked: tick.Ticked) -> None:
        known.take(ticked, self._clock.now())
        if ticked.saved is ports.SaveResult.GONE:
            self._forget(known)
        known.announce(self._signals)
        self._ticked(known.memory)

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
