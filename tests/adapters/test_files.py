"""The store of `vigil run`: whole files, set aside where they cannot be read, under a lock."""

import contextlib
import json
import logging
import multiprocessing
import os
import pathlib
import re
import stat
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from tests.unit.api import status_cases
from vigil import ports
from vigil.adapters import clock, files, signals
from vigil.model import ids, observations, states
from vigil.state import codec
from vigil.tick import checkpoint, memory

UID = ids.WatchUid("0b1c")
LEFT = status_cases.left(state=status_cases.state(spent=states.Spent(turns=2)))
CUT = '{"version":3,"alerted":{"red:ci'


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A state folder that does not exist yet."""
    return tmp_path / "a" / "state"


@contextlib.contextmanager
def opened(folder: pathlib.Path, emitted: ports.Signals | None = None) -> Generator[files.FileStore]:
    """The store over a folder."""
    with files.FileStore.opened(folder, clock.SystemClock(), emitted or signals.Silent()) as store:
        yield store


class Heard:
    """ports.Signals that keeps what was said."""

    def __init__(self) -> None:
        self.records: list[ports.Record] = []

    def emit(self, record: ports.Record) -> None:
        """Keep it."""
        self.records.append(record)


async def saved(folder: pathlib.Path, *left: checkpoint.Checkpoint) -> pathlib.Path:
    """Save into the folder, each in a run of its own; gives the one file that is there then."""
    for one in left or (LEFT,):
        with opened(folder) as store:
            store.load(one.watch)
            assert await store.save(one) is ports.SaveResult.SAVED
    (path,) = state_files(folder)
    return path


def state_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """The files of Watches."""
    return sorted(folder.glob("*.json"))


def archived(folder: pathlib.Path) -> list[pathlib.Path]:
    """What was set aside."""
    return sorted((folder / "archive").glob("*"))


def loaded(folder: pathlib.Path, of: checkpoint.Checkpoint = LEFT) -> memory.Stored:
    """What the next run finds."""
    with opened(folder) as store:
        return store.load(of.watch)


def mode(path: pathlib.Path) -> int:
    """The permissions of a path."""
    return stat.S_IMODE(path.stat().st_mode)


async def test_what_was_saved_is_loaded_by_the_next_run(folder: pathlib.Path) -> None:
    await saved(folder)
    restored = loaded(folder)
    assert restored.state == LEFT.state


def test_a_watch_that_was_never_saved_begins_with_nothing(folder: pathlib.Path) -> None:
    assert loaded(folder) == memory.Stored()


async def test_everything_is_for_its_owner_only(folder: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        path = await saved(folder)
    finally:
        os.umask(before)
    assert mode(folder) == 0o700
    assert mode(path) == 0o600
    assert mode(folder / "lock") == 0o600


async def test_the_name_of_a_file_is_a_digest_and_the_file_names_its_watch(folder: pathlib.Path) -> None:
    path = await saved(folder)
    assert re.fullmatch(r"[0-9a-f]{32}\.json", path.name)
    content = json.loads(path.read_text())
    assert content["version"] == files.FORMAT
    assert content["watch"] == {"uid": UID, "namespace": "team-a", "name": "api", "kind": "toy"}


# --- shapes of files that no Vigil wrote, or another one -------------------------------------------------------------

INNER = [CUT, "", "[]", "null", '"text"', "\x00\x00\x00"]


@pytest.mark.parametrize("content", [*INNER, '{"version":1}', '{"version":1,"watch":{"uid":"0b1c"},"status":[]}'])
async def test_a_file_that_does_not_parse_is_set_aside_and_a_fresh_document_begins(
    folder: pathlib.Path, content: str
) -> None:
    path = await saved(folder)
    path.write_text(content)
    with opened(folder) as store:
        state = store.load(LEFT.watch).state
        assert isinstance(state, codec.Quarantined)
        assert state.reason is codec.QuarantineReason.UNREADABLE
        assert path.name in state.detail
        (aside,) = archived(folder)
        assert aside.read_text() == content
        fresh = memory.begin(LEFT.watch, memory.Stored(state), status_cases.NOW)
        assert await store.save(fresh.current) is ports.SaveResult.SAVED
    again = loaded(folder).state
    assert isinstance(again, states.State)
    assert again.spent.turns == 0


@pytest.mark.parametrize("document", INNER[:4])
async def test_a_document_inside_a_good_file_is_quarantined_with_its_text(folder: pathlib.Path, document: str) -> None:
    path = await saved(folder)
    content = json.loads(path.read_text())
    content["status"]["engine"]["document"] = document
    path.write_text(json.dumps(content))
    with opened(folder) as store:
        state = store.load(LEFT.watch).state
        assert isinstance(state, codec.Quarantined)
        assert state.reason is codec.QuarantineReason.UNREADABLE
        fresh = memory.begin(LEFT.watch, memory.Stored(state), status_cases.NOW)
        await store.save(fresh.current)
    engine = json.loads(path.read_text())["status"]["engine"]
    assert engine.get("quarantined", "") == document
    assert json.loads(engine["document"])["version"] == 1


def _whole(_content: dict[str, Any]) -> str:
    return '{"version":99}'


def _inside(content: dict[str, Any]) -> str:
    content["status"]["engine"]["document"] = '{"version":99}'
    return json.dumps(content)


@pytest.mark.parametrize("future", [_whole, _inside])
async def test_a_version_that_is_unknown_is_held_and_never_overwritten(folder: pathlib.Path, future: Any) -> None:
    path = await saved(folder)
    path.write_text(future(json.loads(path.read_text())))
    before = path.read_bytes()
    with opened(folder) as store:
        state = store.load(LEFT.watch).state
        assert isinstance(state, codec.Quarantined)
        assert state.reason is codec.QuarantineReason.VERSION_UNKNOWN
        held = memory.begin(LEFT.watch, memory.Stored(state), status_cases.NOW)
        assert not held.probed
        assert await store.save(held.current) is ports.SaveResult.SAVED
        stalled = [one for one in store.status_of(UID)["conditions"] if one["type"] == "Stalled"]
        assert [(one["status"], one["reason"]) for one in stalled] == [("True", "StateVersionUnknown")]
    assert path.read_bytes() == before
    assert archived(folder) == []


async def test_files_that_cannot_be_read_do_not_touch_the_other_watches(folder: pathlib.Path) -> None:
    path = await saved(folder)
    for number, content in enumerate([CUT, "", "[]", '{"version":99}']):
        (folder / f"{number}.json").write_text(content)
    assert loaded(folder).state == LEFT.state
    assert files.stored(folder)[0]["metadata"]["name"] == "api"
    assert state_files(folder) == sorted([path, *(folder / f"{number}.json" for number in range(4))])


async def test_a_file_that_is_a_folder_is_set_aside(folder: pathlib.Path) -> None:
    path = await saved(folder)
    path.unlink()
    path.mkdir()
    state = loaded(folder).state
    assert isinstance(state, codec.Quarantined)
    assert [one.is_dir() for one in archived(folder)] == [True]


# --- writing ---------------------------------------------------------------------------------------------------------


def _killed_before_the_rename(path: pathlib.Path) -> None:
    """Write as the store does, and die when the new file is whole and not yet in its place."""

    def die(event: str, _arguments: object) -> None:
        if event == "os.rename":
            os._exit(9)

    sys.addaudithook(die)
    files.write_atomically(path, "new")


def test_a_crash_between_write_and_rename_leaves_the_old_file_whole(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "state.json"
    files.write_atomically(path, "old")
    crash = multiprocessing.get_context("spawn").Process(target=_killed_before_the_rename, args=(path,))
    crash.start()
    crash.join(60)
    assert crash.exitcode == 9
    assert path.read_text() == "old"
    assert (tmp_path / ".state.json.tmp").read_text() == "new"
    files.write_atomically(path, "newer")
    assert path.read_text() == "newer"
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]


def test_what_a_crash_left_with_other_permissions_is_made_anew(tmp_path: pathlib.Path) -> None:
    stale = tmp_path / ".state.json.tmp"
    stale.write_text("half")
    stale.chmod(0o644)
    files.write_atomically(tmp_path / "state.json", "whole")
    assert mode(tmp_path / "state.json") == 0o600


async def test_what_a_crash_left_beside_the_files_is_no_state(folder: pathlib.Path) -> None:
    path = await saved(folder)
    path.with_name(f".{path.name}.tmp").write_text(CUT)
    assert loaded(folder).state == LEFT.state


async def test_a_save_that_fails_says_so_once_and_leaves_the_old_file(
    folder: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    heard = Heard()
    path = await saved(folder)
    before = path.read_bytes()
    newer = status_cases.left(state=status_cases.state(spent=states.Spent(turns=3)))
    with opened(folder, heard) as store, caplog.at_level(logging.WARNING):
        store.load(LEFT.watch)
        path.with_name(f".{path.name}.tmp").mkdir()  # even root cannot write a file there
        assert await store.save(newer) is ports.SaveResult.FAILED
        assert await store.save(newer) is ports.SaveResult.FAILED
        assert path.read_bytes() == before
        path.with_name(f".{path.name}.tmp").rmdir()
        assert await store.save(newer) is ports.SaveResult.SAVED
    assert heard.records == [ports.StatusWriteFailed(ports.StatusWriteError.UNKNOWN)] * 2
    assert [one.getMessage().split(": ")[0] for one in caplog.records] == [
        "the state of team-a/api cannot be stored, and nothing is delivered",
        "the state of team-a/api is stored again",
    ]
    assert loaded(folder).state == newer.state


@pytest.fixture
def disk(tmp_path: pathlib.Path) -> Generator[pathlib.Path]:
    """A disk of 64 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "vigil-test", str(path)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("only root can make a small disk")
    yield path
    subprocess.run(["umount", str(path)], check=True)


