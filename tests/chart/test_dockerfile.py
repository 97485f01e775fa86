"""The image's recipe, as far as it can be checked without building it."""

import fnmatch
import pathlib
import re
import shlex
import tomllib

from tests.chart import charts

RECIPE = charts.ROOT / "operator" / "Dockerfile"
IGNORED = charts.ROOT / ".dockerignore"


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", " ", RECIPE.read_text(encoding="utf-8"))
    lines = (line.strip() for line in text.splitlines())
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines if line and line[0] != "#"]


def copied() -> list[str]:
    """What is copied from the build context."""
    found: list[str] = []
    for name, rest in instructions():
        if name == "COPY" and "--from=" not in rest:
            found.extend(shlex.split(rest)[:-1])
    return found


def test_every_path_that_is_copied_exists() -> None:
    assert copied()
    for path in copied():
        assert (charts.ROOT / path).exists(), path


def test_everything_the_build_needs_is_copied() -> None:
    project = tomllib.loads((charts.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    files = ["pyproject.toml", "uv.lock", project["project"]["readme"], *project["project"]["license-files"]]
    assert {*files, *packages} <= set(copied())


def test_nothing_that_is_copied_is_ignored() -> None:
    patterns = [line for line in IGNORED.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    assert patterns[0] == "*"
    allowed = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    for path in copied():
        assert any(fnmatch.fnmatch(path, pattern) for pattern in allowed), path


def test_the_final_stage_runs_as_a_number_that_is_not_root() -> None:
    last = [value for name, value in instructions() if name == "USER"][-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", last)
    values = (charts.CHART / "templates" / "deployment.yaml").read_text(encoding="utf-8")
    assert f"runAsUser: {last.split(':')[0]}" in values


def test_the_entry_point_is_the_command() -> None:
    assert ("ENTRYPOINT", '["vigil"]') in instructions()
    project = tomllib.loads((charts.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "vigil" in project["project"]["scripts"]


def test_the_environment_is_the_locked_one_without_the_developers_tools() -> None:
    syncs = [value for name, value in instructions() if name == "RUN" and "uv sync" in value]
    assert len(syncs) == 2
    for command in syncs:
        assert {"--frozen", "--no-dev"} <= set(shlex.split(command))
    assert "--no-editable" in syncs[-1]


def test_every_base_image_is_pinned_to_a_release() -> None:
    bases = [value.split()[0] for name, value in instructions() if name == "FROM"]
    assert bases
    for base in bases:
        assert re.search(r":[^:]*\d", base), base
        assert not base.endswith(":latest")


def test_the_interpreter_is_one_that_the_project_is_tested_with() -> None:
    versions = {match for _, value in instructions() for match in re.findall(r"python:(\d+\.\d+)", value)}
    project = tomllib.loads((charts.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [version] = versions
    assert f"Programming Language :: Python :: {version}" in project["project"]["classifiers"]
    assert pathlib.PurePath(RECIPE).name == "Dockerfile"
