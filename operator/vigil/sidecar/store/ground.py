"""What the rules of turns need to know of a session, read from its rows."""

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from vigil.api import turn
from vigil.model import ids
from vigil.sidecar import sessions, turns
from vigil.sidecar.store import rows, tables

SESSIONS = tables.SESSIONS
TURNS = tables.TURNS


async def session(db: sa_async.AsyncConnection, address: sessions.Address) -> sessions.Session | None:
    """A session by its name, gone or not."""
    query = sa.select(SESSIONS).where(SESSIONS.c.namespace == address.namespace, SESSIONS.c.name == address.name)
    row = (await db.execute(query)).first()
    return None if row is None else rows.session(row)


async def save(db: sa_async.AsyncConnection, value: sessions.Session, known: bool) -> None:
    """Write a session; `known` is whether it has a row."""
    address = value.address
    if known:
        await db.execute(
            sa.update(SESSIONS)
            .where(SESSIONS.c.namespace == address.namespace, SESSIONS.c.name == address.name)
            .values(rows.session_values(value))
        )
        return
    values = {"namespace": address.namespace, "name": address.name, **rows.session_values(value)}
    await db.execute(sa.insert(SESSIONS).values(values))


async def of(
    db: sa_async.AsyncConnection, rules: turns.Rules, live: sessions.Session, now: ids.Instant
) -> turns.Ground:
    """The ground of a live session."""
    return turns.Ground(
        busy=live.activity is turn.Activity.BUSY,
        outstanding=await outstanding(db, live.address) is not None,
        suspended=live.suspended_at is not None,
        last_turn_ended=live.last_turn_ended,
        spent_until=await _spent_until(db, rules, live.address.namespace, now),
    )


async def outstanding(db: sa_async.AsyncConnection, address: sessions.Address) -> rows.Row | None:
    """The turn that the session has and that has not ended."""
    query = sa.select(TURNS).where(
        TURNS.c.namespace == address.namespace, TURNS.c.session == address.name, TURNS.c.ended_at.is_(None)
    )
    return (await db.execute(query.order_by(TURNS.c.id.desc()).limit(1))).first()


async def _spent_until(
    db: sa_async.AsyncConnection, rules: turns.Rules, namespace: str, now: ids.Instant
) -> ids.Instant | None:
    """When the day's and the namespace's budget both have a turn again."""
    automatic = sa.select(TURNS.c.claimed_at).where(TURNS.c.automatic, TURNS.c.claimed_at > now - turns.DAY)
    budgets = (
        (rules.turns_per_day, automatic),
        (rules.turns_per_day_of_namespace, automatic.where(TURNS.c.namespace == namespace)),
    )
    spent: list[ids.Instant] = []
    for limit, query in budgets:
        if limit is not None:
            times = (await db.execute(query.order_by(TURNS.c.claimed_at.desc()).limit(limit))).scalars().all()
            if len(times) == limit:
                spent.append((times[-1] if times else now) + turns.DAY)
    return max(spent, default=None)
