"""Transactions of sessions: to attach, and to claim, keep, give back and complete turns."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from vigil.api import ledger
from vigil.api import wake as wire
from vigil.model import ids, wakes
from vigil.sidecar import ladder, sessions, turns
from vigil.sidecar.store import ground, port, queue, rows, tables

WAKES = tables.WAKES
TURNS = tables.TURNS
CLAIMED = wakes.WakeState.CLAIMED.value
LONGEST_TTL: ids.Seconds = 3600.0
LONGEST_RETRY: ids.Seconds = 900.0


async def attach(
    db: sa_async.AsyncConnection, address: sessions.Address, said: sessions.Attachment, now: ids.Instant
) -> tuple[sessions.Session, int]:
    """See port.Store.attach."""
    before = await ground.session(db, address)
    after = sessions.attached(before, address, said, now)
    await ground.save(db, after, before is not None)
    return after, len(await queue.candidates(db, address))


async def detach(db: sa_async.AsyncConnection, address: sessions.Address, now: ids.Instant) -> None:
    """See port.Store.detach."""
    before = await ground.session(db, address)
    if before is not None:
        await ground.save(db, sessions.detached(before, now), known=True)


async def claim(
    db: sa_async.AsyncConnection,
    rules: turns.Rules,
    address: sessions.Address,
    now: ids.Instant,
    *,
    request: str | None,
    user_turn: bool,
) -> port.Claimed:
    """See port.Store.claim."""
    live = await ground.session(db, address)
    if live is None or not live.live(now):
        return port.NotAttached()
    current = await ground.outstanding(db, address)
    if current is not None and request is not None and current.request == request:
        return await _turn(db, current.id)
    if user_turn:
        live = sessions.with_user_turn(live, now)
        await ground.save(db, live, known=True)
    waiting = [wake for _, wake in await queue.candidates(db, address)]
    chosen = ladder.choose(waiting, await ground.of(db, rules, live, now), rules, now, user_turn)
    if isinstance(chosen, turns.Hold):
        return chosen
    values: dict[str, Any] = {
        "namespace": address.namespace,
        "session": address.name,
        "request": request,
        "automatic": not user_turn,
        "claimed_at": now,
        "lease_until": now + rules.lease,
    }
    return await _hand_out(db, values, chosen)


async def _hand_out(
    db: sa_async.AsyncConnection, values: dict[str, Any], chosen: Sequence[ladder.Candidate]
) -> port.Turn:
    written = await db.execute(sa.insert(TURNS).values(values))
    primary = written.inserted_primary_key
    assert primary is not None
    for place, wake in enumerate(chosen):
        await db.execute(
            sa.update(WAKES)
            .where(WAKES.c.id == wake.id)
            .values(state=CLAIMED, turn=primary[0], place=place, offers=WAKES.c.offers + 1)
        )
    turn = await _turn(db, primary[0])
    for row in await _of_turn(db, turn.fence):
        await queue.note(db, row, ledger.Event.CLAIMED, values["claimed_at"], values["session"])
    return turn


async def renew(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, fence: int, now: ids.Instant
) -> ids.Instant | port.Stale:
    """See port.Store.renew."""
    row = await _claimed(db, wake, fence)
    if isinstance(row, port.Stale):
        return row
    until = now + rules.lease
    await db.execute(sa.update(TURNS).where(TURNS.c.id == fence).values(lease_until=until))
    return until


async def release(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, fence: int, now: ids.Instant
) -> port.Ended | port.Stale:
    """See port.Store.release."""
    row = await _claimed(db, wake, fence)
    if isinstance(row, port.Stale):
        return row
    ended = await _lose(db, rules, fence, now)
    shown = await queue.show(db, rules, wake, now)
    assert shown is not None
    return port.Ended(shown, ended)


async def complete(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, done: port.Completion, now: ids.Instant
) -> port.Ended | port.Stale | port.NotInTurn:
    """See port.Store.complete."""
    row = await queue.load(db, wake)
    if row is None:
        return port.Stale(None)
    same = (row.turn, row.watch_uid, row.generation, row.place) == (done.fence, done.watch, done.generation, 0)
    if same and row.state == wakes.WakeState.DELIVERED.value:
        return port.Ended(port.Shown(rows.held(row)), repeated=True)
    if not same or row.state != CLAIMED:
        return port.Stale(rows.held(row))
    parts = await _of_turn(db, done.fence)
    if unknown := set(done.dispositions) - {""} - {each.watch for each in parts}:
        return port.NotInTurn(min(unknown))
    ended = await _deliver(db, parts, done, now)
    await _end_turn(db, rules, done.fence, parts, now)
    after = await queue.load(db, wake)
    assert after is not None
    return port.Ended(port.Shown(rows.held(after)), ended)


async def _deliver(
    db: sa_async.AsyncConnection, parts: Sequence[rows.Row], done: port.Completion, now: ids.Instant
) -> tuple[wakes.OutcomeEvent, ...]:
    """All parts are Delivered; the first part bears the tokens, and each Watch's first part its dispositions."""
    left = dict(done.dispositions)
    first = left.pop("", ())
    ended: list[wakes.OutcomeEvent] = []
    for part in parts:
        own = left.pop(part.watch, ())
        main = part.place == 0
        ended.append(
            await queue.finish(
                db,
                part,
                wakes.WakeState.DELIVERED,
                now,
                tokens=done.tokens if main else 0,
                dispositions=(*first, *own) if main else own,
            )
        )
    return tuple(ended)


