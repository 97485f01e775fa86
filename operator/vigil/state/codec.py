"""The document: JSON with short lists for what there is much of, read with every type and range checked."""

import dataclasses
import enum
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast

from vigil.model import ids, observations, states, verdicts, wakes
from vigil.state import migrations

MAX_BYTES: Final = 32 * 1024
_MAX_NUMBER: Final = 1e15
_HALF_CHARACTER: Final = re.compile("[\ud800-\udfff]")

T = TypeVar("T")


class QuarantineReason(enum.StrEnum):
    """Why a stored document is put aside; the names are reasons of the Watch's conditions."""

    VERSION_UNKNOWN = "StateVersionUnknown"
    """Written by another version of Vigil: nothing is decided or overwritten until someone says what to do."""
    UNREADABLE = "StateUnreadable"
    """It does not parse: a fresh document begins, since one wake too many beats silence."""


@dataclasses.dataclass(frozen=True, slots=True)
class Quarantined:
    """A document that cannot be used, kept as it was."""

    reason: QuarantineReason
    detail: str
    document: str


Decoded: TypeAlias = states.State | Quarantined


class _BadDocumentError(ValueError):
    """A part of the document is not what it must be."""


def encode(state: states.State) -> str:
    """Write the state as one line of JSON, the same for equal states."""
    document: migrations.Document = {
        "version": migrations.VERSION,
        "watch": state.watch,
        "generation": state.generation,
        "purpose": state.purpose,
        "started": state.started,
        "lastTick": state.last_tick,
        "subjects": {name: _subject_out(memory) for name, memory in sorted(state.subjects.items())},
        "window": [_member_out(member) for _, member in sorted(state.window.items(), key=_by_identity)],
        "spent": [state.spent.turns, state.spent.tokens, state.spent.active_time],
        "unstamped": state.unstamped,
        "forgotten": state.forgotten,
        "inFlight": None if state.in_flight is None else _flight_out(state.in_flight),
        "owed": [_sent_out(one) for one in state.owed],
        "owedNotice": state.owed_notice,
        "ended": None if state.ended is None else state.ended.value,
        "silenceUntil": state.silence_until,
    }
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A provider that cuts a text within a character leaves half of it, which no store takes but as an escape.
    return _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def decode(
    document: str,
    watch: ids.WatchUid,
    version: int = migrations.VERSION,
    steps: Mapping[int, migrations.Migration] = migrations.MIGRATIONS,
) -> Decoded:
    """Read a document; never raises: what cannot be used comes back Quarantined.

    `watch` is the Watch that it was found with: a document that names another one is not its memory. `version` is the
    one that is read, and `steps` the migrations that lead to it.
    """
    try:
        parsed = json.loads(document, parse_constant=_no_constant)
        found = _int(_dict(parsed).get("version"))
        migrated, reached = migrations.migrate(parsed, found, steps)
        if reached != version:
            detail = f"the document has version {found}, this Vigil reads up to {version}"
            return Quarantined(QuarantineReason.VERSION_UNKNOWN, detail, document)
        state = _state_in(migrated)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        return Quarantined(QuarantineReason.UNREADABLE, f"the document does not parse: {error}"[:200], document)
    if state.watch != watch:
        detail = f"the document belongs to the Watch {state.watch}"[:200]
        return Quarantined(QuarantineReason.UNREADABLE, detail, document)
    return state


def _by_identity(item: tuple[verdicts.Identity, Any]) -> tuple[str, str, bool, str, str]:
    subject, key, revision, episode = item[0]
    return (subject, key, revision is not None, revision or "", episode)


def _subject_out(memory: states.SubjectState) -> dict[str, Any]:
    return {
        "revision": memory.revision,
        "alerted": _memos_out(memory.alerted, lambda stamp: [stamp.at, stamp.shown]),
        "held": _memos_out(memory.held, lambda held: [held.since, held.activity]),
        "dispositions": _memos_out(
            memory.dispositions, lambda said: [said.disposition.value, said.shown, said.invariant]
        ),
        "retired": None if memory.retired is None else memory.retired.value,
        "errors": memory.errors,
    }


def _memos_out(memos: Mapping[verdicts.Identity, T], values: Callable[[T], list[Any]]) -> list[list[Any]]:
    """Rows of [key, revision, episode, …]: the subject is the one that they stand under."""
    return [
        [identity.key, identity.revision, identity.episode, *values(value)]
        for identity, value in sorted(memos.items(), key=_by_identity)
    ]


def _member_out(member: states.Member) -> list[Any]:
    return [*member.identity, member.since, member.claim]


def _flight_out(flown: states.InFlight) -> dict[str, Any]:
    return {
        "id": flown.id,
        "decidedAt": flown.decided_at,
        "versions": [[version.first, version.type.value, version.reason] for version in flown.versions],
        "sent": [_sent_out(one) for one in flown.sent],
        "sequence": flown.sequence,
        "claimed": flown.claimed,
    }


def _sent_out(one: states.Sent) -> list[Any]:
    outcome = None if one.outcome is None else one.outcome.value
    return [*one.identity, one.since, one.at, one.joined, one.left, outcome, one.brief, one.claim, one.shown]


