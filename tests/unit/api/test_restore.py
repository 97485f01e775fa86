"""From a stored status back to the memory of a Watch."""

import copy
import json
from typing import Any

import pytest

from tests.unit.api import status_cases
from vigil.api import restore, status
from vigil.model import states, wakes
from vigil.state import codec
from vigil.tick import memory

LEFT = status_cases.left(
    "api",
    "web",
    state=status_cases.state(
        subjects={
            status_cases.subject("api"): states.SubjectState(
                "r1",
                alerted={status_cases.identity("api", "red:build"): states.Stamp(status_cases.T0, status_cases.T0)},
            ),
            status_cases.subject("web"): states.SubjectState("r2"),
        },
        spent=states.Spent(turns=2, tokens=900, active_time=60.0),
        in_flight=status_cases.flight(status_cases.identity("api", "red:lint")),
        purpose=status_cases.watch("api", "web").purpose,
    ),
    reading={
        status_cases.subject("api"): status_cases.read(status_cases.red("red:build"), status_cases.red("red:lint")),
        status_cases.subject("web"): status_cases.read(
            status_cases.red("comment:7", episode="c9"), revision="r2", pending=1
        ),
    },
    since={
        status_cases.identity("api", "red:build"): status_cases.T0,
        status_cases.identity("api", "red:lint"): status_cases.T0 + 60,
        status_cases.identity("web", "comment:7", "r2", "c9"): status_cases.T0 + 120,
    },
    anchors={status_cases.subject("api"): "id-1", status_cases.subject("web"): "id-2"},
    wakes=(
        status_cases.record(2, wakes.WakeState.QUEUED, "red:lint"),
        status_cases.record(1, wakes.WakeState.DELIVERED),
    ),
)


def _rendered() -> dict[str, Any]:
    """The status as the API server or a file gives it back."""
    rendered: dict[str, Any] = json.loads(json.dumps(status.render(LEFT, None, status_cases.NOW)))
    return rendered


def _without(*path: str | int) -> dict[str, Any]:
    """The status with one part made into something that no Vigil writes."""
    damaged = copy.deepcopy(_rendered())
    place: Any = damaged
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = ["?"]
    return damaged


def test_what_a_tick_left_is_restored_whole() -> None:
    restored = restore.restore(_rendered(), LEFT.watch)
    assert restored == memory.Stored(state=LEFT.state, since=LEFT.since, anchors=LEFT.anchors, wakes=LEFT.wakes)


def test_what_is_restored_renders_the_same_status() -> None:
    stored = _rendered()
    begun = memory.begin(LEFT.watch, restore.restore(stored, LEFT.watch), status_cases.NOW)
    again = status.render(begun.with_current(verdict=LEFT.verdict, reading=LEFT.reading).current, stored, 0.0)
    assert again == stored


@pytest.mark.parametrize("stored", [None, {}])
def test_a_status_that_was_never_written_holds_nothing(stored: dict[str, Any] | None) -> None:
    assert restore.restore(stored, LEFT.watch) == memory.Stored()


def test_a_status_without_an_engine_has_no_state_and_keeps_the_rest() -> None:
    stored = _rendered()
    del stored["engine"]
    restored = restore.restore(stored, LEFT.watch)
    assert restored.state is None
    assert restored.since == LEFT.since


DAMAGES: list[tuple[str, tuple[str | int, ...], tuple[str, ...]]] = [
    ("observations that are none cost the times of first showing", ("observations",), ("since",)),
    ("an entry without a time costs the times of first showing", ("observations", 0, "since"), ("since",)),
    ("subjects that are none cost the anchors", ("subjects",), ("anchors",)),
    ("wakes that are none cost the history", ("wakes",), ("wakes",)),
    ("a state of a wake that is unknown costs the history", ("wakes", 0, "state"), ("wakes",)),
    ("conditions that are none cost nothing", ("conditions",), ()),
    ("a phase that is unknown costs nothing", ("phase",), ()),
    ("a verdict that is none costs nothing", ("verdict",), ()),
    ("a budget that is none costs nothing", ("budget",), ()),
]


