"""`vigil kinds`: what is installed, from the registry alone."""

import json

import pytest

from tests.cli import commands
from vigil.kind import registry

KINDS = registry.load()


def test_every_kind_is_listed_with_its_objectives_and_never_folded(shell: commands.Shell) -> None:
    ran = shell.invoke("kinds")
    header, *rows = ran.out.splitlines()
    assert (ran.code, header.split()) == (0, ["KIND", "OBJECTIVES", "WATCHES"])
    assert [row.split()[0] for row in rows] == list(KINDS)
    for row, kind in zip(rows, KINDS.values(), strict=True):
        assert ", ".join(kind.objectives) in row
        assert row.rstrip().endswith(kind.summary)


@pytest.mark.parametrize("name", KINDS)
def test_one_kind_is_shown_with_all_that_can_be_heard_of_it(shell: commands.Shell, name: str) -> None:
    ran = shell.invoke("kinds", name)
    assert ran.code == 0
    kind = KINDS[name]
    for objective, of in kind.objectives.items():
        assert f"  {objective} ({'finite' if of.finite else 'standing'}): {of.summary}\n" in ran.out
    for key in kind.keys:
        (row,) = [line for line in ran.out.splitlines() if line.startswith(f"{key.pattern} ")]
        assert key.meaning in row


def test_as_json_there_is_all_that_a_form_needs(shell: commands.Shell) -> None:
    told = json.loads(shell.invoke("kinds", "--json").out)
    assert set(told) == set(KINDS)
    for name, kind in KINDS.items():
        one = told[name]
        assert one["summary"] == kind.summary
        assert {objective: of["type"] for objective, of in one["objectives"].items()} == {
            objective: "finite" if of.finite else "standing" for objective, of in kind.objectives.items()
        }
        assert [key["key"] for key in one["keys"]] == [key.pattern for key in kind.keys]
        assert one["subject"]["properties"]
        assert json.loads(shell.invoke("kinds", name, "--json").out) == {name: one}


def test_a_kind_that_there_is_not_is_bad_input(shell: commands.Shell) -> None:
    ran = shell.invoke("kinds", "ticket")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"Error: there is no kind 'ticket'; kinds are: {', '.join(KINDS)}\n"


async def test_a_kind_that_cannot_be_loaded_ends_every_command_with_its_name(shell: commands.Shell) -> None:
    broken = shell.folder / "broken-1.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (broken / "entry_points.txt").write_text("[vigil.kinds]\nticket = nowhere:KIND\n")
    ran = await shell.vigil("kinds", PYTHONPATH=str(shell.folder))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "Error: the kind 'ticket' (nowhere:KIND) cannot be loaded: No module named 'nowhere'\n"
