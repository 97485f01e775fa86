"""Transactions on queued wakes: to hold, withdraw and show them, and how any of them ends."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext import asyncio as sa_async

from vigil.api import ledger
from vigil.model import ids, wakes
from vigil.sidecar import evidence, ladder, sessions, turns
from vigil.sidecar.store import ground, port, rows, tables

WAKES = tables.WAKES
OUTCOMES = tables.OUTCOMES
QUEUED = wakes.WakeState.QUEUED.value
UNDELIVERED = (QUEUED, wakes.WakeState.CLAIMED.value)
NOTICE = wakes.WakeType.NOTICE.value


async def submit(
    db: sa_async.AsyncConnection,
    rules: turns.Rules,
    message: wakes.WakeMessage,
    ref: evidence.Ref | None,
    now: ids.Instant,
) -> port.Submitted | port.OtherClaimed:
    """See port.Store.submit."""
    row = await load(db, message.id)
    if row is not None and (row.state != QUEUED or row.sequence >= message.sequence):
        return port.Submitted(await _shown(db, rules, row, now), taken=False)
    others = await _others(db, message)
    for other in others:
        if other.state != QUEUED:
            return port.OtherClaimed(rows.held(other))
    ended = [await finish(db, other, wakes.WakeState.WITHDRAWN, now) for other in others]
    dropped = frozenset({evidence.Ref(row.evidence)} if row is not None and row.evidence else ())
    held = await _put(db, message, ref, row is None, now)
    if message.deliver is None:
        ended.append(await finish(db, held, wakes.WakeState.RECORDED, now))
    shown = await show(db, rules, message.id, now)
    assert shown is not None
    return port.Submitted(shown, taken=True, dropped=dropped, ended=tuple(ended))


async def withdraw(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, now: ids.Instant
) -> port.Ended | None:
    """See port.Store.withdraw."""
    row = await load(db, wake)
    if row is None:
        return None
    ended = (await finish(db, row, wakes.WakeState.WITHDRAWN, now),) if row.state == QUEUED else ()
    shown = await show(db, rules, wake, now)
    assert shown is not None
    return port.Ended(shown, ended)


async def show(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, now: ids.Instant
) -> port.Shown | None:
    """A wake, and why it is not delivered yet."""
    row = await load(db, wake)
    return None if row is None else await _shown(db, rules, row, now)


async def _shown(db: sa_async.AsyncConnection, rules: turns.Rules, row: rows.Row, now: ids.Instant) -> port.Shown:
    if row.state != QUEUED:
        return port.Shown(rows.held(row), event=await _outcome(db, row))
    taken = await rung(db, rules, ids.WakeId(row.id), now)
    return port.Shown(rows.held(row), None if taken is None else ladder.reason(taken))


async def _outcome(db: sa_async.AsyncConnection, row: rows.Row) -> wakes.OutcomeEvent | None:
    """What became of a wake, None while it is claimed: an operator with an older memory may have read past it."""
    if row.state in UNDELIVERED:
        return None
    query = sa.select(OUTCOMES).where(OUTCOMES.c.wake == row.id).order_by(OUTCOMES.c.cursor.desc()).limit(1)
    found = (await db.execute(query)).first()
    return None if found is None else rows.outcome(found)


async def rung(
    db: sa_async.AsyncConnection, rules: turns.Rules, wake: ids.WakeId, now: ids.Instant
) -> ladder.Rung | None:
    """The rung of one wake, None when it is not queued."""
    row = (await db.execute(_candidates().where(WAKES.c.id == wake))).first()
    if row is None:
        return None
    address = sessions.Address(row.namespace, row.session) if row.session else None
    found = await ground.session(db, address) if address else None
    stood = await ground.of(db, rules, found, now) if found is not None and found.live(now) else None
    return ladder.rung(rows.candidate(row), stood, rules, now)


async def load(db: sa_async.AsyncConnection, wake: str) -> rows.Row | None:
    """The row of a wake."""
    return (await db.execute(sa.select(WAKES).where(WAKES.c.id == wake))).first()


async def candidates(
    db: sa_async.AsyncConnection, address: sessions.Address | None = None
) -> list[tuple[sessions.Address | None, ladder.Candidate]]:
    """The queued wakes, of one session or all, the oldest first, each with its session."""
    query = _candidates().order_by(WAKES.c.position)
    if address is not None:
        query = query.where(WAKES.c.namespace == address.namespace, WAKES.c.session == address.name)
    found = (await db.execute(query)).all()
    return [
        (sessions.Address(row.namespace, row.session) if row.session else None, rows.candidate(row)) for row in found
    ]


def _candidates() -> sa.Select[*tuple[Any, ...]]:
    events = WAKES.alias("events")
    before = (
        sa.select(sa.literal(1))
        .where(
            WAKES.c.type == NOTICE,
            events.c.type != NOTICE,
            events.c.watch_uid == WAKES.c.watch_uid,
            events.c.state.in_(UNDELIVERED),
            events.c.position < WAKES.c.position,
        )
        .exists()
    )
    return sa.select(*rows.CANDIDATE_COLUMNS, before.label("behind")).where(WAKES.c.state == QUEUED)


async def _others(db: sa_async.AsyncConnection, message: wakes.WakeMessage) -> Sequence[rows.Row]:
    """The undelivered wakes of the same Watch, events for an event and notices for a notice; a claimed one is first."""
    notice = message.type is wakes.WakeType.NOTICE
    query = sa.select(WAKES).where(
        WAKES.c.watch_uid == message.watch.uid,
        WAKES.c.id != message.id,
        WAKES.c.state.in_(UNDELIVERED),
        WAKES.c.type == NOTICE if notice else WAKES.c.type != NOTICE,
    )
    return (await db.execute(query.order_by(WAKES.c.state))).all()


async def _put(
    db: sa_async.AsyncConnection, message: wakes.WakeMessage, ref: evidence.Ref | None, new: bool, now: ids.Instant
) -> rows.Row:
    values = dict(rows.wake_values(message, ref))
    if new:
        highest = (await db.execute(sa.select(sa.func.coalesce(sa.func.max(WAKES.c.position), 0)))).scalar_one()
        values |= {"id": message.id, "state": QUEUED, "position": highest + 1, "submitted_at": now}
        await db.execute(sa.insert(WAKES).values(values))
    else:
        await db.execute(sa.update(WAKES).where(WAKES.c.id == message.id).values(values))
    row = await load(db, message.id)
    assert row is not None
    if new:
        await note(db, row, ledger.Event.QUEUED, now)
    return row


async def finish(
    db: sa_async.AsyncConnection,
    row: rows.Row,
    state: wakes.WakeState,
    now: ids.Instant,
    *,
    sequence: int | None = None,
    tokens: int = 0,
    dispositions: Sequence[wakes.DispositionOf] = (),
) -> wakes.OutcomeEvent:
    """A wake's end: its state, its outcome and its entry in the ledger."""
    version = row.sequence if sequence is None else sequence
    await db.execute(
        sa.update(WAKES).where(WAKES.c.id == row.id).values(state=state.value, sequence=version, ended_at=now)
    )
    values: Mapping[str, Any] = {
        "wake": row.id,
        "watch_uid": row.watch_uid,
        "namespace": row.namespace,
        "state": state.value,
        "sequence": version,
        "at": now,
        "tokens": tokens,
        "dispositions": rows.disposition_values(dispositions),
    }
    written = await db.execute(sa.insert(tables.OUTCOMES).values(values))
    await note(db, row, ledger.Event(state.value), now)
    return wakes.OutcomeEvent(
        cursor=_key(written),
        wake=ids.WakeId(row.id),
        watch=ids.WatchUid(row.watch_uid),
        state=state,
        sequence=version,
        at=now,
        tokens=tokens,
        dispositions=tuple(dispositions),
    )


async def note(
    db: sa_async.AsyncConnection, row: rows.Row, event: ledger.Event, now: ids.Instant, session: str | None = None
) -> None:
    """An entry of the ledger about a wake."""
    message: Mapping[str, Any] = row.message or {}
    keys: list[str] = [each["key"] for each in message.get("entries", ())]
    await db.execute(
        sa.insert(tables.LEDGER).values(
            at=now,
            watch_uid=row.watch_uid,
            namespace=row.namespace,
            watch=row.watch,
            event=event.value,
            verdict=row.type,
            reason=row.reason,
            wake=row.id,
            session=row.session or "" if session is None else session,
            keys=keys[: ledger.KEYS_LIMIT],
            keys_in_all=len(keys),
        )
    )


def _key(written: sa.CursorResult[Any]) -> int:
    primary = written.inserted_primary_key
    assert primary is not None
    return int(primary[0])
