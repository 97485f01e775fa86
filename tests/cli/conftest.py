"""What the tests of the commands share."""

import pathlib
from collections.abc import AsyncIterator

import pytest

from tests.cli import commands


@pytest.fixture
async def service() -> AsyncIterator[commands.Service]:
    """A local service."""
    async with commands.Service().serving() as serving:
        yield serving


@pytest.fixture
def shell(tmp_path: pathlib.Path) -> commands.Shell:
    """A folder in which commands run."""
    return commands.Shell(tmp_path)
