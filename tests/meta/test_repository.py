"""What is registered, listed and shipped: each list against the thing itself."""

import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest

from tests.meta import places
from vigil.api import enrol, manifest
from vigil.kind import registry

ADR = places.ROOT / "docs" / "adr"
EXAMPLES = sorted((places.ROOT / "crds" / "examples").glob("*.yaml"))


def test_the_entry_points_of_the_project_are_the_folders_of_kinds() -> None:
    declared = places.project()["project"]["entry-points"]["vigil.kinds"]
    folders = {path.parent.name for path in places.KINDS.glob("*/__init__.py")}
    assert declared == {name: f"vigil_kinds.{name}:KIND" for name in folders}
    assert set(declared) <= set(registry.load())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_enrols(path: pathlib.Path) -> None:
    kinds = registry.load()
    watches = manifest.load_manifests(path.read_bytes(), path.name)
    assert [enrol.enrol(watch, kinds).ref.name for watch in watches] == [watch.metadata.name for watch in watches]


def test_every_kind_has_an_example() -> None:
    shown = {watch.spec.kind for path in EXAMPLES for watch in manifest.load_manifests(path.read_bytes(), path.name)}
    assert shown == set(places.project()["project"]["entry-points"]["vigil.kinds"])


# --- decisions -------------------------------------------------------------------------------------------------------

ROW = re.compile(r"^\| \[(\d{4})\]\((\S+)\) \| (.+) \|$", re.MULTILINE)
DECISIONS = sorted(path for path in ADR.glob("*.md") if path.name != "README.md")


def test_every_decision_is_in_the_index_in_order_and_with_its_title() -> None:
    listed = ROW.findall((ADR / "README.md").read_text())
    there = [
        (path.name[:4], path.name, path.read_text().splitlines()[0].removeprefix(f"# {path.name[:4]}: "))
        for path in DECISIONS
    ]
    assert listed == there


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_a_number_a_date_and_its_three_parts(path: pathlib.Path) -> None:
    title, _, date, *rest = path.read_text().splitlines()
    assert title.startswith(f"# {path.name[:4]}: ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    parts = [line.split("**")[1] for line in rest if line.startswith("**")]
    assert parts == ["Context.", "Decision.", "Consequences."]


def test_no_number_of_a_decision_is_missing_or_given_twice() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)")
PAGES = [
    path
    for path in sorted(places.ROOT.rglob("*.md"))
    if not {".venv", "node_modules", ".git"} & set(path.relative_to(places.ROOT).parts)
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(places.ROOT).as_posix())
def test_every_link_in_a_page_leads_somewhere(path: pathlib.Path) -> None:
    broken = [target for target in LINK.findall(path.read_text()) if not (path.parent / target).exists()]
    assert broken == []


# --- make ------------------------------------------------------------------------------------------------------------


def _make(*arguments: str) -> str:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=places.ROOT, capture_output=True, text=True, check=True
    ).stdout


def test_make_alone_lists_every_target() -> None:
    text = (places.ROOT / "Makefile").read_text()
    targets = re.findall(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    listed = [line.split()[1] for line in _make().splitlines()]
    assert listed == targets
    assert len(targets) == len(set(targets))


def test_make_check_does_all_that_is_checked() -> None:
    (needs,) = re.findall(r"^check: ([a-z -]+) ##", (places.ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"lint", "types", "verify", "test"} <= set(needs.split())


# --- the wheel -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What is in the wheel of this tree."""
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        pytest.skip("there is no uv to build with")
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("operator", "kinds"):
        shutil.copytree(places.ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(places.ROOT / name, source)
    ran = subprocess.run(
        [uv, "build", "--quiet", "--wheel", "--out-dir", str(built), str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0 and "hatchling" in ran.stderr:
        pytest.skip("the build backend can be had from no index")
    assert ran.returncode == 0, ran.stderr
    (path,) = built.glob("*.whl")
    with zipfile.ZipFile(path) as content:
        return content.namelist()


def test_the_wheel_holds_every_module_and_no_test(wheel: list[str]) -> None:
    modules = {name for name in wheel if name.endswith(".py")}
    wanted = {path.relative_to(places.VIGIL.parent).as_posix() for path in places.sources(places.VIGIL)}
    kinds = places.sources(places.KINDS, places.PROVIDERS)
    wanted |= {path.relative_to(places.KINDS.parent).as_posix() for path in kinds}
    assert modules == wanted
    assert not [name for name in wheel if re.search(r"(^|/)(tests?/|test_|conftest)", name)]


def test_the_wheel_holds_what_kinds_and_types_need_beside_modules(wheel: list[str]) -> None:
    for name in places.project()["project"]["entry-points"]["vigil.kinds"]:
        assert {f"vigil_kinds/{name}/schema.json", f"vigil_kinds/{name}/README.md"} <= set(wheel)
    assert {name.partition("/")[0] for name in wheel} == {
        "vigil",
        "vigil_kinds",
        "vigil_providers",
        next(name for name in wheel if name.endswith("/METADATA")).partition("/")[0],
    }
