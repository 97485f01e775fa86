"""Walks the registry: a test with `package` runs for every kind, one with `case` for every golden row of every kind."""

import pytest

from tests.kinds import golden


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--kind NAME`, for the author of one kind."""
    parser.addoption("--kind", action="append", default=None, help="run the conformance suite for this kind only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Fill in `package` and `case`."""
    wanted = {"package", "case"} & set(metafunc.fixturenames)
    if not wanted:
        return
    # The option exists only where this folder was named on the command line.
    found = golden.packages(metafunc.config.getoption("--kind", default=None))
    if "package" in wanted:
        metafunc.parametrize("package", found, ids=[package.kind.name for package in found])
    if "case" in wanted:
        cases = [(package, row) for package in found for row in package.rows]
        metafunc.parametrize("case", cases, ids=[f"{package.kind.name}: {row.claim}" for package, row in cases])
