"""The builder, against a `go` that only writes the file it is asked for."""

import os
import pathlib
import subprocess
import sys

import pytest

from tests.controlplane import assets, build

FAKE_GO = """#!/bin/sh
case "$1" in
list) echo "$FAKE_MODULE" ;;
build)
    sleep 0.05
    while [ "$1" != -o ]; do shift; done
    echo "built $2" >> "$FAKE_LOG"
    if [ -n "$FAKE_FAILURE" ]; then echo "$FAKE_FAILURE" >&2; exit 1; fi
    echo binary > "$2" ;;
esac
"""


@pytest.fixture
def fake_go(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A PATH with the fake and an empty cache; returns the file that lists what was built."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "go").write_text(FAKE_GO, encoding="utf-8")
    (tools / "go").chmod(0o755)
    module = tmp_path / "module"
    for name in (*build.KWOK_STAGES, *build.KWOK_MANIFESTS):
        file = module / "kustomize" / "stage" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("kind: Stage\n", encoding="utf-8")
    log = tmp_path / "log"
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("VIGIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FAKE_MODULE", str(module))
    monkeypatch.setenv("FAKE_LOG", str(log))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return log


def ignore(_: str) -> None:
    """A report that nobody reads."""


def test_every_pinned_binary_is_built_once_and_linked_into_one_folder(fake_go: pathlib.Path) -> None:
    where = build.ensure(ignore)
    assert build.ensure(ignore) == where
    assert len(fake_go.read_text(encoding="utf-8").splitlines()) == len(build.PARTS)
    assert {file.name for file in where.iterdir()} == {part.name for part in build.PARTS} | {"stages", "manifests"}
    assert all(file.exists() for file in where.iterdir())


def test_two_runs_at_once_build_each_binary_once(fake_go: pathlib.Path) -> None:
    command = [sys.executable, build.__file__, "--print-dir"]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    second = subprocess.run(command, capture_output=True, check=True, text=True)
    printed, _ = first.communicate()
    assert printed == second.stdout == f"{build.folder()}\n"
    assert len(fake_go.read_text(encoding="utf-8").splitlines()) == len(build.PARTS)


def test_a_build_that_failed_leaves_no_binary_and_says_what_go_said(
    fake_go: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_FAILURE", "no space left on device")
    with pytest.raises(build.BuildError, match="no space left on device"):
        build.ensure(ignore)
    assert len(build.missing()) == len(build.PARTS)


def test_a_changed_pin_changes_only_its_own_module(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {module.folder: module.digest for module in build.MODULES}
    for module in build.MODULES:
        copied = tmp_path / module.folder
        copied.mkdir()
        for name in ("go.mod", "go.sum"):
            (copied / name).write_bytes((build.PINS / module.folder / name).read_bytes())
    with (tmp_path / "helm" / "go.sum").open("a", encoding="utf-8") as sums:
        sums.write("\n")
    monkeypatch.setattr(build, "PINS", tmp_path)
    changed = {module.folder for module in build.MODULES if module.digest != before[module.folder]}
    assert changed == {"helm"}


@pytest.mark.usefixtures("fake_go")
def test_without_go_the_sentence_says_so(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(build.BuildError, match="Go is not on the PATH"):
        build.ensure(ignore)
    with pytest.raises(assets.NotBuiltError, match="install Go"):
        assets.find(ignore)


@pytest.mark.usefixtures("fake_go")
def test_envtest_assets_come_first_and_the_rest_from_the_cache(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "envtest"
    given.mkdir()
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(given))
    with pytest.raises(assets.AssetsError, match=r"kube-apiserver.*helm.*kwok's stages"):
        assets.find(ignore)
    for name in assets.ENVTEST:
        (given / name).touch()
    build.ensure(ignore)
    found = assets.find(ignore)
    assert found.binary("kube-apiserver") == given / "kube-apiserver"
    assert found.binary("kube-scheduler").parent == build.KUBERNETES.target
    assert not found.pinned
