"""Kinds are found as data: the built-in ones, those of other distributions, and those that cannot be loaded."""

import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.kinds import distribution
from vigil.kind import registry

REPOSITORY = pathlib.Path(__file__).parents[2]


@pytest.fixture
def site(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    """A folder of installed distributions, forgotten afterwards with all that was imported from it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def test_the_built_in_kinds_are_registered_like_any_others() -> None:
    assert {"http_json", "kubernetes_rollout"} <= set(registry.load())


def test_only_enabled_kinds_are_loaded(site: pathlib.Path) -> None:
    distribution.declare(site, "acme_broken", "acme_broken:KIND")
    distribution.write_module(site, "acme_broken", "raise RuntimeError('imported all the same')")
    assert list(registry.load({"kubernetes_rollout"})) == ["kubernetes_rollout"]


def test_a_kind_of_another_distribution_is_loaded_by_its_entry_point(site: pathlib.Path) -> None:
    distribution.write_kind(site)
    kind = registry.load({distribution.NAME})[distribution.NAME]
    assert kind.summary == "A gauge that has to reach its mark."


def test_a_kind_of_another_distribution_passes_the_same_conformance_suite(site: pathlib.Path) -> None:
    distribution.write_kind(site)
    distribution.generate(site, registry.load({distribution.NAME})[distribution.NAME])
    run = _conformance(site)
    assert run.returncode == 0, run.stdout
    assert re.search(r"^\d\d passed", run.stdout, re.MULTILINE), run.stdout


def test_the_conformance_suite_fails_a_kind_whose_entries_are_not_its_golden_ones(site: pathlib.Path) -> None:
    distribution.write_kind(site)
    distribution.generate(site, registry.load({distribution.NAME})[distribution.NAME])
    observe = site / distribution.NAME / "observe.py"
    observe.write_text(observe.read_text().replace("value >= mark", "value > mark"))
    run = _conformance(site, "-k", "a_row_says_exactly_what_is_seen")
    assert run.returncode == 1
    assert "A gauge at its mark has reached it." in run.stdout


def _conformance(site: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    suite = "tests/kinds/test_conformance.py"
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            suite,
            "--kind",
            distribution.NAME,
            *arguments,
        ],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("raise RuntimeError('no such gauge')", "no such gauge"),
        ("import acme_is_not_installed", "acme_is_not_installed"),
        ("KINDS = ()", "KIND"),
        ("KIND = 'a text'", "is not a Kind of that name"),
        ("from vigil_kinds.kubernetes_rollout import KIND", "is not a Kind of that name"),
    ],
)
def test_an_enabled_kind_that_cannot_be_loaded_is_named_with_the_reason(
    site: pathlib.Path, text: str, why: str
) -> None:
    distribution.declare(site, "acme_broken", "acme_broken:KIND")
    distribution.write_module(site, "acme_broken", text)
    with pytest.raises(registry.KindLoadError, match=f"'acme_broken'.*{why}"):
        registry.load({"acme_broken"})


def test_an_enabled_kind_that_is_not_installed_is_named_with_those_that_are() -> None:
    with pytest.raises(
        registry.KindLoadError, match=r"'acme_absent' is enabled and not installed; .*kubernetes_rollout"
    ):
        registry.load({"acme_absent"})


def test_a_kind_that_two_distributions_declare_differently_is_refused(site: pathlib.Path) -> None:
    distribution.declare(site, "kubernetes_rollout", "acme_rollout:KIND")
    with pytest.raises(registry.KindLoadError, match="'kubernetes_rollout' is declared twice"):
        registry.load({"http_json"})
