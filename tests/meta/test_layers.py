"""The layers, as import-linter holds them, and what it cannot hold."""

import ast
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.meta import places
from vigil.kind import registry

LINT = pathlib.Path(sys.executable).parent / "lint-imports"


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the sources with the contracts."""
    ignored = shutil.ignore_patterns("__pycache__", "fixtures")
    shutil.copytree(places.VIGIL, tmp_path / "operator" / "vigil", ignore=ignored)
    for folder in (places.KINDS, places.PROVIDERS):
        shutil.copytree(folder, tmp_path / "kinds" / folder.name, ignore=ignored)
    shutil.copy(places.ROOT / ".importlinter", tmp_path)
    return tmp_path


def lint(tree: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """import-linter over a tree."""
    paths = os.pathsep.join([str(tree / "operator"), str(tree / "kinds")])
    return subprocess.run(
        [str(LINT), "--no-cache"],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": paths, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_contract_is_kept() -> None:
    ran = lint(places.ROOT)
    assert ran.returncode == 0, ran.stdout
    assert " 0 broken." in ran.stdout


def _a_module_without_a_layer(tree: pathlib.Path) -> str:
    (tree / "operator" / "vigil" / "extra.py").write_text('"""It has no layer."""\n')
    return "extra"


def _an_import_that_points_up(tree: pathlib.Path) -> str:
    (tree / "operator" / "vigil" / "model" / "upward.py").write_text("from vigil.tick import tick\n")
    return "vigil.model.upward"


def _a_kind_that_sees_more_than_its_contract(tree: pathlib.Path) -> str:
    (tree / "kinds" / "vigil_kinds" / "http_json" / "upward.py").write_text("from vigil.scheduler import due\n")
    return "vigil_kinds.http_json.upward"


def _a_kind_that_sees_another(tree: pathlib.Path) -> str:
    (tree / "kinds" / "vigil_kinds" / "http_json" / "sideward.py").write_text("import vigil_kinds.kubernetes_rollout\n")
    return "vigil_kinds.http_json.sideward"


def _a_provider_that_knows_a_kind(tree: pathlib.Path) -> str:
    (tree / "kinds" / "vigil_providers" / "github" / "upward.py").write_text("import vigil_kinds.http_json\n")
    return "vigil_providers.github.upward"


def _a_provider_that_sees_more_than_a_kind_may(tree: pathlib.Path) -> str:
    (tree / "kinds" / "vigil_providers" / "github" / "upward.py").write_text("from vigil.adapters import clock\n")
    return "vigil_providers.github.upward"


def _kopf_beside_the_handlers(tree: pathlib.Path) -> str:
    (tree / "operator" / "vigil" / "adapters" / "more.py").write_text("import kopf\n")
    return "vigil.adapters.more"


@pytest.mark.parametrize(
    "break_it",
    [
        _a_module_without_a_layer,
        _an_import_that_points_up,
        _a_kind_that_sees_more_than_its_contract,
        _a_kind_that_sees_another,
        _a_provider_that_knows_a_kind,
        _a_provider_that_sees_more_than_a_kind_may,
        _kopf_beside_the_handlers,
    ],
)
def test_what_breaks_a_contract_is_found(tree: pathlib.Path, break_it: Callable[[pathlib.Path], str]) -> None:
    named = break_it(tree)
    ran = lint(tree)
    assert ran.returncode == 1, ran.stdout
    assert named in ran.stdout


def test_a_copy_of_the_sources_breaks_none(tree: pathlib.Path) -> None:
    assert lint(tree).returncode == 0


def test_operator_is_a_folder_of_sources_and_never_a_package() -> None:
    assert not (places.ROOT / "operator" / "__init__.py").exists()
    told = subprocess.run(
        [sys.executable, "-c", "import operator; print(operator.__file__, operator.itemgetter(0)('ab'))"],
        cwd=places.ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    path, first = told.stdout.split()
    assert pathlib.Path(path).parent == pathlib.Path(os.__file__).parent
    assert first == "a"


def test_vigil_never_names_a_kind() -> None:
    named = [
        f"{path.relative_to(places.ROOT)}: {name}"
        for path in sorted(places.VIGIL.rglob("*"))
        if path.suffix in {".py", ".ini", ".mako", ".yaml", ".json", ".html"}
        for name in registry.load()
        if name in path.read_text()
    ]
    assert named == []


# --- the clock -------------------------------------------------------------------------------------------------------

READS_A_CLOCK = {
    ("time", "time"),
    ("time", "time_ns"),
    ("time", "monotonic"),
    ("time", "monotonic_ns"),
    ("time", "perf_counter"),
    ("time", "localtime"),
    ("time", "gmtime"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("loop", "time"),
}


def _clock_reads(source: str) -> Iterator[int]:
    """The lines that read a clock."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
            if (name, node.attr) in READS_A_CLOCK:
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            yield node.lineno


def test_the_clock_is_read_in_one_file() -> None:
    reading = {
        path.relative_to(places.ROOT).as_posix()
        for path in places.sources(*places.SHIPPED)
        if any(_clock_reads(path.read_text()))
    }
    assert reading == {"operator/vigil/adapters/clock.py"}


@pytest.mark.parametrize(
    "source",
    ["import time\ntime.monotonic()", "datetime.datetime.now(datetime.UTC)", "from time import time", "loop.time()"],
)
def test_a_read_of_the_clock_is_found(source: str) -> None:
    assert list(_clock_reads(source))


# --- what a module looks like ----------------------------------------------------------------------------------------


def test_every_module_says_what_it_is() -> None:
    silent = [
        path.relative_to(places.ROOT).as_posix()
        for path in places.sources(*places.SHIPPED)
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert silent == []


TOO_LONG = 400


def test_no_module_is_longer_than_its_cap() -> None:
    lengths = {
        path.relative_to(places.ROOT).as_posix(): len(path.read_text().splitlines())
        for path in places.sources(*places.SHIPPED)
    }
    assert {name: length for name, length in lengths.items() if length > TOO_LONG} == {}


def test_no_function_is_longer_than_its_cap() -> None:
    long = [
        f"{path.relative_to(places.ROOT)}:{node.lineno} {node.name}"
        for path in places.sources(*places.SHIPPED)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _statements(node) > 40
    ]
    assert long == []


def _statements(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function from its first statement on, without its docstring and its signature."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_what_is_silenced_has_its_reason_on_the_line() -> None:
    bare = [
        f"{path.relative_to(places.ROOT)}:{number}"
        for path in places.sources(places.VIGIL, places.KINDS, places.ROOT / "demo")
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if ("# noqa" in line or "# type: ignore" in line or "# pyright: ignore" in line) and not _has_reason(line)
    ]
    assert bare == []


def _has_reason(line: str) -> bool:
    comment = line[line.index("# ") + 2 :]
    return " - " in comment or "# " in comment
