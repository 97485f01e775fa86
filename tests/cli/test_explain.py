"""`vigil explain`: why a Watch is quiet, of a cluster, a state folder or a scenario."""

import json

import pytest

from tests.cli import commands
from tests.controlplane import plane

SCENARIO = """
spec: {budgets: {turns: null}}
steps:
  - {at: 0s, revision: r1, pending: 1, observations: [&red {key: "red:unit", severity: Wake, resetsOn: Revision}]}
  - {at: 1m, pending: 1, observations: [*red]}
  - {at: 2m, error: {category: timeout}}
"""


@pytest.fixture
async def watched(shell: commands.Shell, service: commands.Service) -> commands.Shell:
    """A shell whose state folder has a Watch that waits in its window."""
    service.state = "red"
    watch = commands.watch(service.url, policy={"coalesce": {"window": "1h", "max": "2h"}})
    await shell.run(shell.write("w.yaml", watch), "--once")
    return shell


async def test_a_watch_of_a_state_folder_is_explained_by_its_own_policy(watched: commands.Shell) -> None:
    ran = watched.invoke("explain", "api", "-n", "team-a", "--state-dir", str(watched.state_dir))
    head, *facts = ran.out.splitlines()
    assert (ran.code, head) == (0, "team-a/api  Watching  Quiet coalescing")
    assert any(line.strip().startswith("0 of 8 turns and 0 of 250000 tokens are spent") for line in facts)
    row = facts[-1].split()
    assert row[:2] == ["matched:red", "coalescing"]
    assert "(in 59m" in facts[-1] or "(in 1h" in facts[-1]
    ran = watched.invoke("explain", "api", "-n", "team-a", "--state-dir", str(watched.state_dir), "--json")
    told = json.loads(ran.out)
    assert (told["name"], told["phase"], told["verdict"]) == ("team-a/api", "Watching", "Quiet coalescing")
    (entry,) = told["entries"]
    assert (entry["key"], entry["because"]) == ("matched:red", "coalescing")
    assert entry["since"] < entry["until"]


async def test_what_there_is_not_is_told(watched: commands.Shell) -> None:
    ran = watched.invoke("explain", "other", "--state-dir", str(watched.state_dir))
    assert (ran.code, ran.err) == (1, "Error: there is no Watch 'other' in the namespace default\n")


def test_a_step_of_a_scenario_is_explained(shell: commands.Shell) -> None:
    (shell.folder / "s.yaml").write_text(SCENARIO)
    ran = shell.invoke("explain", "--scenario", "s.yaml", "--at", "2")
    lines = ran.out.splitlines()
    assert (ran.code, lines[0]) == (0, "step 2 of s.yaml  Watching  Quiet coalescing")
    assert lines[-1].split() == [
        *["red:unit", "coalescing", "waits", "in", "the", "window", "for", "what", "is", "pending"],
        *["0s", "(1m", "ago)", "30m", "(in", "29m)"],
    ]
    ran = shell.invoke("explain", "--scenario", "s.yaml", "--json")
    told = json.loads(ran.out)
    assert told["verdict"] == "Quiet unreadable"
    assert [(one["because"], one["since"]) for one in told["entries"]] == [("unreadable", 0)]
    assert "subject: 1 of 50 reads in a row failed" in [fact["text"] for fact in told["facts"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "name a Watch, or give --scenario FILE"),
        (("api", "--scenario", "s.yaml"), "name a Watch, or give --scenario FILE"),
        (("--scenario", "none.yaml"), "none.yaml: No such file or directory"),
        (("--scenario", "s.yaml", "--at", "9"), "the scenario has 3 steps"),
    ],
)
def test_bad_input_is_told_and_ends_with_2(shell: commands.Shell, arguments: tuple[str, ...], sentence: str) -> None:
    (shell.folder / "s.yaml").write_text(SCENARIO)
    ran = shell.invoke("explain", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {sentence}\n")


async def test_a_state_that_cannot_be_read_is_told(watched: commands.Shell) -> None:
    (path,) = watched.state_dir.glob("*.json")
    body = json.loads(path.read_text())
    body["status"]["engine"]["document"] = '{"version":99}'
    path.write_text(json.dumps(body))
    ran = watched.invoke("explain", "api", "-n", "team-a", "--state-dir", str(watched.state_dir))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("Error: team-a/api: StateVersionUnknown: the document has version 99")


@pytest.mark.e2e
async def test_a_watch_of_a_cluster_that_nobody_has_evaluated_yet(
    shell: commands.Shell, control_plane: plane.ControlPlane, namespace: str
) -> None:
    commands.create_in(control_plane, namespace)
    ran = await shell.vigil("explain", "api", "-n", namespace, "--kubeconfig", str(control_plane.admin_kubeconfig))
    assert (ran.code, ran.err) == (1, f"Error: {namespace}/api was not evaluated yet\n")
