"""The fixtures are what a reader gives of their worlds."""

from tests.kinds import fixtures
from tests.kinds.github_pull_request import fixtures as ours


async def test_every_fixture_is_what_a_reader_gives() -> None:
    assert fixtures.written(ours.FOLDER) == fixtures.rendered(await ours.payloads())
