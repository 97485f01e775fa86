"""Transactions on what is over: outcomes, the ledger, and what may be forgotten."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from vigil import ports
from vigil.api import ledger
from vigil.model import ids, wakes
from vigil.sidecar import evidence
from vigil.sidecar.store import port, rows, tables

WAKES = tables.WAKES
OUTCOMES = tables.OUTCOMES
LEDGER = tables.LEDGER
FINAL = tuple(sorted(state.value for state in wakes.OUTCOMES))


async def outcomes(db: sa_async.AsyncConnection, after: int, limit: int) -> ports.OutcomePage:
    """See port.Store.outcomes."""
    newest = (await db.execute(sa.select(sa.func.coalesce(sa.func.max(OUTCOMES.c.cursor), 0)))).scalar_one()
    start = after if after <= newest else 0
    query = sa.select(OUTCOMES).where(OUTCOMES.c.cursor > start).order_by(OUTCOMES.c.cursor).limit(limit)
    events = tuple(rows.outcome(row) for row in (await db.execute(query)).all())
    return ports.OutcomePage(events, events[-1].cursor if events else start)


async def record(db: sa_async.AsyncConnection, entries: Sequence[ledger.Verdict]) -> int:
    """See port.Store.record."""
    new = {each.id: each for each in entries}
    query = sa.select(LEDGER.c.report).where(LEDGER.c.report.in_(list(new)))
    for known in (await db.execute(query)).scalars().all():
        new.pop(known or "", None)
    for each in new.values():
        await db.execute(
            sa.insert(LEDGER).values(
                report=each.id,
                at=each.at.timestamp(),
                watch_uid=each.watch.uid,
                namespace=each.watch.namespace,
                watch=each.watch.name,
                event=ledger.Event.VERDICT.value,
                verdict=each.verdict,
                reason=each.reason,
                wake="",
                session="",
                keys=list(each.keys),
                keys_in_all=max(each.keys_in_all, len(each.keys)),
            )
        )
    return len(new)


async def page(db: sa_async.AsyncConnection, watch: ids.WatchUid, before: int | None, limit: int) -> ledger.Page:
    """See port.Store.ledger."""
    query = sa.select(LEDGER).where(LEDGER.c.watch_uid == watch)
    if before is not None:
        query = query.where(LEDGER.c.position < before)
    found = (await db.execute(query.order_by(LEDGER.c.position.desc()).limit(limit + 1))).all()
    entries = tuple(rows.entry(row) for row in found[:limit])
    return ledger.Page(entries=entries, next=entries[-1].position if len(found) > limit else None)


async def prune(db: sa_async.AsyncConnection, retention: port.Retention, now: ids.Instant) -> frozenset[evidence.Ref]:
    """See port.Store.prune."""
    over = sa.and_(WAKES.c.state.in_(FINAL), WAKES.c.ended_at < now - retention.texts_for)
    old = sa.select(WAKES.c.evidence).where(over, WAKES.c.evidence.is_not(None))
    refs = frozenset(evidence.Ref(path) for path in (await db.execute(old)).scalars().all() if path)
    bare = {"evidence": sa.null(), "message": sa.null(), "deliver": sa.null()}
    await db.execute(sa.update(WAKES).where(over, WAKES.c.message.is_not(None)).values(bare))
    await db.execute(sa.delete(WAKES).where(WAKES.c.state.in_(FINAL), WAKES.c.ended_at < now - retention.ids_for))
    await db.execute(sa.delete(tables.TURNS).where(tables.TURNS.c.ended_at < now - retention.ids_for))
    await db.execute(sa.delete(tables.SESSIONS).where(tables.SESSIONS.c.expires_at < now - retention.sessions_for))
    # The newest outcome stays, so that a cursor that is ahead of it is known to be another database's.
    newest = sa.select(sa.func.max(OUTCOMES.c.cursor)).scalar_subquery()
    await db.execute(sa.delete(OUTCOMES).where(OUTCOMES.c.at < now - retention.ids_for, OUTCOMES.c.cursor < newest))
    await _prune_ledger(db, retention, now)
    return refs


async def _prune_ledger(db: sa_async.AsyncConnection, retention: port.Retention, now: ids.Instant) -> None:
    await db.execute(sa.delete(LEDGER).where(LEDGER.c.at < now - retention.ledger_for))
    of_watch = sa.func.row_number().over(partition_by=LEDGER.c.watch_uid, order_by=LEDGER.c.position.desc())
    of_all = sa.func.row_number().over(order_by=LEDGER.c.position.desc())
    ranked = sa.select(LEDGER.c.position, of_watch.label("of_watch"), of_all.label("of_all")).subquery()
    beyond = sa.or_(ranked.c.of_watch > retention.ledger_entries_of_watch, ranked.c.of_all > retention.ledger_entries)
    await db.execute(sa.delete(LEDGER).where(LEDGER.c.position.in_(sa.select(ranked.c.position).where(beyond))))


async def references(db: sa_async.AsyncConnection) -> frozenset[evidence.Ref]:
    """See port.Store.evidence."""
    query = sa.select(WAKES.c.evidence).where(WAKES.c.evidence.is_not(None))
    return frozenset(evidence.Ref(path) for path in (await db.execute(query)).scalars().all() if path)