@pytest.mark.parametrize(("path", "lost"), [row[1:] for row in DAMAGES], ids=[row[0] for row in DAMAGES])
def test_a_damaged_part_costs_only_itself(path: tuple[str | int, ...], lost: tuple[str, ...]) -> None:
    restored = restore.restore(_without(*path), LEFT.watch)
    wanted = memory.Stored(state=LEFT.state, since=LEFT.since, anchors=LEFT.anchors, wakes=LEFT.wakes)
    for name in ("state", "since", "anchors", "wakes"):
        assert getattr(restored, name) == ({"wakes": ()}.get(name, {}) if name in lost else getattr(wanted, name))


def test_a_time_that_does_not_parse_costs_the_entry_that_has_it() -> None:
    stored = _rendered()
    lost = stored["observations"][0]["key"]
    stored["observations"][0]["since"] = "yesterday"
    stored["wakes"][1]["at"] = "yesterday"
    restored = restore.restore(stored, LEFT.watch)
    assert restored.since == {identity: since for identity, since in LEFT.since.items() if identity.key != lost}
    assert restored.wakes == LEFT.wakes[:1]


def test_what_belongs_to_a_subject_that_is_not_watched_any_more_is_left_out() -> None:
    restored = restore.restore(_rendered(), status_cases.watch("web"))
    assert set(restored.anchors) == {status_cases.subject("web")}
    assert {identity.subject for identity in restored.since} == {status_cases.subject("web")}


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ('{"version":3,"alerted":{"red:ci', codec.QuarantineReason.UNREADABLE),
        ("", codec.QuarantineReason.UNREADABLE),
        ("[]", codec.QuarantineReason.UNREADABLE),
        ('{"version":99}', codec.QuarantineReason.VERSION_UNKNOWN),
    ],
)
def test_a_document_that_cannot_be_used_is_handed_on_with_its_text(
    document: str, reason: codec.QuarantineReason
) -> None:
    stored = _rendered()
    stored["engine"]["document"] = document
    state = restore.restore(stored, LEFT.watch).state
    assert isinstance(state, codec.Quarantined)
    assert (state.reason, state.document) == (reason, document)


@pytest.mark.parametrize("engine", [["?"], "text", {"version": 1}, {"version": 1, "document": {"version": 1}}, 7])
def test_an_engine_that_holds_no_text_is_unreadable_and_never_taken_for_empty(engine: Any) -> None:
    stored = {**_rendered(), "engine": engine}
    state = restore.restore(stored, LEFT.watch).state
    assert isinstance(state, codec.Quarantined)
    assert state.reason is codec.QuarantineReason.UNREADABLE


def test_the_memory_of_another_watch_is_not_taken() -> None:
    other = status_cases.left(state=status_cases.state(watch="another"))
    state = restore.restore(status.render(other, None, 0.0), other.watch).state
    assert isinstance(state, codec.Quarantined)


def test_a_label_and_an_id_that_were_cut_are_found_again() -> None:
    name = "a" * 400
    long = status_cases.left(
        name,
        since={status_cases.identity(name, "red:build"): status_cases.T0},
        anchors={status_cases.subject(name): "id-1"},
        reading={status_cases.subject(name): status_cases.read(status_cases.red("red:build"))},
    )
    restored = restore.restore(status.render(long, None, status_cases.NOW), long.watch)
    assert restored.since == long.since
    assert restored.anchors == long.anchors


def test_the_state_alone_can_be_asked_for() -> None:
    assert restore.state_of(_rendered(), LEFT.watch.ref.uid) == LEFT.state
    assert restore.state_of({}, LEFT.watch.ref.uid) is None


def test_a_verdict_is_decided_anew_and_not_restored() -> None:
    begun = memory.begin(LEFT.watch, restore.restore(_rendered(), LEFT.watch), status_cases.NOW)
    assert begun.current.verdict is None
    assert begun.current.reading == {}
