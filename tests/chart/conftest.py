"""Skip what needs helm or promtool where there is none; fail instead when VIGIL_REQUIRE_E2E is 1."""

import os
import pathlib

import pytest

from tests.chart import charts, promtool


def _absent(error: Exception) -> None:
    if os.environ.get("VIGIL_REQUIRE_E2E") == "1":
        pytest.fail(str(error), pytrace=False)
    pytest.skip(str(error))


@pytest.fixture(scope="session")
def needs_helm() -> None:
    """Tests that render the chart."""
    try:
        charts.helm()
    except charts.NoHelmError as error:
        _absent(error)


@pytest.fixture(scope="session")
def promtool_file() -> pathlib.Path:
    """The file of promtool."""
    try:
        return promtool.ensure()
    except promtool.PromtoolError as error:
        _absent(error)
        raise
