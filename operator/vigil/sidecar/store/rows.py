"""Between rows and values. A row's column is read here and nowhere else."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from vigil.api import base, ledger, turn
from vigil.api import wake as wire
from vigil.model import ids, wakes
from vigil.sidecar import evidence, ladder, sessions
from vigil.sidecar.store import port, tables

Row = sa.Row[Any]


def watch(row: Row) -> wakes.WatchRef:
    """The Watch of a wake's row."""
    return wakes.WatchRef(ids.WatchUid(row.watch_uid), row.namespace, row.watch, row.generation)


def held(row: Row) -> port.Held:
    """A wake."""
    return port.Held(
        id=ids.WakeId(row.id),
        watch=watch(row),
        state=wakes.WakeState(row.state),
        sequence=row.sequence,
        type=wakes.WakeType(row.type),
        reason=row.reason,
        entries=row.entries,
        submitted_at=row.submitted_at,
        offers=row.offers,
        fence=row.turn,
        tries=row.tries,
        evidence=evidence.Ref(row.evidence) if row.evidence else None,
        message=wire.Wake.model_validate(row.message).value() if row.message else None,
    )


def wake_values(message: wakes.WakeMessage, ref: evidence.Ref | None) -> Mapping[str, Any]:
    """The columns that a version of a wake sets; the evidence itself is in its file."""
    bounded = wire.Wake.of(message)
    deliver = bounded.deliver
    return {
        "sequence": message.sequence,
        "watch_uid": message.watch.uid,
        "namespace": message.watch.namespace,
        "watch": message.watch.name,
        "generation": message.watch.generation,
        "type": message.type.value,
        "reason": message.reason,
        "entries": len(message.entries),
        "session": deliver.session if deliver else None,
        "deliver": deliver.model_dump(mode="json") if deliver else None,
        "message": bounded.model_dump(mode="json", exclude={"evidence"}),
        "evidence": ref.path if ref else None,
    }


CANDIDATE_COLUMNS = (
    tables.WAKES.c.id,
    tables.WAKES.c.watch_uid,
    tables.WAKES.c.namespace,
    tables.WAKES.c.session,
    tables.WAKES.c.type,
    tables.WAKES.c.deliver,
    tables.WAKES.c.submitted_at,
    tables.WAKES.c.notify_at,
    tables.WAKES.c.notifying_until,
)


def candidate(row: Row) -> ladder.Candidate:
    """A queued wake as the ladder sees it."""
    return ladder.Candidate(
        id=ids.WakeId(row.id),
        watch=ids.WatchUid(row.watch_uid),
        namespace=row.namespace,
        type=wakes.WakeType(row.type),
        deliver=wire.Deliver.model_validate(row.deliver).value() if row.deliver else None,
        queued_at=row.submitted_at,
        behind=bool(row.behind),
        notify_at=row.notify_at,
        notifying_until=row.notifying_until,
    )


def session(row: Row) -> sessions.Session:
    """A session."""
    return sessions.Session(
        address=sessions.Address(row.namespace, row.name),
        activity=turn.Activity(row.activity),
        expires_at=row.expires_at,
        last_user_turn=row.last_user_turn,
        turns_in_row=row.turns_in_row,
        last_turn_ended=row.last_turn_ended,
        suspended_at=row.suspended_at,
        suspended_for=wire.Notify.model_validate(row.suspended_for).value() if row.suspended_for else None,
        tell_at=row.tell_at,
        tell_tries=row.tell_tries,
    )


def session_values(value: sessions.Session) -> Mapping[str, Any]:
    """The columns of a session, but for its name."""
    told = value.suspended_for
    return {
        "activity": value.activity.value,
        "expires_at": value.expires_at,
        "last_user_turn": value.last_user_turn,
        "turns_in_row": value.turns_in_row,
        "last_turn_ended": value.last_turn_ended,
        "suspended_at": value.suspended_at,
        "suspended_for": wire.Notify.of(told).model_dump(mode="json") if told else None,
        "tell_at": value.tell_at,
        "tell_tries": value.tell_tries,
    }


def outcome(row: Row) -> wakes.OutcomeEvent:
    """An outcome."""
    return wakes.OutcomeEvent(
        cursor=row.cursor,
        wake=ids.WakeId(row.wake),
        watch=ids.WatchUid(row.watch_uid),
        state=wakes.WakeState(row.state),
        sequence=row.sequence,
        at=row.at,
        tokens=row.tokens,
        dispositions=tuple(wire.Disposed.model_validate(each).value() for each in row.dispositions),
    )


def disposition_values(dispositions: Sequence[wakes.DispositionOf]) -> list[Mapping[str, Any]]:
    """Dispositions as JSON."""
    return [wire.Disposed.of(each).model_dump(mode="json") for each in dispositions]


def entry(row: Row) -> ledger.Entry:
    """An entry of the ledger."""
    return ledger.Entry(
        position=row.position,
        at=base.time_of(row.at),
        watch_uid=row.watch_uid,
        namespace=row.namespace,
        name=row.watch,
        event=ledger.Event(row.event),
        verdict=row.verdict,
        reason=row.reason,
        wake_id=row.wake,
        session=row.session,
        keys=tuple(row.keys),
        keys_in_all=row.keys_in_all,
    )