async def test_on_a_full_disk_a_save_fails_and_the_old_file_stays(disk: pathlib.Path) -> None:
    folder = disk / "state"
    more = status_cases.left(state=status_cases.state(spent=states.Spent(turns=3)))
    with opened(folder) as store:
        assert await store.save(LEFT) is ports.SaveResult.SAVED
        (path,) = state_files(folder)
        before = path.read_bytes()
        filler = disk / "filler"
        with pytest.raises(OSError, match="No space left"):
            filler.write_bytes(b"x" * 65536)
        assert await store.save(more) is ports.SaveResult.FAILED
        assert path.read_bytes() == before
        assert list(folder.glob(".*")) == []
        filler.unlink()
        assert await store.save(more) is ports.SaveResult.SAVED
    assert loaded(folder).state == more.state


async def test_half_a_surrogate_pair_in_a_text_of_a_strangers_is_stored(folder: pathlib.Path) -> None:
    owed = states.Sent(
        status_cases.identity("api", "merged", None),
        since=status_cases.T0,
        at=status_cases.T0,
        joined=1,
        outcome=observations.Outcome.SUCCEEDED,
        brief="half \ud83d",
    )
    left = status_cases.left(state=status_cases.state(owed=(owed,)))
    await saved(folder, left)
    assert loaded(folder, left).state == left.state


