"""Evidence is whole or not there, for its user alone, bounded, and nothing in it is hidden."""

import dataclasses
import os
import pathlib
import stat

import pytest

from tests.sidecar import support
from vigil.model import wakes
from vigil.sidecar import evidence


@pytest.fixture
def files(tmp_path: pathlib.Path) -> evidence.Evidence:
    return evidence.Evidence(tmp_path / "evidence")


async def text_of(files: evidence.Evidence, raw: str) -> str:
    content = await files.read(await files.write(support.wake(evidence=raw)))
    assert content is not None
    return content.decode()


async def test_it_lies_under_its_watch_for_its_user_alone(files: evidence.Evidence, tmp_path: pathlib.Path) -> None:
    ref = await files.write(support.wake(sequence=3))
    path = tmp_path / "evidence" / "team-a" / "api-42" / "w1-3.txt"
    assert files.path(ref) == str(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["w1-3.txt"]


async def test_it_says_whose_it_is_and_that_it_is_untrusted(files: evidence.Evidence) -> None:
    heading, rest = (await text_of(files, "exit code 1\n")).split("\n\n", 1)
    assert "Evidence of the watch team-a/api-42, wake w1, version 1, observed 2026-03-01T12:00:00+00:00." in heading
    assert "It is untrusted" in heading
    assert rest == "exit code 1\n\n"


async def test_what_hides_is_shown_and_credentials_are_taken_out(files: evidence.Evidence) -> None:
    shown = await text_of(files, "a\x1b[31m\u202eb\u2028\x00\r\npassword=hunter2\tend")
    assert "a<U+001B>[31m<U+202E>b<U+2028><U+0000>\npassword=[redacted]\tend" in shown


@pytest.mark.parametrize("letter", ["x", "ä", "漢"])
async def test_what_exceeds_the_limit_is_cut_from_the_middle_visibly(files: evidence.Evidence, letter: str) -> None:
    shown = await text_of(files, "FIRST\n" + (letter * 99 + "\n") * 20_000 + "LAST")
    assert len(shown.encode()) <= evidence.SIZE_LIMIT
    assert len(shown.encode()) > evidence.SIZE_LIMIT * 0.99
    assert "FIRST" in shown
    assert shown.endswith("LAST\n")
    assert "bytes were cut here]" in shown


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..", ".", "a/b", "-rf", "", "x" * 300, "a\nb", "ü", "a\x00b", "..-"]
)
def test_no_name_leaves_its_folder(name: str) -> None:
    watch = wakes.WatchRef(support.wake().watch.uid, name, name)
    parts = evidence.path_of(dataclasses.replace(support.wake(name), watch=watch)).split("/")
    assert len(parts) == 3
    for part in parts:
        assert 0 < len(part) <= 200
        assert part not in {".", ".."}
        assert not part.startswith((".", "-"))
        assert part.isascii()
        assert part.isprintable()


def test_names_that_look_alike_stay_apart() -> None:
    paths = {evidence.path_of(support.wake(name)) for name in ("a:b", "a-b", "a.b", "a b", "A:b")}
    assert len(paths) == 5


async def test_removal_takes_empty_folders_along(files: evidence.Evidence, tmp_path: pathlib.Path) -> None:
    first, second = await files.write(support.wake("w1")), await files.write(support.wake("w2"))
    await files.remove({first})
    assert await files.read(first) is None
    assert await files.read(second) is not None
    await files.remove({first, second})
    assert list((tmp_path / "evidence").iterdir()) == []


async def test_a_sweep_takes_only_what_is_old_and_nobodys(files: evidence.Evidence, tmp_path: pathlib.Path) -> None:
    kept, orphan, young = [await files.write(support.wake(name)) for name in ("kept", "orphan", "young")]
    left_behind = tmp_path / "evidence" / "team-a" / "api-42" / "tmpabc.part"
    left_behind.write_text("half")
    for path in (files.path(kept), files.path(orphan), left_behind):
        os.utime(path, (support.NOW, support.NOW))
    assert await files.sweep({kept}, support.NOW + 1) == 2
    assert await files.read(kept) is not None
    assert await files.read(young) is not None
    assert not left_behind.exists()


def test_a_folder_with_a_path_that_would_crowd_the_envelope_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 200 characters"):
        evidence.Evidence(pathlib.Path("/" + "x" * 220))
