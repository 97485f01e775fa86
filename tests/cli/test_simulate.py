"""`vigil simulate` as a command: what it prints, and how it refuses."""

import pathlib

import pytest

from tests.cli import commands

SCENARIO = """
spec: {policy: {coalesce: {window: 4m}}}
steps:
  - {at: 0s, revision: r1, pending: 1, observations: [{key: "red:ci/build", severity: Wake, resetsOn: Revision}]}
  - {at: 5m, revision: r1, observations: [{key: "red:ci/build", severity: Wake, resetsOn: Revision}]}
"""


@pytest.fixture
def shell(tmp_path: pathlib.Path) -> commands.Shell:
    """A folder with a scenario."""
    (tmp_path / "s.yaml").write_text(SCENARIO)
    return commands.Shell(tmp_path)


async def test_it_prints_a_table_and_one_object_a_step_as_a_process(shell: commands.Shell) -> None:
    told = await shell.vigil("simulate", "s.yaml")
    assert told.code == 0
    lines = [line.split() for line in told.out.splitlines()]
    assert lines[0] == ["AT", "READ", "VERDICT", "TURNS", "TOKENS", "ERRORS", "PHASE"]
    assert [line[0] for line in lines[1:]] == ["0s", "5m"]
    assert "Wake converged: red:ci/build" in told.out
    told = await shell.vigil("simulate", "s.yaml", "--json")
    assert [one["verdict"]["reason"] for one in told.objects] == ["coalescing", "converged"]


def test_it_reads_standard_input(shell: commands.Shell) -> None:
    assert len(shell.invoke("simulate", "-", "--json", stdin=SCENARIO).objects) == 2


def test_the_table_says_what_happens_in_each_step(shell: commands.Shell) -> None:
    text = """
steps:
  - {at: 0s, silenceUntil: 1h, subjects: {a: {revision: r1, complete: false}, b: {error: {category: tls}}}}
  - {at: -1m}
  - {at: 2m, delivery: {state: Lost, dispositions: [{key: red, disposition: open}]}, answer: {question: q, text: a}}
"""
    told = shell.invoke("simulate", "-", stdin=text)
    assert "silence until 1h; a: nothing open, at r1, incomplete; b: tls" in told.out
    assert "the same again" in told.out
    assert "wake Lost, but none is in flight; answer to q" in told.out
    assert told.out.splitlines()[2].startswith("-1m")


def test_the_table_says_what_an_agent_said(shell: commands.Shell) -> None:
    said = "{key: red, disposition: parked, question: q1}, {key: e2e, disposition: dispatched}"
    text = f"""
spec: {{policy: {{coalesce: {{window: 0s}}}}}}
steps:
  - {{at: 0s, observations: [{{key: red, severity: Wake, resetsOn: Never}}]}}
  - {{at: 1m, delivery: {{state: Completed, tokens: 7, dispositions: [{said}]}}}}
"""
    told = shell.invoke("simulate", "-", stdin=text)
    assert told.out.splitlines()[2].startswith("1m")
    assert "wake Completed (red parked, e2e dispatched)" in told.out
    assert told.out.splitlines()[2].split()[-4:] == ["1", "7", "0", "Watching"]


def test_what_a_scenario_says_does_not_reach_the_terminal_as_a_command(shell: commands.Shell) -> None:
    text = r"""{"steps": [{"at": "0s", "revision": "\u001b]0;owned\u0007"}]}"""
    told = shell.invoke("simulate", "-", stdin=text)
    assert "owned" in told.out
    assert not {"\x1b", "\x07"} & set(told.out)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("none.yaml", None, "none.yaml: No such file or directory"),
        ("s.yaml", "steps: [{at: 0s, pendin: 1}]", "s.yaml: steps[0].pendin: there is no such field"),
        ("s.yaml", "\x00", "s.yaml: "),
    ],
)
def test_what_is_wrong_is_told_on_standard_error_and_ends_with_2(
    shell: commands.Shell, name: str, text: str | None, sentence: str
) -> None:
    if text is not None:
        (shell.folder / name).write_text(text)
    told = shell.invoke("simulate", name)
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"Error: {sentence}")


def test_its_help_shows_a_scenario(shell: commands.Shell) -> None:
    told = shell.invoke("simulate", "--help")
    assert "steps:" in told.out
    assert "delivery: {state: Completed, tokens: 1200}" in told.out