def _state_in(document: migrations.Document) -> states.State:
    turns, tokens, active = _row(document["spent"], 3)
    window = [_member_in(row) for row in _list(document["window"])]
    ended = _maybe(_str)(document["ended"])
    flown = document["inFlight"]
    return states.State(
        watch=ids.WatchUid(_str(document["watch"])),
        subjects={
            ids.SubjectId(name): _subject_in(ids.SubjectId(name), _dict(memory))
            for name, memory in _dict(document["subjects"]).items()
        },
        window={member.identity: member for member in window},
        spent=states.Spent(_int(turns), _int(tokens), _number(active)),
        in_flight=None if flown is None else _flight_in(_dict(flown)),
        unstamped=_int(document["unstamped"]),
        forgotten=_int(document["forgotten"]),
        owed=tuple(_sent_in(row) for row in _list(document["owed"])),
        owed_notice=_bool(document["owedNotice"]),
        started=_maybe(_number)(document["started"]),
        last_tick=_maybe(_number)(document["lastTick"]),
        ended=None if ended is None else _ended_in(ended),
        silence_until=_maybe(_number)(document["silenceUntil"]),
        generation=_int(document["generation"]),
        purpose=_str(document["purpose"]),
    )


def _ended_in(value: str) -> states.Ended:
    by_value: dict[str, states.Ended] = {one.value: one for one in [*observations.Outcome, *verdicts.StopReason]}
    return by_value[value]


def _subject_in(subject: ids.SubjectId, memory: dict[str, Any]) -> states.SubjectState:
    return states.SubjectState(
        revision=_maybe(_str)(memory["revision"]),
        alerted=_memos_in(subject, memory["alerted"], 2, _stamp_in),
        held=_memos_in(subject, memory["held"], 2, _held_in),
        dispositions=_memos_in(subject, memory["dispositions"], 3, _disposed_in),
        retired=_maybe(_outcome_in)(memory["retired"]),
        errors=_int(memory["errors"]),
    )


def _memos_in(
    subject: ids.SubjectId, rows: Any, width: int, value: Callable[[list[Any]], T]
) -> Mapping[verdicts.Identity, T]:
    memos: dict[verdicts.Identity, T] = {}
    for row in _list(rows):
        key, revision, episode, *values = _row(row, 3 + width)
        memos[_identity_in([subject, key, revision, episode])] = value(values)
    return memos


def _stamp_in(values: list[Any]) -> states.Stamp:
    at, shown = values
    return states.Stamp(_number(at), _number(shown))


def _held_in(values: list[Any]) -> states.Held:
    since, activity = values
    return states.Held(_number(since), _str(activity))


def _disposed_in(values: list[Any]) -> states.Disposed:
    said, shown, invariant = values
    return states.Disposed(wakes.Disposition(_str(said)), _number(shown), _str(invariant))


def _outcome_in(value: Any) -> observations.Outcome:
    return observations.Outcome(_str(value))


def _identity_in(parts: list[Any]) -> verdicts.Identity:
    subject, key, revision, episode = parts
    return verdicts.Identity(ids.SubjectId(_str(subject)), _key(key), _maybe(_str)(revision), _str(episode))


def _key(value: Any) -> str:
    """A key that an entry can have: one that is sent without being shown is made an entry again."""
    return observations.Observation(_str(value), observations.Severity.WAKE, observations.ResetsOn.NEVER).key


def _member_in(row: Any) -> states.Member:
    *identity, since, claim = _row(row, 6)
    return states.Member(_identity_in(identity), _number(since), _bool(claim))


def _flight_in(flown: dict[str, Any]) -> states.InFlight:
    versions = [_row(row, 3) for row in _list(flown["versions"])]
    if not versions:
        raise _BadDocumentError("a wake in flight has no version")
    return states.InFlight(
        id=ids.WakeId(_str(flown["id"])),
        decided_at=_number(flown["decidedAt"]),
        versions=tuple(
            states.Version(_int(first), wakes.WakeType(_str(type_)), _str(reason)) for first, type_, reason in versions
        ),
        sent=tuple(_sent_in(row) for row in _list(flown["sent"])),
        sequence=_int(flown["sequence"]),
        claimed=_maybe(_int)(flown["claimed"]),
    )


def _sent_in(row: Any) -> states.Sent:
    *identity, since, at, joined, left, outcome, brief, claim, shown = _row(row, 12)
    return states.Sent(
        identity=_identity_in(identity),
        since=_number(since),
        at=_number(at),
        joined=_int(joined),
        left=_maybe(_int)(left),
        outcome=_maybe(_outcome_in)(outcome),
        brief=_str(brief),
        claim=_bool(claim),
        shown=_maybe(_number)(shown),
    )


def _no_constant(name: str) -> NoReturn:
    raise _BadDocumentError(f"{name} is no number")


def _row(value: Any, width: int) -> list[Any]:
    row = _list(value)
    if len(row) != width:
        raise _BadDocumentError(f"a row has {len(row)} values and not {width}")
    return row


def _dict(value: Any) -> dict[str, Any]:
    _must_be(value, dict, "an object")
    return cast("dict[str, Any]", value)


def _list(value: Any) -> list[Any]:
    _must_be(value, list, "a list")
    return cast("list[Any]", value)


def _must_be(value: Any, type_: type, name: str) -> None:
    if not isinstance(value, type_):
        raise _BadDocumentError(f"{type(value).__name__} in the place of {name}")


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise _BadDocumentError(f"{type(value).__name__} in the place of a text")
    return value


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _BadDocumentError(f"{type(value).__name__} in the place of true or false")
    return value


def _int(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_NUMBER:
        raise _BadDocumentError("a count is a whole number, at least 0")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        raise _BadDocumentError("a time is a number within bounds")
    return value


def _maybe(read: Callable[[Any], T]) -> Callable[[Any], T | None]:
    return lambda value: None if value is None else read(value)
