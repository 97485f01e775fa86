"""The plural read of a group: sequential within an account, in chunks, with every failure answered for."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from vigil import ports
from vigil.kind import api as kind_api
from vigil.kind import transport
from vigil.model import failures, ids
from vigil.scheduler import governor, groups

Answers: TypeAlias = dict[ids.SubjectId, kind_api.Snapshot | failures.Failure]
Wanted: TypeAlias = Mapping[ids.SubjectId, kind_api.Wanted]

DEFAULT_HOLD: Final[ids.Seconds] = 60.0
"""How long a provider is left alone that throttles without saying for how long."""


_SPLIT: Final = frozenset(
    {
        failures.Category.TIMEOUT,
        failures.Category.TRANSIENT,
        failures.Category.TOO_LARGE,
        failures.Category.MALFORMED,
        failures.Category.UNKNOWN,
    }
)
"""The failures of a whole chunk that one of its subjects, or their number, can be the reason of."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one chunk may use: seconds and requests."""

    timeout: ids.Seconds = 30.0
    requests: int = 50


@dataclasses.dataclass(slots=True)
class _Account:
    """One credential with its provider: one request after another, and none while it is throttled."""

    turn: asyncio.Lock
    keys: set[groups.GroupKey] = dataclasses.field(default_factory=set[groups.GroupKey])
    held_until: ids.Instant = 0.0
    why: str = ""
    pacer: governor.Governor = dataclasses.field(default_factory=governor.Governor)


@dataclasses.dataclass(slots=True)
class _Group:
    reader: kind_api.Reader
    transport: transport.Transport
    chunk: groups.ChunkSize
    passed_over: frozenset[ids.SubjectId] = frozenset()
    """What was given up on in the last read: it comes first in the next one."""


class _Meter:
    """Says what a provider told of the allowance of one credential."""

    def __init__(
        self, signals: ports.Signals, clock: ports.Clock, key: groups.GroupKey, governed: governor.Governor
    ) -> None:
        self._signals = signals
        self._clock = clock
        self._key = key
        self._governor = governed

    def report(self, quota: kind_api.Quota) -> None:
        """Take note of one answer."""
        self._governor.report(quota)
        # The same account has an allowance of its own for each of a provider's resources.
        name = f"{self._key.account}/{quota.resource}"
        now = self._clock.now()
        self._signals.emit(ports.RateLimit(self._key.host, name, quota.limit, quota.remaining, quota.resets_at, now))


