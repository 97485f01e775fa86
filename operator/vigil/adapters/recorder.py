"""What the ledger hears of verdicts: when a Watch became quiet, and for which reason, each change once.

That a Watch woke, ended or stopped is in the ledger already: the sidecar writes it down with the wake that tells it.
"""

import asyncio
import collections
import contextlib
import hashlib
import itertools
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Final, NamedTuple, Protocol

import pydantic

from vigil import ports
from vigil.api import base, ledger, wake
from vigil.model import failures, ids, verdicts
from vigil.tick import memory

_LOG = logging.getLogger(__name__)

WAITING: Final = 10_000
"""Changes that wait for the sidecar; of more the oldest are lost."""
REMEMBERED: Final = 20_000
"""Watches whose last verdict is remembered; the ledger is asked for that of others."""
FIRST_PAUSE: Final[ids.Seconds] = 1.0
LONGEST_PAUSE: Final[ids.Seconds] = 60.0
LAST_WORDS: Final[ids.Seconds] = 2.0
"""How long the end may take to write down what still waits."""
_LOOKED_AT: Final = 20
_REFUSED: Final = frozenset({failures.Category.MALFORMED, failures.Category.TOO_LARGE})
"""A sidecar that says so of some changes would say it again."""


class Ledger(Protocol):
    """The ledger of a sidecar."""

    async def record(self, entries: Sequence[ledger.Verdict]) -> object:
        """Append changes of verdicts; a repetition is no second entry. Raises DeliveryError."""
        ...

    async def ledger(self, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
        """The entries of a Watch, the newest first. Raises DeliveryError."""
        ...


class _Word(NamedTuple):
    """What is compared of a verdict."""

    verdict: str
    reason: str


class _Change(NamedTuple):
    """A Watch became quiet, or quiet for another reason; `first` says that this process knew of no verdict before."""

    number: int
    entry: ledger.Verdict
    first: bool


class Recorder:
    """Reports changes to a ledger in the background, as well as that goes: what it loses is missed by nobody else."""

    def __init__(
        self, book: Ledger, clock: ports.Clock, *, waiting: int = WAITING, remembered: int = REMEMBERED
    ) -> None:
        self._book = book
        self._clock = clock
        self._limit = waiting
        self._remembered = remembered
        self._last: collections.OrderedDict[ids.WatchUid, _Word] = collections.OrderedDict()
        self._waiting: collections.deque[_Change] = collections.deque()
        self._numbers = itertools.count()
        self._some = asyncio.Event()
        self._pause = 0.0
        self.lost = 0
        """Changes that will never be in the ledger."""

    def told(self, known: memory.Memory) -> None:
        """Take note of a Watch after a tick or an outcome; returns at once and never raises."""
        verdict, uid = known.current.verdict, known.watch.ref.uid
        if verdict is None:
            return
        word, before = _Word(type(verdict).__name__, str(verdict.reason)), self._last.pop(uid, None)
        self._last[uid] = word
        if len(self._last) > self._remembered:
            self._last.popitem(last=False)
        if word == before or not isinstance(verdict, verdicts.Quiet):
            return
        try:
            entry = _entry(known, word, self._clock.now())
        except pydantic.ValidationError as error:
            self._lose(1, f"that of the Watch {uid} has {error.error_count()} faults")
            return
        self._waiting.append(_Change(next(self._numbers), entry, first=before is None))
        if len(self._waiting) > self._limit:
            self._waiting.popleft()
            self.lost += 1
        self._some.set()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator["Recorder"]:
        """Report until the context ends, and what waits then if that goes quickly."""
        task = asyncio.create_task(self.run(), name="recorder")
        task.add_done_callback(_log_end)
        try:
            yield self
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with contextlib.suppress(TimeoutError, ports.DeliveryError):
                async with asyncio.timeout(LAST_WORDS):
                    while self._waiting:
                        await self._send()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await self._some.wait()
            await self.step()

    async def step(self) -> None:
        """Report once what waits, or as much of it as is reported at a time; after a failure, wait a while."""
        try:
            await self._send()
        except ports.DeliveryError as error:
            if not self._pause:
                _LOG.warning("the ledger cannot be written, and is tried again: %s", error)
            self._pause = min(max(2 * self._pause, FIRST_PAUSE), LONGEST_PAUSE)
            await self._clock.sleep(self._pause)
            return
        if self._pause:
            _LOG.info("the ledger is written again; %d changes were lost since the start", self.lost)
        self._pause = 0.0

    async def _send(self) -> None:
        batch = list(itertools.islice(self._waiting, ledger.PAGE_LIMIT))
        if not batch:
            return
        entries = [change.entry for change in batch if not (change.first and await self._known(change.entry))]
        try:
            if entries:
                await self._book.record(entries)
        except ports.DeliveryError as error:
            if error.failure.category not in _REFUSED:
                raise
            self._lose(len(entries), str(error))
        # What came meanwhile may have pushed out what was sent.
        while self._waiting and self._waiting[0].number <= batch[-1].number:
            self._waiting.popleft()
        if not self._waiting:
            self._some.clear()

    async def _known(self, entry: ledger.Verdict) -> bool:
        """Whether an earlier process wrote it down: the Watch is quiet for the same reason as it was then."""
        try:
            page = await self._book.ledger(ids.WatchUid(entry.watch.uid), None, _LOOKED_AT)
        except ports.DeliveryError as error:
            if error.failure.category in _REFUSED:
                return False
            raise
        words = (one for one in page.entries if one.event in {ledger.Event.VERDICT, ledger.Event.QUEUED})
        newest = next(words, None)
        return newest is not None and (newest.verdict, newest.reason) == (entry.verdict, entry.reason)

    def _lose(self, count: int, why: str) -> None:
        self.lost += count
        _LOG.warning("%d changes of verdicts cannot be in the ledger: %s", count, why)


def _entry(known: memory.Memory, word: _Word, at: ids.Instant) -> ledger.Verdict:
    """The change as it is sent; the same one has the same id. Raises ValidationError."""
    watch, keys = known.watch.ref, sorted({identity.key for identity in known.shown})
    return ledger.Verdict(
        id=hashlib.sha256("\n".join((watch.uid, repr(at), *word)).encode()).hexdigest()[:32],
        watch=wake.Watch.of(watch),
        at=base.time_of(at),
        verdict=word.verdict,
        reason=word.reason,
        keys=tuple(keys[: ledger.KEYS_LIMIT]),
        keys_in_all=len(keys),
    )


def _log_end(task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _LOG.error("nothing is written to the ledger any more", exc_info=error)
