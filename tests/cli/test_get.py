"""`vigil get`: where Watches stand, in a cluster or in a state folder."""

import json

import pytest
import yaml

from tests.cli import commands
from tests.controlplane import plane

COLUMNS = ["NAMESPACE", "NAME", "KIND", "SUBJECT", "PHASE", "READY", "OPEN", "WAKES", "TURNS", "AGE"]


@pytest.fixture
async def watched(shell: commands.Shell, service: commands.Service) -> commands.Shell:
    """A shell whose state folder has two Watches."""
    service.state = "red"
    other = commands.watch(service.url, "web")
    other["metadata"]["namespace"] = "team-b"
    await shell.run(shell.write("w.yaml", commands.watch(service.url), other), "--once")
    return shell


async def test_a_state_folder_is_shown_as_a_table_and_as_json(
    watched: commands.Shell, service: commands.Service
) -> None:
    folder = str(watched.state_dir)
    ran = watched.invoke("get", "--state-dir", folder)
    header, *rows = [line.split() for line in ran.out.splitlines()]
    label = service.url.removeprefix("http://")
    assert header == COLUMNS
    assert sorted(rows) == [
        ["team-a", "api", "http_json", label, "Watching", "True", "1", "1", "0/8"],
        ["team-b", "web", "http_json", label, "Watching", "True", "1", "1", "0/8"],
    ]
    shown = json.loads(watched.invoke("get", "--state-dir", folder, "--json").out)
    assert sorted(one["metadata"]["name"] for one in shown) == ["api", "web"]
    assert {one["status"]["verdict"]["type"] for one in shown} == {"Wake"}
    for arguments, names in [
        (("api",), ["api"]),
        (("--namespace", "team-b"), ["web"]),
        (("api", "-n", "team-a"), ["api"]),
    ]:
        found = json.loads(watched.invoke("get", *arguments, "--state-dir", folder, "--json").out)
        assert [one["metadata"]["name"] for one in found] == names


async def test_what_there_is_not_is_told(watched: commands.Shell) -> None:
    folder = ("--state-dir", str(watched.state_dir))
    ran = watched.invoke("get", "other", *folder)
    assert (ran.code, ran.out, ran.err) == (1, "", "Error: there is no Watch 'other'\n")
    ran = watched.invoke("get", "api", "-n", "team-b", *folder)
    assert (ran.code, ran.err) == (1, "Error: there is no Watch 'api' in the namespace team-b\n")
    ran = watched.invoke("get", "-n", "team-c", *folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "there are no Watches in the namespace team-c\n")
    ran = watched.invoke("get", "-n", "team-c", "--json", *folder)
    assert (ran.code, ran.out, ran.err) == (0, "[]\n", "")


def test_a_folder_that_is_none_is_bad_input(shell: commands.Shell) -> None:
    ran = shell.invoke("get", "--state-dir", "none")
    assert ran.code == 2
    assert "Directory 'none' does not exist" in ran.err


def test_files_that_are_no_state_are_not_shown(shell: commands.Shell) -> None:
    shell.state_dir.mkdir()
    for number, content in enumerate(
        ["{", "", "[]", '{"version":99}', '{"version":1,"watch":{"uid":"a"},"status":{}}']
    ):
        (shell.state_dir / f"{number}.json").write_text(content)
    ran = shell.invoke("get", "--state-dir", str(shell.state_dir))
    assert (ran.code, ran.out, ran.err) == (0, "", "there are no Watches\n")


def test_a_label_is_no_markup(shell: commands.Shell) -> None:
    shell.state_dir.mkdir()
    names = {"uid": "a", "namespace": "team-a", "name": "api", "kind": "toy"}
    status = {"phase": "Watching", "summary": {"subject": "[red]:bell:[/] \x1b[31m"}, "conditions": []}
    (shell.state_dir / "a.json").write_text(json.dumps({"version": 1, "watch": names, "status": status}))
    ran = shell.invoke("get", "--state-dir", str(shell.state_dir))
    assert "[red]:bell:[/]  [31m" in ran.out


async def test_without_a_cluster_it_is_told_where_one_was_looked_for(shell: commands.Shell) -> None:
    ran = await shell.vigil("get")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: there is no kubeconfig, and this is no pod with a ServiceAccount: ")
    ran = await shell.vigil("get", KUBECONFIG="none")
    assert (ran.code, ran.err) == (1, "Error: there is no kubeconfig none\n")


async def test_a_cluster_that_does_not_answer_is_told_and_the_usual_kubeconfig_is_found(shell: commands.Shell) -> None:
    (shell.folder / ".kube").mkdir()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    (shell.folder / ".kube" / "config").write_text(yaml.safe_dump(config))
    ran = await shell.vigil("get")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: GET ")


@pytest.mark.e2e
async def test_a_cluster_is_shown_with_the_columns_of_kubectl(
    shell: commands.Shell, control_plane: plane.ControlPlane, namespace: str
) -> None:
    commands.create_in(control_plane, namespace)
    ran = await shell.vigil("get", "-n", namespace, "--kubeconfig", str(control_plane.admin_kubeconfig))
    header, row = [line.split() for line in ran.out.splitlines()]
    assert (ran.code, header) == (0, COLUMNS)
    assert row[:3] == [namespace, "api", "http_json"]
    assert row[-1].endswith("s")
    kubectl = control_plane.kubectl("get", "watches", "-A").splitlines()[0].split()
    assert header == kubectl
