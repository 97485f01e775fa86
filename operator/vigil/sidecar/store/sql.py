"""The store in SQL: SQLAlchemy Core over an async driver.

SQLite is one file in WAL mode for one replica. Writing transactions come one after the other, begun with BEGIN
IMMEDIATE, so that what a transaction reads is what it changes. On another database the same order comes from a lock of
its own: it goes into `_write`, and nothing else here knows which database it is. Outcomes get their cursors in the
order of commits, which needs that order too.
"""

import asyncio
import contextlib
import fcntl
import os
import pathlib
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import event, exc, pool
from sqlalchemy.ext import asyncio as sa_async

from vigil import ports
from vigil.api import ledger
from vigil.model import ids, wakes
from vigil.sidecar import evidence, sessions, turns
from vigil.sidecar.store import claims, history, migrate, planning, port, queue

BUSY_TIMEOUT_MS = 10_000
_READ = "vigil_read"


class SqlStore:
    """port.Store over one database.

    `lock_file` is held while migrations run; None where nobody else can reach the database.
    """

    def __init__(self, engine: sa_async.AsyncEngine, rules: turns.Rules, lock_file: pathlib.Path | None = None) -> None:
        self._engine = engine
        self._rules = rules
        self._lock_file = lock_file
        self._writer = asyncio.Lock()

    @classmethod
    def file(cls, path: pathlib.Path, rules: turns.Rules | None = None) -> Self:
        """A SQLite file, made with mode 0600 in a folder that is made with mode 0700."""
        path = path.absolute()
        url = sa.URL.create("sqlite+aiosqlite", database=str(path))
        engine = sa_async.create_async_engine(url, pool_size=4, max_overflow=4)
        _prepare(engine.sync_engine)
        return cls(engine, rules or turns.Rules(), path.with_name(path.name + ".lock"))

    @classmethod
    def memory(cls, rules: turns.Rules | None = None) -> Self:
        """A SQLite database of one connection, gone when it is closed; for tests."""
        engine = sa_async.create_async_engine("sqlite+aiosqlite://", poolclass=pool.StaticPool)
        _prepare(engine.sync_engine)
        return cls(engine, rules or turns.Rules())

    async def open(self) -> None:
        """See port.Store.open."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                if self._lock_file is not None:
                    await asyncio.to_thread(_make_folder, self._lock_file)
                    handle = await asyncio.to_thread(_lock, self._lock_file)
                    stack.callback(os.close, handle)
                db = await stack.enter_async_context(self._write())
                await db.run_sync(migrate.upgrade)
        except (OSError, migrate.VersionError) as error:
            raise port.StoreError(str(error)) from error

    async def close(self) -> None:
        """See port.Store.close."""
        await self._engine.dispose()

    async def ready(self) -> None:
        """See port.Store.ready."""
        async with self._read() as db:
            await db.execute(sa.select(1))

    async def submit(
        self, message: wakes.WakeMessage, ref: evidence.Ref | None, now: ids.Instant
    ) -> port.Submitted | port.OtherClaimed:
        """See port.Store.submit."""
        async with self._write() as db:
            return await queue.submit(db, self._rules, message, ref, now)

    async def withdraw(self, wake: ids.WakeId, now: ids.Instant) -> port.Ended | None:
        """See port.Store.withdraw."""
        async with self._write() as db:
            return await queue.withdraw(db, self._rules, wake, now)

    async def get(self, wake: ids.WakeId, now: ids.Instant) -> port.Shown | None:
        """See port.Store.get."""
        async with self._read() as db:
            return await queue.show(db, self._rules, wake, now)

    async def attach(
        self, address: sessions.Address, said: sessions.Attachment, now: ids.Instant
    ) -> tuple[sessions.Session, int]:
        """See port.Store.attach."""
        async with self._write() as db:
            return await claims.attach(db, address, said, now)

    async def detach(self, address: sessions.Address, now: ids.Instant) -> None:
        """See port.Store.detach."""
        async with self._write() as db:
            await claims.detach(db, address, now)

    async def claim(
        self, address: sessions.Address, request: str | None, user_turn: bool, now: ids.Instant
    ) -> port.Claimed:
        """See port.Store.claim."""
        async with self._write() as db:
            return await claims.claim(db, self._rules, address, now, request=request, user_turn=user_turn)

    async def renew(self, wake: ids.WakeId, fence: int, now: ids.Instant) -> ids.Instant | port.Stale:
        """See port.Store.renew."""
        async with self._write() as db:
            return await claims.renew(db, self._rules, wake, fence, now)

    async def release(self, wake: ids.WakeId, fence: int, now: ids.Instant) -> port.Ended | port.Stale:
        """See port.Store.release."""
        async with self._write() as db:
            return await claims.release(db, self._rules, wake, fence, now)

    async def complete(
        self, wake: ids.WakeId, done: port.Completion, now: ids.Instant
    ) -> port.Ended | port.Stale | port.NotInTurn:
        """See port.Store.complete."""
        async with self._write() as db:
            return await claims.complete(db, self._rules, wake, done, now)

    async def expire(self, now: ids.Instant) -> tuple[wakes.OutcomeEvent, ...]:
        """See port.Store.expire."""
        async with self._write() as db:
            return await claims.expire(db, self._rules, now)

    async def plan(self, now: ids.Instant) -> port.Plan:
        """See port.Store.plan."""
        async with self._read() as db:
            return await planning.plan(db, self._rules, now)

    async def begin_notification(self, wake: ids.WakeId, now: ids.Instant, until: ids.Instant) -> port.Held | None:
        """See port.Store.begin_notification."""
        async with self._write() as db:
            return await planning.begin_notification(db, self._rules, wake, now, until)

    async def end_notification(
        self, wake: ids.WakeId, sequence: int, again_at: ids.Instant | None, now: ids.Instant
    ) -> tuple[wakes.OutcomeEvent, ...]:
        """See port.Store.end_notification."""
        async with self._write() as db:
            return await planning.end_notification(db, wake, sequence, again_at, now)

    async def end_telling(self, address: sessions.Address, again_at: ids.Instant | None) -> None:
        """See port.Store.end_telling."""
        async with self._write() as db:
            await planning.end_telling(db, address, again_at)

    async def outcomes(self, after: int, limit: int) -> ports.OutcomePage:
        """See port.Store.outcomes."""
        async with self._read() as db:
            return await history.outcomes(db, after, limit)

    async def record(self, entries: Sequence[ledger.Verdict]) -> int:
        """See port.Store.record."""
        async with self._write() as db:
            return await history.record(db, entries)

    async def ledger(self, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
        """See port.Store.ledger."""
        async with self._read() as db:
            return await history.page(db, watch, before, limit)

    async def prune(self, retention: port.Retention, now: ids.Instant) -> frozenset[evidence.Ref]:
        """See port.Store.prune."""
        async with self._write() as db:
            return await history.prune(db, retention, now)

    async def evidence(self) -> frozenset[evidence.Ref]:
        """See port.Store.evidence."""
        async with self._read() as db:
            return await history.references(db)

    @contextlib.asynccontextmanager
    async def _write(self) -> AsyncGenerator[sa_async.AsyncConnection]:
        with _translated():
            async with self._writer, self._engine.begin() as db:
                yield db

    @contextlib.asynccontextmanager
    async def _read(self) -> AsyncGenerator[sa_async.AsyncConnection]:
        with _translated():
            async with contextlib.AsyncExitStack() as stack:
                if isinstance(self._engine.pool, pool.StaticPool):
                    # One connection has one transaction at a time.
                    await stack.enter_async_context(self._writer)
                db = await stack.enter_async_context(self._engine.connect())
                db = await db.execution_options(**{_READ: True})
                await stack.enter_async_context(db.begin())
                yield db


@contextlib.contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except exc.SQLAlchemyError as error:
        raise port.StoreError(f"{type(error).__name__}: {error}") from error


def _prepare(engine: sa.Engine) -> None:
    """Let SQLAlchemy alone begin and end transactions, and have SQLite keep what it has committed."""

    @event.listens_for(engine, "connect")
    def _connected(connection: Any, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "foreign_keys=ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begun(connection: sa.Connection) -> None:
        reads = connection.get_execution_options().get(_READ, False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _make_folder(lock_file: pathlib.Path) -> None:
    lock_file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = lock_file.with_name(lock_file.name.removesuffix(".lock"))
    os.close(os.open(database, os.O_RDWR | os.O_CREAT, 0o600))


def _lock(path: pathlib.Path) -> int:
    """Wait for the lock; it goes with the handle that is given, and so with the process."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except BaseException:
        os.close(handle)
        raise
    return handle
