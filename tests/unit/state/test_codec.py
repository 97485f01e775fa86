"""The document: one door in and one door out, and nothing that cannot be used comes through."""

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from tests.unit.state import strategies
from tests.unit.state.strategies import UID
from vigil.model import ids, observations, states, verdicts, wakes
from vigil.state import codec, migrations

A = ids.SubjectId("a")
RED = verdicts.Identity(A, "red:unit", "r1")
SENT = states.Sent(RED, 1.0, 2.0, 1)
VERSIONS = (states.Version(1, wakes.WakeType.WAKE, "converged"),)
FULL = states.State(
    UID,
    subjects={
        A: states.SubjectState(
            "r1",
            alerted={RED: states.Stamp(1.0, 2.0)},
            held={RED: states.Held(1.0, "x")},
            dispositions={RED: states.Disposed(wakes.Disposition.DISPATCHED, 2.0, "round-1")},
            parked={RED: states.Parked("q1", "d")},
            answered={RED: states.Answered("d", 2.0, "yes")},
            retired=observations.Outcome.SUCCEEDED,
            read=True,
            errors=2,
            failing=1.0,
            blind=2.0,
        )
    },
    window={RED: states.Member(RED, 1.0, claim=True)},
    in_flight=states.InFlight(ids.WakeId("w"), 2.0, VERSIONS, (SENT,), spells=(("a", 1.0),)),
    owed=(SENT,),
    started=0.0,
    last_tick=2.0,
    read_at={A: 2.0},
    ended=verdicts.StopReason.TURNS,
    silence_until=9.0,
    stall=states.Stall("d", 1.0, 2, told=True),
    floor=2,
    floor_since=1.0,
    blocked=states.Blocked(1.0, told=True),
    churn=states.Churn(
        relapses={(A, "red:unit"): states.Relapses("r1", cleared=True, count=2)},
        stream="ci",
        alternations=1,
        series=((A, "r1", 2),),
        rounds={"unit": 2},
    ),
    generation=3,
    reset="again",
    purpose="p",
)


@hypothesis.given(strategies.all_states())
@hypothesis.settings(max_examples=80, deadline=None)
def test_every_state_survives_its_document(state: states.State) -> None:
    assert codec.decode(codec.encode(state), UID) == state


@hypothesis.given(strategies.all_states(), st.randoms(use_true_random=False))
@hypothesis.settings(max_examples=25, deadline=None)
def test_equal_states_have_the_same_document_on_one_line(state: states.State, chance: Any) -> None:
    window, subjects = list(state.window.items()), list(state.subjects.items())
    chance.shuffle(window)
    chance.shuffle(subjects)
    same = states.State(**{**_fields(state), "window": dict(window), "subjects": dict(subjects)})
    assert codec.encode(same) == codec.encode(state)
    assert len(codec.encode(state).split("\n")) == 1


def _fields(state: states.State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in state.__dataclass_fields__}


def test_half_a_character_of_a_provider_that_cuts_its_texts_survives_a_document_that_any_store_takes() -> None:
    half = verdicts.Identity(A, "red:\ud83d", "r\ude00", "ü")
    state = states.State(UID, window={half: states.Member(half, 1.0)})
    document = codec.encode(state)
    assert document.encode()
    assert "ü" in document
    assert codec.decode(document, UID) == state


def test_a_small_watch_has_a_small_document() -> None:
    assert len(codec.encode(FULL).encode()) < 1300


