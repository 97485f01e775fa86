"""The test of the substrate: the second kind of a provider costs the shared layers nothing."""

import pathlib
import shutil
import subprocess

import pytest

from tests.meta import places

SECOND = "kinds/vigil_kinds/github_workflow_run/__init__.py"
SHARED = ("operator/vigil/", "tests/unit/", "tests/kinds/test_conformance.py", "tests/kinds/golden.py")
"""What no kind may need to have changed: the layers, the engine's tests, and what every kind is held to."""


def git(*arguments: str) -> str:
    """What git says."""
    ran = subprocess.run(["git", *arguments], cwd=places.ROOT, capture_output=True, text=True, check=True)
    return ran.stdout


@pytest.fixture
def history() -> str:
    """The commit that brought the second kind."""
    if shutil.which("git") is None or not (places.ROOT / ".git").exists():
        pytest.skip("this is no clone: its history cannot be asked")
    if git("rev-parse", "--is-shallow-repository").strip() == "true":
        pytest.skip("the history of this clone was cut off")
    return git("log", "--diff-filter=A", "--format=%H", "--", SECOND).split()[-1]


def test_the_commit_that_added_the_second_kind_of_a_provider_touched_no_shared_layer(history: str) -> None:
    changed = git("show", "--name-only", "--format=", history).split()
    assert SECOND in changed
    assert [path for path in changed if path.startswith(SHARED)] == []


def test_no_shared_layer_knows_the_provider() -> None:
    named = [
        str(path.relative_to(places.ROOT))
        for path in places.sources(places.VIGIL)
        if any(word in path.read_text().lower() for word in ("vigil_providers", "octokit"))
    ]
    assert named == []


def test_what_is_shared_is_still_there() -> None:
    assert all((places.ROOT / pathlib.Path(path)).exists() for path in SHARED)
