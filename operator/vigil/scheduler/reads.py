"""The plural read of a group: sequential within an account, in chunks, with every failure answered for."""

import asyncio
import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Final, TypeAlias

from vigil import ports
from vigil.kind import api as kind_api
from vigil.kind import transport
from vigil.model import failures, ids
from vigil.scheduler import groups

Answers: TypeAlias = dict[ids.SubjectId, kind_api.Snapshot | failures.Failure]
Wanted: TypeAlias = Mapping[ids.SubjectId, kind_api.Wanted]

DEFAULT_HOLD: Final[ids.Seconds] = 60.0
"""How long a provider is left alone that throttles without saying for how long."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReadLimits:
    """What one chunk may use: seconds and requests."""

    timeout: ids.Seconds = 30.0
    requests: int = 50


@dataclasses.dataclass(slots=True)
class _Account:
    """One credential with its provider: one request after another, and none while it is throttled."""

    turn: asyncio.Lock
    held_until: ids.Instant = 0.0
    why: str = ""


@dataclasses.dataclass(slots=True)
class _Group:
    reader: kind_api.Reader
    transport: transport.Transport
    chunk: groups.ChunkSize


class Reads:
    """All groups of this process: their readers with their memory, their chunk sizes, their accounts."""

    def __init__(self, clock: ports.Clock, signals: ports.Signals, limits: ReadLimits) -> None:
        self._clock = clock
        self._signals = signals
        self._limits = limits
        self._accounts: dict[tuple[str, str], _Account] = {}
        self._groups: dict[groups.GroupKey, _Group] = {}

    def keep_only(self, keys: set[groups.GroupKey]) -> None:
        """Forget the groups that no Watch belongs to any more."""
        self._groups = {key: group for key, group in self._groups.items() if key in keys}
        accounts = {(key.host, key.account) for key in keys}
        self._accounts = {key: account for key, account in self._accounts.items() if key in accounts}

    async def read(
        self, key: groups.GroupKey, kind: kind_api.Kind, bound: ports.Bound, wanted: Wanted, watches: int
    ) -> Answers:
        """Read these subjects of a group; every one is answered.

        `watches` is how many Watches wait for the answer: a failure that several of them share is the group's.
        """
        account = self._accounts.setdefault((key.host, key.account), _Account(asyncio.Lock()))
        group = self._group(key, kind, bound)
        async with account.turn:
            answers: Answers = {}
            pending = list(groups.chunks(wanted, group.chunk.size))
            while pending:
                chunk = pending.pop(0)
                answers |= (got := await self._chunk(kind, account, group, chunk))
                if _timed_out(got) and len(chunk) > 1:
                    group.chunk.timed_out(len(chunk))
                    pending = [*groups.chunks(chunk, group.chunk.size), *pending]
        return _shared(answers) if watches > 1 else answers

    def _group(self, key: groups.GroupKey, kind: kind_api.Kind, bound: ports.Bound) -> _Group:
        """The group with its reader, made anew when the transport behind it is another one."""
        group = self._groups.get(key)
        if group is None or group.transport is not bound.transport:
            size = group.chunk if group is not None else groups.ChunkSize(kind.chunk, kind.chunk)
            group = self._groups[key] = _Group(kind.reader(bound.transport), bound.transport, size)
        return group

    async def _chunk(self, kind: kind_api.Kind, account: _Account, group: _Group, chunk: Wanted) -> Answers:
        now, began = self._clock.now(), self._clock.monotonic()
        if now < account.held_until:
            return _all(chunk, failures.Failure(failures.Category.THROTTLED, account.why, account.held_until - now))
        answers = await self._read(group, chunk, now)
        if not _timed_out(answers):
            group.chunk.succeeded()
        self._hold(account, answers)
        failed = Counter(of.category for of in answers.values() if isinstance(of, failures.Failure))
        took = self._clock.monotonic() - began
        self._signals.emit(ports.ProbeDone(kind.name, len(chunk), took, self._clock.now(), dict(failed)))
        return answers

    async def _read(self, group: _Group, chunk: Wanted, now: ids.Instant) -> Answers:
        budget = kind_api.ReadBudget(self._limits.timeout, self._limits.requests, now)
        try:
            async with asyncio.timeout(self._limits.timeout):
                answered = await group.reader.read(chunk, budget)
        except transport.ReadError as error:
            return _all(chunk, error.failure)
        except TimeoutError:
            message = f"no answer within {self._limits.timeout:g} s"
            return _all(chunk, failures.Failure(failures.Category.TIMEOUT, message))
        except Exception as error:
            # A kind is a plug-in: whatever else it raises is its own failure to read.
            message = f"the kind failed to read: {type(error).__name__}: {error}"
            return _all(chunk, failures.Failure(failures.Category.UNKNOWN, message))
        unanswered = failures.Failure(failures.Category.MALFORMED, "the kind gave no answer for this subject")
        return {name: answered.get(name, unanswered) for name in chunk}

    def _hold(self, account: _Account, answers: Answers) -> None:
        """Leave the account alone for as long as its provider asks."""
        for of in answers.values():
            if isinstance(of, failures.Failure) and of.category is failures.Category.THROTTLED:
                until = self._clock.now() + (DEFAULT_HOLD if of.retry_after is None else of.retry_after)
                if until > account.held_until:
                    account.held_until, account.why = until, of.message


def _all(chunk: Wanted, failure: failures.Failure) -> Answers:
    return dict.fromkeys(chunk, failure)


def _timed_out(answers: Answers) -> bool:
    """Whether the chunk as a whole was too slow: none of its subjects was read."""
    return all(isinstance(of, failures.Failure) and of.category is failures.Category.TIMEOUT for of in answers.values())


def _shared(answers: Answers) -> Answers:
    """The answers of a group of several Watches: a healing failure that all of them have is the group's."""
    categories = {of.category if isinstance(of, failures.Failure) else None for of in answers.values()}
    if len(answers) < 2 or len(categories) != 1 or None in categories:
        return answers
    return {
        name: dataclasses.replace(of, shared=True) if isinstance(of, failures.Failure) and of.heals else of
        for name, of in answers.items()
    }
