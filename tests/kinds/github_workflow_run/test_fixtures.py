"""The fixtures are what a reader gives of their worlds."""

from tests.kinds.github_workflow_run import fixtures


async def test_every_fixture_is_what_a_reader_gives() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in fixtures.FOLDER.glob("*.json")}
    assert written == {name: fixtures.rendered(payload) for name, payload in (await fixtures.payloads()).items()}
