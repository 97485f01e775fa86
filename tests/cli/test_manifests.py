"""What the commands that take files make of files that are wrong: exit code 2, and a sentence with the place."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.cli import commands
from vigil.kind import registry

URL = "https://api.example.com/state"


def _changed(**changes: Any) -> dict[str, Any]:
    watch = commands.watch(URL)
    watch["spec"] |= changes
    return watch


BAD: list[tuple[str, str, str]] = [
    (
        "a kind that there is not",
        yaml.safe_dump(_changed(kind="ticket")),
        "w.yaml: the Watch team-a/api: spec.kind: there is no kind 'ticket'; kinds are: ",
    ),
    (
        "an objective that the kind has not",
        yaml.safe_dump(_changed(objective="rolled_out")),
        "w.yaml: the Watch team-a/api: spec.objective: the kind 'http_json' has no objective 'rolled_out'; ",
    ),
    (
        "a subject that the kind does not take",
        yaml.safe_dump(_changed(subjects=[{"url": URL}, {"url": "ftp://api.example.com"}])),
        "w.yaml: the Watch team-a/api: spec.subjects[1].url: ",
    ),
    (
        "a subject with a field too many",
        yaml.safe_dump(_changed(subjects=[{"url": URL, "port": 1}])),
        "w.yaml: the Watch team-a/api: spec.subjects[0].port: there is no such field",
    ),
    (
        "an option that does not parse",
        yaml.safe_dump(_changed(options={"rules": [{"name": "red", "when": "body.state =="}]})),
        "w.yaml: the Watch team-a/api: spec.options.rules[0].when: ",
    ),
    (
        "a field that there is not",
        yaml.safe_dump(_changed(cadance={"interval": "10s"})),
        "w.yaml: document 1 (api): spec.cadance: there is no such field; did you mean cadence?",
    ),
    (
        "a duration that is none",
        yaml.safe_dump(_changed(cadence={"interval": "10"})),
        "w.yaml: document 1 (api): spec.cadence.interval: ",
    ),
    ("no YAML", "spec: [", "w.yaml: "),
    ("a tag of Python's", "!!python/object/apply:os.system ['true']", "w.yaml: "),
    ("bytes that are no text", "\udcff", "w.yaml: "),
    ("an empty file", "", "w.yaml: there is no Watch in it"),
    ("a list", "- a", "w.yaml: document 1: a Watch is an object, not a list"),
    (
        "another object of Kubernetes",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: a}",
        "w.yaml: document 1 (a): this is Secret (v1), and only Watches are read: ",
    ),
    (
        "a Watch twice",
        yaml.safe_dump_all([commands.watch(URL)] * 2),
        "metadata.name: w.yaml: the Watch team-a/api stands twice",
    ),
]


@pytest.mark.parametrize("command", ["run", "probe"])
@pytest.mark.parametrize(("text", "told"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_is_wrong_in_a_file_is_told_with_its_place(
    shell: commands.Shell, command: str, text: str, told: str
) -> None:
    (shell.folder / "w.yaml").write_bytes(text.encode(errors="surrogateescape"))
    ran = shell.invoke(command, "-f", "w.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"Error: {told}")
    assert not (shell.folder / ".local").exists()


async def test_the_real_command_ends_in_the_same_words(shell: commands.Shell) -> None:
    ran = await shell.run(shell.write("w.yaml", _changed(kind="ticket")))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "Error: w.yaml: the Watch team-a/api: spec.kind: there is no kind 'ticket'; "
        f"kinds are: {', '.join(registry.load())}\n"
    )


def test_one_watch_in_two_files_is_told(shell: commands.Shell) -> None:
    for name in ("a.yaml", "b.yaml"):
        shell.write(name, commands.watch(URL))
    ran = shell.invoke("probe", "-f", "a.yaml", "-f", "b.yaml")
    assert (ran.code, ran.err) == (2, "Error: the Watch team-a/api stands in more than one file\n")


def _missing(_shell: commands.Shell) -> str:
    return "none.yaml"


def _empty_folder(shell: commands.Shell) -> str:
    (shell.folder / "watches").mkdir()
    (shell.folder / "watches" / "README.md").write_text("no Watch")
    return "watches"


def _folder_named_as_a_file(shell: commands.Shell) -> str:
    (shell.folder / "watches" / "a.yaml").mkdir(parents=True)
    return "watches"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (_missing, "none.yaml: No such file or directory"),
        (_empty_folder, "watches: there is no .yaml, .yml or .json file in this folder"),
        (_folder_named_as_a_file, "watches/a.yaml: Is a directory"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(
    shell: commands.Shell, made: Callable[[commands.Shell], str], told: str
) -> None:
    ran = shell.invoke("probe", "-f", made(shell))
    assert (ran.code, ran.err) == (2, f"Error: {told}\n")


def test_a_command_without_a_file_says_which_option_is_missing(shell: commands.Shell) -> None:
    ran = shell.invoke("run")
    assert ran.code == 2
    assert "Missing option '-f' / '--filename'" in ran.err


def test_options_of_a_run_that_exclude_each_other_are_bad_input(shell: commands.Shell) -> None:
    ran = shell.invoke("run", "-f", shell.write("w.yaml", commands.watch(URL)), "--once", "--until-done")
    assert (ran.code, ran.err) == (2, "Error: --once and --until-done exclude each other\n")


@pytest.mark.parametrize("seconds", ["0", "-1", "soon"])
def test_a_time_limit_that_is_none_is_bad_input(shell: commands.Shell, seconds: str) -> None:
    ran = shell.invoke("run", "-f", shell.write("w.yaml", commands.watch(URL)), "--timeout", seconds)
    assert ran.code == 2
    assert "Invalid value for '--timeout'" in ran.err


@pytest.mark.parametrize("command", ["run", "probe"])
def test_a_range_that_is_none_is_bad_input(shell: commands.Shell, command: str) -> None:
    name = shell.write("w.yaml", commands.watch(URL))
    ran = shell.invoke(command, "-f", name, "--allow-address", "10.0.0.0/8, 10.0.0.1/8")
    assert (ran.code, ran.err) == (2, "Error: --allow-address: 10.0.0.1/8 has host bits set\n")


async def test_files_folders_and_the_standard_input_are_read_together(
    shell: commands.Shell, service: commands.Service
) -> None:
    (shell.folder / "more").mkdir()
    shell.write("more/b.yml", commands.watch(service.url, "b"))
    (shell.folder / "more" / "c.json").write_text(json.dumps(commands.watch(service.url, "c")))
    listed = {"apiVersion": "v1", "kind": "List", "items": [commands.watch(service.url, "d")]}
    files = ("-f", shell.write("a.yaml", commands.watch(service.url, "a")), "-f", "more", "-f", "-")
    ran = await shell.vigil("probe", *files, *commands.LOOPBACK, "--json", stdin=json.dumps(listed))
    assert ran.code == 0
    assert [one["watch"] for one in ran.objects] == ["team-a/a", "team-a/b", "team-a/c", "team-a/d"]
    assert service.asked == 1
