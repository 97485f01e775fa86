"""From each version of the document to the next; a second version that only this test knows proves the way."""

import json
from typing import Final

import pytest

from tests.unit.state.strategies import UID
from vigil.model import states
from vigil.state import codec, migrations
from vigil.state.migrations import Document


def _to_two(document: Document) -> Document:
    """Version 2 of this test calls `generation` something else."""
    moved = dict(document)
    return {"ofGeneration": moved.pop("generation"), **moved, "version": 2}


def _to_three(document: Document) -> Document:
    moved = dict(document)
    return {"generation": moved.pop("ofGeneration"), **moved, "version": 3}


def test_a_document_goes_one_version_at_a_time() -> None:
    steps = {1: _to_two, 2: _to_three}
    start: Document = {"version": 1, "generation": 7}
    assert migrations.migrate(start, 1, steps) == ({"version": 3, "generation": 7}, 3)
    assert migrations.migrate({"version": 2, "ofGeneration": 7}, 2, steps) == ({"version": 3, "generation": 7}, 3)
    assert start == {"version": 1, "generation": 7}


def test_a_version_that_no_migration_starts_from_is_where_it_ends() -> None:
    assert migrations.migrate({"version": 5}, 5, {1: _to_two}) == ({"version": 5}, 5)
    assert migrations.migrate({"version": 1}, 1) == ({"version": 1}, 1)


def test_every_version_before_the_current_one_has_its_migration() -> None:
    assert set(migrations.MIGRATIONS) == set(range(1, migrations.VERSION))


LATER: Final = {1: _to_two, 2: _to_three}
"""The migrations of a Vigil that writes version 3."""


def test_a_later_vigil_reads_the_document_of_this_one() -> None:
    state = states.State(UID, generation=7)
    assert codec.decode(codec.encode(state), UID, 3, LATER) == state


def test_a_later_vigil_reads_its_own_document() -> None:
    state = states.State(UID, generation=7)
    own = json.dumps({**json.loads(codec.encode(state)), "version": 3})
    assert codec.decode(own, UID, 3, LATER) == state


def test_a_migration_that_cannot_make_sense_of_a_document_quarantines_it() -> None:
    found = codec.decode('{"version":1}', UID, 3, LATER)
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.UNREADABLE


@pytest.mark.parametrize("raised", [AttributeError, IndexError, KeyError, TypeError, ValueError])
def test_whatever_a_migration_trips_over_quarantines_the_document(raised: type[Exception]) -> None:
    def trip(document: Document) -> Document:
        raise raised("no such part")

    found = codec.decode('{"version":1}', UID, 2, {1: trip})
    assert isinstance(found, codec.Quarantined)
    assert found.reason is codec.QuarantineReason.UNREADABLE


def test_a_later_vigil_does_not_guess_at_what_is_newer_than_itself() -> None:
    found = codec.decode('{"version":4}', UID, 3, LATER)
    assert isinstance(found, codec.Quarantined)
    assert found.detail == "the document has version 4, this Vigil reads up to 3"
