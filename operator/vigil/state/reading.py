"""From the document to a State, with every type and range checked: a document is a stranger's until then."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar, cast

from vigil.model import ids, observations, states, verdicts, wakes
from vigil.state import migrations

_MAX_NUMBER: Final = 1e15
_NUMBERS: Final = frozenset({int, float})
_ENDS: Final[Mapping[str, states.Ended]] = {one.value: one for one in [*observations.Outcome, *verdicts.StopReason]}

V = TypeVar("V")


class BadDocumentError(ValueError):
    """A part of the document is not what it must be."""


def state_of(document: migrations.Document) -> states.State:
    """The state of a document of the current version; raises ValueError, TypeError or LookupError for a bad one."""
    turns, tokens, active = _row(document["spent"], 3)
    floor, floor_since = _row(document["floor"], 2)
    names = [ids.SubjectId(_str(name)) for name in _list(document["names"])]
    memories = {names[int_of(memory["name"])]: dict_of(memory) for memory in _list(document["subjects"])}
    index = _identities(document["identities"], names, memories)
    window = [_member(row, index) for row in _list(document["window"])]
    flown = document["inFlight"]
    return states.State(
        watch=ids.WatchUid(_str(document["watch"])),
        subjects={name: _subject(memory, index) for name, memory in memories.items()},
        window={member.identity: member for member in window},
        spent=states.Spent(int_of(turns), int_of(tokens), _number(active)),
        in_flight=None if flown is None else _flight(dict_of(flown), index),
        unstamped=int_of(document["unstamped"]),
        forgotten=int_of(document["forgotten"]),
        owed=tuple(_sent(row, index) for row in _list(document["owed"])),
        owed_notice=_bool(document["owedNotice"]),
        started=_maybe(_number, document["started"]),
        last_tick=_maybe(_number, document["lastTick"]),
        read_at={names[int_of(place)]: _number(at) for place, at in _list(document["readAt"])},
        ended=None if document["ended"] is None else _ENDS[_str(document["ended"])],
        silence_until=_maybe(_number, document["silenceUntil"]),
        stall=_maybe(_stall, document["stall"]),
        floor=int_of(floor),
        floor_since=_maybe(_number, floor_since),
        blocked=_maybe(_blocked, document["blocked"]),
        churn=_churn(dict_of(document["churn"])),
        generation=int_of(document["generation"]),
        reset=_str(document["reset"]),
        purpose=_str(document["purpose"]),
    )


def _identities(
    rows: Any, names: list[ids.SubjectId], memories: Mapping[ids.SubjectId, Mapping[str, Any]]
) -> list[verdicts.Identity]:
    """The identities that the rows refer to by their place; `true` in the place of a revision is the subject's own."""
    revisions = {name: _maybe(_str, memory.get("revision")) for name, memory in memories.items()}
    index: list[verdicts.Identity] = []
    for place, key, revision, episode in _list(rows):
        subject = names[int_of(place)]
        index.append(_identity(subject, key, revisions[subject] if revision is True else revision, episode))
    return index


def _subject(memory: dict[str, Any], index: list[verdicts.Identity]) -> states.SubjectState:
    return states.SubjectState(
        revision=_maybe(_str, memory.get("revision")),
        alerted={
            index[int_of(one)]: states.Stamp(_number(at), _number(shown))
            for one, at, shown in _list(memory.get("alerted", []))
        },
        held={
            index[int_of(one)]: states.Held(_number(since), _str(activity))
            for one, since, activity in _list(memory.get("held", []))
        },
        dispositions={
            index[int_of(one)]: states.Disposed(wakes.Disposition(said), _number(shown), _str(invariant))
            for one, said, shown, invariant in _list(memory.get("dispositions", []))
        },
        parked={
            index[int_of(one)]: states.Parked(_str(question), _str(detail))
            for one, question, detail in _list(memory.get("parked", []))
        },
        answered={
            index[int_of(one)]: states.Answered(_str(detail), _number(shown), _str(answer))
            for one, detail, shown, answer in _list(memory.get("answered", []))
        },
        retired=_maybe(_outcome, memory.get("retired")),
        read=_bool(memory.get("read", False)),
        errors=int_of(memory.get("errors", 0)),
        failing=_maybe(_number, memory.get("failing")),
        blind=_maybe(_number, memory.get("blind")),
    )