@hypothesis.given(st.text(max_size=60))
@hypothesis.settings(max_examples=200, deadline=None)
def test_any_text_is_quarantined_as_it_is(text: str) -> None:
    found = codec.decode(text, UID)
    assert isinstance(found, codec.Quarantined)
    assert found.document == text


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def _paths(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of a document, but for the version, which has tests of its own."""
    children = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    return [path, *(place for key, child in children if key != "version" for place in _paths(child, (*path, key)))]


def _with(part: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy = dict(part) if isinstance(part, dict) else list(part)
    copy[path[0]] = _with(copy[path[0]], path[1:], value)
    return copy


DOCUMENT = json.loads(codec.encode(FULL))


@hypothesis.given(st.sampled_from(_paths(DOCUMENT)), _json)
@hypothesis.settings(max_examples=300, deadline=None)
def test_whatever_stands_anywhere_in_a_document_is_read_or_quarantined_and_never_raises(
    path: tuple[Any, ...], value: Any
) -> None:
    found = codec.decode(json.dumps(_with(DOCUMENT, path, value)), UID)
    if isinstance(found, states.State):
        assert codec.decode(codec.encode(found), UID) == found
    else:
        assert found.detail


# what is wrong with the document, and how it is told
WRONG: list[tuple[str, str, str]] = [
    ("it is cut (C142)", '{"version":1,"watch":"w1","alerted":{"red:ci', "does not parse"),
    ("it is empty (C142)", "", "does not parse"),
    ("it is no object (C142)", "[]", "list in the place of an object"),
    ("it is null", "null", "NoneType in the place of an object"),
    ("it has no version", "{}", "a whole number"),
    ("its version is a text", '{"version":"1"}', "a whole number"),
    ("its version is true", '{"version":true}', "a whole number"),
    ("its version is negative", '{"version":-1}', "a whole number"),
    ("its version is no whole number", '{"version":1.5}', "a whole number"),
    ("it has nothing but a version", '{"version":1}', "does not parse"),
    ("it is nested too deep", "[" * 100_000 + "]" * 100_000, "does not parse"),
    ("it has a number of too many digits", '{"version":' + "9" * 5000 + "}", "does not parse"),
]


@pytest.mark.parametrize(("wrong", "document", "told"), WRONG, ids=[row[0] for row in WRONG])
def test_a_document_that_does_not_parse_is_quarantined_as_unreadable(wrong: str, document: str, told: str) -> None:
    found = codec.decode(document, UID)
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.UNREADABLE
    assert told in found.detail
    assert found.document == document
    assert len(found.detail) <= 200


# what is wrong, where, and the value that stands there
PARTS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("a count that is NaN", ("unstamped",), float("nan")),
    ("a time that is NaN", ("started",), float("nan")),
    ("a time that is infinite", ("lastTick",), float("inf")),
    ("a time beyond all bounds", ("started",), 1e16),
    ("a time that is true", ("started",), True),
    ("a time that is a text", ("silenceUntil",), "tomorrow"),
    ("a count beyond all bounds", ("generation",), 10**16),
    ("a negative count", ("spent", 0), -1),
    ("a count that is true", ("spent", 1), True),
    ("a count with a fraction", ("forgotten",), 1.5),
    ("spent with a value too few", ("spent",), [1, 2]),
    ("a window that is an object", ("window",), {}),
    ("a window row with a value too few", ("window", 0), [0, 1.0]),
    ("a window row of an identity that is not there", ("window", 0, 0), 7),
    ("a window row whose claim is a number", ("window", 0, 2), 1),
    ("names that are an object", ("names",), {}),
    ("a name that is a number", ("names", 0), 7),
    ("identities that are no list", ("identities",), None),
    ("an identity with a value too few", ("identities", 0), [0, "red:unit", True]),
    ("an identity of a subject that is not there", ("identities", 0, 0), 1),
    ("an identity with a key that no entry can have", ("identities", 0, 1), ""),
    ("an identity with a key that ends in a blank", ("identities", 0, 1), "red "),
    ("an identity with a key that is too long", ("identities", 0, 1), "k" * 201),
    ("an identity with a revision that is a number", ("identities", 0, 2), 7),
    ("an identity with an episode that is null", ("identities", 0, 3), None),
    ("subjects that are an object", ("subjects",), {}),
    ("a subject that is a list", ("subjects", 0), []),
    ("a subject without its name", ("subjects", 0), {"revision": None}),
    ("a subject with the name of another place", ("subjects", 0, "name"), 3),
    ("a revision that is a number", ("subjects", 0, "revision"), 7),
    ("an outcome that nobody knows", ("subjects", 0, "retired"), "Maybe"),
    ("a stamp that is a text", ("subjects", 0, "alerted", 0, 2), "now"),
    ("a stamp with a value too few", ("subjects", 0, "alerted", 0), [0, 1.0]),
    ("a hold whose activity is null", ("subjects", 0, "held", 0, 2), None),
    ("a disposition that nobody knows", ("subjects", 0, "dispositions", 0, 1), "ignored"),
    ("a question that is a number", ("subjects", 0, "parked", 0, 1), 1),
    ("an answer that is null", ("subjects", 0, "answered", 0, 3), None),
    ("a read that is a number", ("subjects", 0, "read"), 1),
    ("a spell without its start", ("inFlight", "spells", 0), ["a"]),
    ("a stall that is true", ("stall",), True),
    ("a floor that is negative", ("floor", 0), -1),
    ("a block without its start", ("blocked", 0), None),
    ("a relapse with a value too few", ("churn", "relapses", 0), ["a", "red:unit"]),
    ("rounds that are a list", ("churn", "rounds"), []),
    ("a time of reading that is a text", ("readAt", 0, 1), "now"),
    ("a reset that is null", ("reset",), None),
    ("an end that nobody knows", ("ended",), "bored"),
    ("a wake without a version", ("inFlight", "versions"), []),
    ("a wake of a type that nobody knows", ("inFlight", "versions", 0, 1), "Alarm"),
    ("a wake whose entries are no list", ("inFlight", "sent"), None),
    ("an entry of a wake with a value too few", ("inFlight", "sent", 0), [0, 1.0]),
    ("what is owed and no list", ("owed",), None),
    ("a notice that may be owed", ("owedNotice",), None),
    ("a purpose that is null", ("purpose",), None),
    ("a watch that is null", ("watch",), None),
]


@pytest.mark.parametrize(("wrong", "path", "value"), PARTS, ids=[row[0] for row in PARTS])
def test_a_part_of_the_wrong_type_or_range_is_quarantined(wrong: str, path: tuple[Any, ...], value: Any) -> None:
    found = codec.decode(json.dumps(_with(DOCUMENT, path, value)), UID)
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.UNREADABLE


def test_the_document_of_another_watch_is_not_its_memory() -> None:
    found = codec.decode(codec.encode(FULL), ids.WatchUid("w2"))
    assert found == codec.Quarantined(
        codec.QuarantineReason.UNREADABLE, "the document belongs to the Watch w1", codec.encode(FULL)
    )


@pytest.mark.parametrize("document", ['{"version":99}', '{"version":0}', '{"version":2,"whatever":[1]}'])
def test_c142_a_version_that_is_unknown_is_held_and_not_guessed_at(document: str) -> None:
    found = codec.decode(document, UID)
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.VERSION_UNKNOWN
    assert found.reason.value == "StateVersionUnknown"
    assert found.document == document


def test_what_a_document_says_beyond_what_is_known_is_left_out() -> None:
    assert codec.decode(json.dumps({**DOCUMENT, "more": 1}), UID) == FULL


def test_the_document_holds_no_text_of_the_subject() -> None:
    assert "brief" not in codec.encode(FULL)


def test_a_state_that_no_document_can_hold_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        codec.encode(states.State(UID, started=float("nan")))


def test_the_version_that_is_written_is_the_current_one() -> None:
    assert DOCUMENT["version"] == migrations.VERSION == 1