# --- one process, and the files of other Watches ---------------------------------------------------------------------


def test_a_second_run_is_refused_while_the_first_has_the_folder(folder: pathlib.Path) -> None:
    with opened(folder), pytest.raises(files.StateDirError, match="in use by another vigil run"), opened(folder):
        pytest.fail("it has the folder too")
    with opened(folder):
        pass


def test_a_folder_that_cannot_be_made_is_told_with_its_name(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(files.StateDirError, match=f"{tmp_path}/file/state cannot be used: "),
        opened(tmp_path / "file" / "state"),
    ):
        pytest.fail("it was opened")


async def test_a_watch_whose_subjects_changed_is_found_by_its_name_and_its_file_renamed(folder: pathlib.Path) -> None:
    first = await saved(folder)
    other = status_cases.left("web", state=LEFT.state)
    with opened(folder) as store:
        assert store.load(other.watch).state == LEFT.state
        assert await store.save(other) is ports.SaveResult.SAVED
    (second,) = state_files(folder)
    assert second != first


async def test_of_two_files_for_one_watch_the_newer_counts(folder: pathlib.Path) -> None:
    path = await saved(folder)
    newer = status_cases.left("web", state=status_cases.state(spent=states.Spent(turns=5)))
    crashed = path.read_bytes()
    second = await saved(folder, newer)
    path.write_bytes(crashed)
    os.utime(path, ns=(1, 1))
    assert loaded(folder, newer).state == newer.state
    assert state_files(folder) == [second]
    assert [one.read_bytes() for one in archived(folder)] == [crashed]


async def test_the_state_of_a_watch_that_is_in_no_file_any_more_is_archived(folder: pathlib.Path) -> None:
    flying = status_cases.left(
        state=status_cases.state(in_flight=status_cases.flight(status_cases.identity("api", "red:build")))
    )
    path = await saved(folder, flying)
    content = path.read_bytes()
    with opened(folder) as store:
        assert store.archive_others({UID}) == []
        assert store.archive_others(set()) == [files.Archived("team-a/api", ids.WakeId("wake-2"))]
        assert store.archive_others(set()) == []
    assert state_files(folder) == []
    (aside,) = archived(folder)
    assert aside.name.endswith(path.name)
    assert aside.read_bytes() == content
    assert mode(aside) == 0o600
    assert mode(aside.parent) == 0o700
    assert loaded(folder) == memory.Stored()


async def test_an_archived_watch_without_a_wake_or_a_readable_state_has_none_to_take_back(folder: pathlib.Path) -> None:
    path = await saved(folder)
    content = json.loads(path.read_text())
    content["status"]["engine"] = "?"
    path.write_text(json.dumps(content))
    with opened(folder) as store:
        assert store.archive_others(set()) == [files.Archived("team-a/api", None)]


async def test_an_archive_that_cannot_be_made_is_told(folder: pathlib.Path) -> None:
    await saved(folder)
    (folder / "archive").write_text("")
    with opened(folder) as store, pytest.raises(files.StateDirError, match="cannot be used: "):
        store.archive_others(set())


async def test_the_folder_is_shown_without_its_lock(folder: pathlib.Path) -> None:
    await saved(folder)
    with opened(folder):
        (shown,) = files.stored(folder)
    assert shown["metadata"] == {"namespace": "team-a", "name": "api", "uid": UID}
    assert (shown["spec"]["kind"], shown["spec"]["policy"]["settle"]) == ("toy", "5m")
    assert shown["status"]["summary"]["turns"] == "2/8"