def _identity(subject: ids.SubjectId, key: Any, revision: Any, episode: Any) -> verdicts.Identity:
    """An identity with a key that an entry can have: one that is sent without being shown is made an entry again."""
    if type(key) is not str or type(episode) is not str or not (revision is None or type(revision) is str):
        raise BadDocumentError("an identity is made of texts")
    if not observations.is_key(key):
        raise BadDocumentError("no entry can have such a key")
    return verdicts.Identity(subject, key, revision, episode)


def _outcome(value: Any) -> observations.Outcome:
    return observations.Outcome(_str(value))


def _member(row: Any, index: list[verdicts.Identity]) -> states.Member:
    one, since, claim = _row(row, 3)
    return states.Member(index[int_of(one)], _number(since), _bool(claim))


def _flight(flown: dict[str, Any], index: list[verdicts.Identity]) -> states.InFlight:
    versions = [_row(row, 3) for row in _list(flown["versions"])]
    if not versions:
        raise BadDocumentError("a wake in flight has no version")
    return states.InFlight(
        id=ids.WakeId(_str(flown["id"])),
        decided_at=_number(flown["decidedAt"]),
        versions=tuple(
            states.Version(int_of(first), wakes.WakeType(_str(type_)), _str(reason))
            for first, type_, reason in versions
        ),
        sent=tuple(_sent(row, index) for row in _list(flown["sent"])),
        sequence=int_of(flown["sequence"]),
        claimed=_maybe(int_of, flown["claimed"]),
        spells=tuple((_str(name), _number(since)) for name, since in (_row(row, 2) for row in _list(flown["spells"]))),
    )


def _sent(row: Any, index: list[verdicts.Identity]) -> states.Sent:
    one, since, at, joined, left, outcome, brief, claim, shown, stamps, detail = _row(row, 11)
    return states.Sent(
        identity=index[int_of(one)],
        since=_number(since),
        at=_number(at),
        joined=int_of(joined),
        left=_maybe(int_of, left),
        outcome=_maybe(_outcome, outcome),
        brief=_str(brief),
        claim=_bool(claim),
        shown=_maybe(_number, shown),
        stamps=_bool(stamps),
        detail=_str(detail),
    )


def _stall(value: Any) -> states.Stall:
    digest, since, ticks, told = _row(value, 4)
    return states.Stall(_str(digest), _number(since), int_of(ticks), _bool(told))


def _blocked(value: Any) -> states.Blocked:
    since, told = _row(value, 2)
    return states.Blocked(_number(since), _bool(told))


def _churn(churn: dict[str, Any]) -> states.Churn:
    relapses = [_row(row, 5) for row in _list(churn["relapses"])]
    series = [_row(row, 3) for row in _list(churn["series"])]
    return states.Churn(
        relapses={
            (ids.SubjectId(_str(subject)), _str(key)): states.Relapses(_str(revision), _bool(cleared), int_of(count))
            for subject, key, revision, cleared, count in relapses
        },
        stream=_str(churn["stream"]),
        alternations=int_of(churn["alternations"]),
        series=tuple(
            (ids.SubjectId(_str(subject)), _str(revision), int_of(count)) for subject, revision, count in series
        ),
        rounds={name: int_of(count) for name, count in dict_of(churn["rounds"]).items()},
    )


def _row(value: Any, width: int) -> list[Any]:
    row = _list(value)
    if len(row) != width:
        raise BadDocumentError(f"a row has {len(row)} values and not {width}")
    return row


def dict_of(value: Any) -> dict[str, Any]:
    """An object."""
    if type(value) is not dict:
        raise BadDocumentError(f"{type(value).__name__} in the place of an object")
    return cast("dict[str, Any]", value)


def _list(value: Any) -> list[Any]:
    rows: list[Any] = value
    if type(rows) is not list:
        raise BadDocumentError(f"{type(value).__name__} in the place of a list")
    return rows


def _str(value: Any) -> str:
    if type(value) is not str:
        raise BadDocumentError(f"{type(value).__name__} in the place of a text")
    return value


def _bool(value: Any) -> bool:
    if type(value) is not bool:
        raise BadDocumentError(f"{type(value).__name__} in the place of true or false")
    return value


def int_of(value: Any) -> int:
    """A count."""
    if type(value) is not int or not 0 <= value <= _MAX_NUMBER:
        raise BadDocumentError("a count is a whole number, at least 0")
    return value


def _number(value: Any) -> float:
    if type(value) not in _NUMBERS or not -_MAX_NUMBER <= value <= _MAX_NUMBER:
        raise BadDocumentError("a time is a number within bounds")
    return cast("float", value)


def _maybe(read: Callable[[Any], V], value: Any) -> V | None:
    return None if value is None else read(value)
