"""Transactions of the background work: what is due, and notifications on their way."""

import collections

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from vigil.model import ids, wakes
from vigil.sidecar import ladder, sessions, turns
from vigil.sidecar.store import ground, port, queue, rows, tables

WAKES = tables.WAKES


async def plan(db: sa_async.AsyncConnection, rules: turns.Rules, now: ids.Instant) -> port.Plan:
    """See port.Store.plan."""
    known = {each.address: each for each in map(rows.session, (await db.execute(sa.select(tables.SESSIONS))).all())}
    grounds: dict[sessions.Address, turns.Ground | None] = {}
    rungs: list[tuple[ids.WakeId, ladder.Rung]] = []
    for address, wake in await queue.candidates(db):
        if address is not None and address not in grounds:
            found = known.get(address)
            grounds[address] = await ground.of(db, rules, found, now) if found and found.live(now) else None
        stood = grounds[address] if address is not None else None
        rungs.append((wake.id, ladder.rung(wake, stood, rules, now)))
    waiting = [known[address] for address, stood in grounds.items() if stood is not None]
    tell = [each for each in known.values() if each.suspended_for is not None]
    return port.Plan(
        notify=tuple(wake for wake, taken in rungs if isinstance(taken, ladder.Notify)),
        tell=tuple(each for each in tell if each.tell_at <= now),
        queued=collections.Counter(ladder.reason(taken) for _, taken in rungs),
        live_sessions=sum(each.live(now) for each in known.values()),
        suspended_sessions=sum(each.suspended_at is not None for each in known.values()),
        due=min([*await _leases(db), *_times(rungs, waiting, tell, now)], default=None),
    )


def _times(
    rungs: list[tuple[ids.WakeId, ladder.Rung]],
    waiting: list[sessions.Session],
    tell: list[sessions.Session],
    now: ids.Instant,
) -> list[ids.Instant]:
    times = [taken.until for _, taken in rungs if isinstance(taken, turns.Hold) and taken.until is not None]
    times += [each.expires_at for each in waiting]
    return times + [each.tell_at for each in tell if each.tell_at > now]


async def _leases(db: sa_async.AsyncConnection) -> list[ids.Instant]:
    query = sa.select(sa.func.min(tables.TURNS.c.lease_until)).where(tables.TURNS.c.ended_at.is_(None))
    return [each for each in (await db.execute(query)).scalars() if each is not None]


async def begin_notification(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, now: ids.Instant, until: ids.Instant
) -> port.Held | None:
    """See port.Store.begin_notification."""
    if not isinstance(await queue.rung(db, rules, wake, now), ladder.Notify):
        return None
    await db.execute(sa.update(WAKES).where(WAKES.c.id == wake).values(notifying_until=until, tries=WAKES.c.tries + 1))
    row = await queue.load(db, wake)
    return None if row is None else rows.held(row)


async def end_notification(
    db: sa_async.AsyncConnection, wake: ids.WakeId, sequence: int, again_at: ids.Instant | None, now: ids.Instant
) -> tuple[wakes.OutcomeEvent, ...]:
    """See port.Store.end_notification."""
    row = await queue.load(db, wake)
    if row is None or row.state != queue.QUEUED:
        return ()
    values = {"notifying_until": 0.0, "notify_at": 0.0 if again_at is None else again_at}
    await db.execute(sa.update(WAKES).where(WAKES.c.id == wake).values(values))
    if again_at is not None:
        return ()
    return (await queue.finish(db, row, wakes.WakeState.NOTIFIED, now, sequence=sequence),)


async def end_telling(db: sa_async.AsyncConnection, address: sessions.Address, again_at: ids.Instant | None) -> None:
    """See port.Store.end_telling."""
    values = (
        {"suspended_for": sa.null(), "tell_at": 0.0}
        if again_at is None
        else {"tell_at": again_at, "tell_tries": tables.SESSIONS.c.tell_tries + 1}
    )
    await db.execute(
        sa.update(tables.SESSIONS)
        .where(tables.SESSIONS.c.namespace == address.namespace, tables.SESSIONS.c.name == address.name)
        .values(values)
    )