class Reads:
    """All groups of this process: their readers with their memory, their chunk sizes, their accounts."""

    def __init__(self, clock: ports.Clock, signals: ports.Signals, limits: ReadLimits) -> None:
        self._clock = clock
        self._signals = signals
        self._limits = limits
        self._accounts: dict[tuple[str, str], _Account] = {}
        self._groups: dict[groups.GroupKey, _Group] = {}

    def forget(self, key: groups.GroupKey) -> None:
        """Forget a group that no Watch belongs to any more, and its account with the last of its groups."""
        self._groups.pop(key, None)
        account = self._accounts.get((key.host, key.account))
        if account is not None:
            account.keys.discard(key)
            if not account.keys:
                del self._accounts[key.host, key.account]

    def interval(self, keys: Iterable[groups.GroupKey]) -> ids.Seconds:
        """How far apart reads in these groups have to be for the allowances of their accounts; 0 for no matter."""
        now = self._clock.now()
        accounts = (self._accounts.get((key.host, key.account)) for key in keys)
        return max((one.pacer.interval(now) for one in accounts if one is not None), default=0.0)

    async def read(
        self, key: groups.GroupKey, kind: kind_api.Kind, bound: ports.Bound, wanted: Wanted, watches: int
    ) -> Answers:
        """Read these subjects of a group; every one is answered.

        `watches` is how many Watches wait for the answer: a failure that several of them share is the group's.
        """
        account = self._accounts.setdefault((key.host, key.account), _Account(asyncio.Lock()))
        account.keys.add(key)
        try:
            group = self._group(key, kind, bound)
        except Exception as error:
            # A kind is a plug-in: whatever it raises is its own failure to read.
            return _all(wanted, _broken(error))
        async with account.turn:
            meter = _Meter(self._signals, self._clock, key, account.pacer)
            answers = await self._answers(kind, account, group, wanted, meter)
        return _shared(answers) if watches > 1 else answers

    async def _answers(
        self, kind: kind_api.Kind, account: _Account, group: _Group, wanted: Wanted, meter: kind_api.Meter
    ) -> Answers:
        """Read in chunks, and a chunk that failed as a whole in smaller ones.

        Isolating one bad subject takes as many failures in a row as the chunk can be halved. More of them are an
        outage, and what is left is not asked for.
        """
        answers: Answers = {}
        pending = list(groups.chunks(wanted, group.chunk.size, group.passed_over))
        group.passed_over = frozenset()
        in_a_row, enough = 0, len(wanted).bit_length() + 1
        while pending:
            chunk = pending.pop(0)
            got = await self._chunk(kind, account, group, chunk, meter)
            if not isinstance(got, failures.Failure):
                answers, in_a_row = answers | got, 0
                continue
            answers, in_a_row = answers | _all(chunk, got), in_a_row + 1
            if in_a_row > enough:
                group.passed_over = frozenset(name for rest in pending for name in rest)
                return answers | _all(group.passed_over, got)
            if len(chunk) > 1 and got.category in _SPLIT:
                group.chunk.failed(len(chunk))
                pending = [*groups.chunks(chunk, group.chunk.size), *pending]
        return answers

    def _group(self, key: groups.GroupKey, kind: kind_api.Kind, bound: ports.Bound) -> _Group:
        """The group with its reader, made anew when the transport behind it is another one."""
        group = self._groups.get(key)
        if group is None or group.transport is not bound.transport:
            size = group.chunk if group is not None else groups.ChunkSize(kind.chunk, kind.chunk)
            group = self._groups[key] = _Group(kind.reader(bound.transport), bound.transport, size)
        return group

    async def _chunk(
        self, kind: kind_api.Kind, account: _Account, group: _Group, chunk: Wanted, meter: kind_api.Meter
    ) -> Answers | failures.Failure:
        """The answers for a chunk, or why it failed as a whole."""
        now, began = self._clock.now(), self._clock.monotonic()
        if now < account.held_until:
            return failures.Failure(failures.Category.THROTTLED, account.why, account.held_until - now)
        got = await self._read(group, chunk, now, meter)
        answers = _all(chunk, got) if isinstance(got, failures.Failure) else got
        account.pacer.read(chunk, self._clock.now())
        if answers is got:
            group.chunk.succeeded()
        self._hold(account, answers)
        failed = Counter(of.category for of in answers.values() if isinstance(of, failures.Failure))
        took = self._clock.monotonic() - began
        self._signals.emit(ports.ProbeDone(kind.name, len(chunk), took, self._clock.now(), dict(failed)))
        return got

    async def _read(
        self, group: _Group, chunk: Wanted, now: ids.Instant, meter: kind_api.Meter
    ) -> Answers | failures.Failure:
        budget = kind_api.ReadBudget(self._limits.timeout, self._limits.requests, now, meter)
        try:
            async with asyncio.timeout(self._limits.timeout):
                answered = await group.reader.read(chunk, budget)
        except transport.ReadError as error:
            return error.failure
        except TimeoutError:
            message = f"no answer within {self._limits.timeout:g} s"
            return failures.Failure(failures.Category.TIMEOUT, message)
        except Exception as error:
            # A kind is a plug-in: whatever else it raises is its own failure to read.
            return _broken(error)
        unanswered = failures.Failure(failures.Category.MALFORMED, "the kind gave no answer for this subject")
        return {name: answered.get(name, unanswered) for name in chunk}

    def _hold(self, account: _Account, answers: Answers) -> None:
        """Leave the account alone for as long as its provider asks."""
        for of in answers.values():
            if isinstance(of, failures.Failure) and of.category is failures.Category.THROTTLED:
                until = self._clock.now() + (DEFAULT_HOLD if of.retry_after is None else of.retry_after)
                if until > account.held_until:
                    account.held_until, account.why = until, of.message


def _all(names: Iterable[ids.SubjectId], failure: failures.Failure) -> Answers:
    return dict.fromkeys(names, failure)


def _broken(error: Exception) -> failures.Failure:
    return failures.Failure(failures.Category.UNKNOWN, f"the kind failed to read: {type(error).__name__}: {error}")


def _shared(answers: Answers) -> Answers:
    """The answers of a group of several Watches: a healing failure that all of them have is the group's."""
    categories = {of.category if isinstance(of, failures.Failure) else None for of in answers.values()}
    if len(answers) < 2 or len(categories) != 1 or None in categories:
        return answers
    return {
        name: dataclasses.replace(of, shared=True) if isinstance(of, failures.Failure) and of.heals else of
        for name, of in answers.items()
    }
