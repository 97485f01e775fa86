"""The command line itself: every command has help, and none is paid for that is not used."""

import pathlib
import re
import sys

import click
import pytest

from tests.cli import commands
from vigil import __main__, cli

HEAVY = {
    "aiohttp",
    "alembic",
    "fastapi",
    "kopf",
    "kubernetes",
    "pydantic",
    "prometheus_client",
    "rich",
    "sqlalchemy",
    "structlog",
    "uvicorn",
    "yaml",
}


def _command(name: str) -> click.Command:
    found = __main__.main.get_command(click.Context(__main__.main), name)
    assert found is not None
    return found


async def _imported(shell: commands.Shell, *arguments: str) -> set[str]:
    """The packages that a command imports."""
    process = await shell.start(*arguments, PYTHONPROFILEIMPORTTIME="1")
    ran = await commands.ended(process)
    assert ran.code == 0
    lines = [line.rpartition("|")[2].strip() for line in ran.err.splitlines() if line.startswith("import time:")]
    assert "click" in lines
    return {line.partition(".")[0] for line in lines}


async def test_help_imports_no_heavy_library(shell: commands.Shell) -> None:
    assert not HEAVY & await _imported(shell, "--help")


async def test_a_state_folder_is_shown_without_the_libraries_of_servers_and_clusters(shell: commands.Shell) -> None:
    shell.state_dir.mkdir()
    loaded = await _imported(shell, "get", "--state-dir", "state")
    assert not {"kopf", "kubernetes", "fastapi", "sqlalchemy", "alembic", "uvicorn"} & loaded


async def test_a_run_without_a_cluster_imports_no_library_of_one(
    shell: commands.Shell, service: commands.Service
) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    loaded = await _imported(shell, "run", "-f", name, "--once", "--state-dir", "state", *commands.LOOPBACK)
    assert not {"kopf", "kubernetes"} & loaded


def test_every_command_is_in_the_help_and_nothing_else_is(shell: commands.Shell) -> None:
    told = shell.invoke("--help").out.partition("Commands:\n")[2]
    assert [line.split()[0] for line in told.splitlines()] == list(__main__.COMMANDS)


@pytest.mark.parametrize("name", __main__.COMMANDS)
def test_every_command_has_help_of_the_same_words(shell: commands.Shell, name: str) -> None:
    for flag in ("--help", "-h"):
        ran = shell.invoke(name, flag)
        assert ran.code == 0
        assert ran.out.startswith(f"Usage: vigil {name} ")
    command = _command(name)
    assert command.name == name
    assert command.short_help == __main__.COMMANDS[name]


@pytest.mark.parametrize("name", __main__.COMMANDS)
def test_every_option_says_what_it_does(name: str) -> None:
    options = [one for one in _command(name).params if isinstance(one, click.Option)]
    assert [one.name for one in options if not one.help] == []


def test_every_module_with_a_command_is_one() -> None:
    """A command that is written and not registered could never be called."""
    (folder,) = cli.__path__
    having = {
        path.stem
        for path in pathlib.Path(folder).glob("*.py")
        if re.search(r"^@click\.command\(", path.read_text(), re.MULTILINE)
    }
    assert having == set(__main__.COMMANDS)


def test_a_command_that_there_is_not_is_bad_input(shell: commands.Shell) -> None:
    ran = shell.invoke("explode")
    assert ran.code == 2
    assert "No such command 'explode'" in ran.err


def test_the_version_is_told(shell: commands.Shell) -> None:
    assert re.fullmatch(r"vigil, version \d+\.\d+\.\d+\n", shell.invoke("--version").out)


def test_on_the_path_it_is_a_plug_in_of_kubectl_too() -> None:
    scripts = pathlib.Path(sys.executable).parent
    assert (scripts / "vigil").read_text() == (scripts / "kubectl-vigil").read_text()