async def expire(db: sa_async.AsyncConnection, rules: turns.Rules, now: ids.Instant) -> tuple[wakes.OutcomeEvent, ...]:
    """See port.Store.expire. After a clock stepped back nothing lasts longer than it can have been meant to."""
    await _clamp(db, TURNS.c.lease_until, now + rules.lease)
    await _clamp(db, tables.SESSIONS.c.expires_at, now + LONGEST_TTL)
    await _clamp(db, tables.SESSIONS.c.tell_at, now + LONGEST_RETRY)
    await _clamp(db, WAKES.c.notify_at, now + LONGEST_RETRY)
    await _clamp(db, WAKES.c.notifying_until, now + LONGEST_RETRY)
    query = sa.select(TURNS.c.id).where(TURNS.c.ended_at.is_(None), TURNS.c.lease_until <= now).order_by(TURNS.c.id)
    ended: list[wakes.OutcomeEvent] = []
    for fence in (await db.execute(query)).scalars().all():
        ended += await _lose(db, rules, fence, now)
    return tuple(ended)


async def _clamp(db: sa_async.AsyncConnection, column: sa.Column[Any], latest: ids.Instant) -> None:
    await db.execute(sa.update(column.table).where(column > latest).values({column: latest}))


async def _lose(
    db: sa_async.AsyncConnection, rules: turns.Rules, fence: int, now: ids.Instant
) -> tuple[wakes.OutcomeEvent, ...]:
    """A turn ended without a completion: each of its wakes is offered again, or Lost."""
    parts = await _of_turn(db, fence)
    ended: list[wakes.OutcomeEvent] = []
    for part in parts:
        after = turns.after_loss(part.offers, rules)
        if after is wakes.WakeState.LOST:
            ended.append(await queue.finish(db, part, after, now))
            continue
        await db.execute(sa.update(WAKES).where(WAKES.c.id == part.id).values(state=after.value))
        await queue.note(db, part, ledger.Event.RELEASED, now)
    await _end_turn(db, rules, fence, parts, now)
    return tuple(ended)


async def _end_turn(
    db: sa_async.AsyncConnection, rules: turns.Rules, fence: int, parts: Sequence[rows.Row], now: ids.Instant
) -> None:
    await db.execute(sa.update(TURNS).where(TURNS.c.id == fence).values(ended_at=now))
    turn = (await db.execute(sa.select(TURNS).where(TURNS.c.id == fence))).one()
    before = await ground.session(db, sessions.Address(turn.namespace, turn.session))
    if before is None:
        return
    deliver = wire.Deliver.model_validate(parts[0].deliver).value() if parts and parts[0].deliver else None
    after = sessions.turn_ended(before, turn.automatic, deliver.notify if deliver else None, rules, now)
    await ground.save(db, after, known=True)
    if after.suspended_at is not None and before.suspended_at is None and parts:
        await queue.note(db, parts[0], ledger.Event.SUSPENDED, now, turn.session)


async def _claimed(db: sa_async.AsyncConnection, wake: ids.WakeId, fence: int) -> rows.Row | port.Stale:
    row = await queue.load(db, wake)
    if row is None:
        return port.Stale(None)
    return row if row.state == CLAIMED and row.turn == fence else port.Stale(rows.held(row))


async def _of_turn(db: sa_async.AsyncConnection, fence: int) -> Sequence[rows.Row]:
    query = sa.select(WAKES).where(WAKES.c.turn == fence, WAKES.c.state == CLAIMED)
    return (await db.execute(query.order_by(WAKES.c.place))).all()


async def _turn(db: sa_async.AsyncConnection, fence: int) -> port.Turn:
    row = (await db.execute(sa.select(TURNS).where(TURNS.c.id == fence))).one()
    return port.Turn(row.id, row.lease_until, tuple(rows.held(each) for each in await _of_turn(db, fence)))
