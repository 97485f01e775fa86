"""`vigil run`: real processes over a real local service."""

import asyncio
import json
import re
import signal
import sqlite3
import stat

import pytest

from tests.cli import commands
from vigil.adapters import session, wire
from vigil.api import turn
from vigil.api import wake as api_wake
from vigil.cli import address
from vigil.model import wakes as model_wakes


async def test_one_round_reads_decides_and_ends(shell: commands.Shell, service: commands.Service) -> None:
    ran = await shell.run(shell.write("w.yaml", commands.watch(service.url)), "--once", "--json")
    assert (ran.code, ran.err, service.asked) == (0, "", 1)
    (told,) = ran.objects
    assert told == {
        "at": told["at"],
        "watch": "team-a/api",
        "verdict": {"type": "Quiet", "reason": "pending", "keys": []},
        "phase": "Watching",
        "spent": {"turns": 0, "tokens": 0},
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", told["at"])


@pytest.mark.parametrize(
    ("state", "code", "reason"), [("succeeded", 0, "succeeded"), ("broken", 3, "failed")], ids=["succeeded", "failed"]
)
async def test_the_end_of_a_subject_is_the_exit_code(
    shell: commands.Shell, service: commands.Service, state: str, code: int, reason: str
) -> None:
    service.state = state
    ran = await shell.run(shell.write("w.yaml", commands.watch(service.url)), "--until-done", "--json")
    assert (ran.code, ran.verdicts) == (code, [("Terminal", reason)])


async def test_the_worst_of_several_watches_is_the_exit_code(shell: commands.Shell, service: commands.Service) -> None:
    service.state = "succeeded"
    async with commands.Service().serving() as other:
        other.state = "broken"
        name = shell.write("w.yaml", commands.watch(service.url), commands.watch(other.url, "web"))
        ran = await shell.run(name, "--until-done", "--json")
    assert ran.code == 3
    assert sorted(one["watch"] for one in ran.objects) == ["team-a/api", "team-a/web"]


async def test_a_spent_budget_is_exit_code_4_and_says_how_to_go_on(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.status = 500
    name = shell.write("w.yaml", commands.watch(service.url, budgets={"providerErrors": 1}))
    ran = await shell.run(name, "--until-done")
    assert ran.code == 4
    assert "  team-a/api  STOP, provider-errors\n" in ran.out
    command = f"vigil run -f w.yaml --state-dir {shell.state_dir} --allow-address 127.0.0.0/8 --until-done"
    told = f"to go on, raise spec.budgets.providerErrors in its manifest, then run again: {command}\n"
    assert told in ran.out
    assert "  team-a/api  its notice is recorded only: the Watch has no spec.deliver\n" in ran.out


async def test_a_stopped_watch_goes_on_once_its_budget_is_raised(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.status = 500
    stopped = shell.write("w.yaml", commands.watch(service.url, budgets={"providerErrors": 1}))
    assert (await shell.run(stopped, "--until-done")).code == 4
    service.status, service.state = 200, "succeeded"
    again = await shell.run(stopped, "--until-done")
    assert again.code == 4
    assert "team-a/api: has ended already, Exhausted; to go on, raise spec.budgets.providerErrors" in again.err
    raised = shell.write("w.yaml", commands.watch(service.url, budgets={"providerErrors": 2}))
    assert (await shell.run(raised, "--until-done")).code == 0


async def test_a_run_that_is_not_done_in_time_is_exit_code_124(
    shell: commands.Shell, service: commands.Service
) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    ran = await shell.run(name, "--until-done", "--timeout", "2", "--json")
    assert (ran.code, ran.verdicts) == (124, [("Quiet", "pending")])


# --- memory ----------------------------------------------------------------------------------------------------------


async def test_what_was_told_is_not_told_again_after_a_restart(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    name = shell.write("w.yaml", commands.watch(service.url))
    assert (await shell.run(name, "--once", "--json")).verdicts == [("Wake", "undelayed")]
    assert (await shell.run(name, "--once", "--json")).verdicts == [("Quiet", "handled")]
    shown = json.loads((await shell.vigil("get", "--state-dir", str(shell.state_dir), "--json")).out)
    assert [one["status"]["summary"]["wakes"] for one in shown] == [1]


async def test_a_wake_without_a_recipient_waits_and_is_the_same_one_after_a_restart(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    name = shell.write("w.yaml", commands.watch(service.url, deliver={"session": "supervisor"}))
    first = await shell.run(name, "--once")
    assert "  team-a/api  WAKE, undelayed: matched:red  (1 open)\n          matched:red  it is red\n" in first.out
    assert "  team-a/api  its wake waits: NoRecipient (session supervisor)\n" in first.out
    before = wakes(shell)
    second = await shell.run(name, "--once", "--json")
    assert second.verdicts == [("Quiet", "in-flight")]
    assert wakes(shell) == before
    assert len(before) == 1


async def test_a_turn_that_a_session_completed_is_not_taken_again_after_a_restart(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    name = shell.write("w.yaml", commands.watch(service.url, deliver={"session": "supervisor"}))
    async with shell.running(name) as process:
        assert await _take_a_turn(shell) == "undelayed"
        assert process.stdout is not None
        told = ""
        while "delivered" not in told:
            told = (await asyncio.wait_for(process.stdout.readline(), commands.SECONDS)).decode()
        process.send_signal(signal.SIGTERM)
        await commands.ended(process)
    assert told.endswith("  team-a/api  its wake was delivered to session supervisor, 1 turn so far\n")
    (object_,) = (await shell.run(name, "--once", "--json")).objects
    assert object_["verdict"] == {"type": "Quiet", "reason": "handled", "keys": []}
    assert object_["spent"] == {"turns": 1, "tokens": 90}
    assert list(wakes(shell).values()) == ["Delivered"]


async def _take_a_turn(shell: commands.Shell) -> str:
    """Attach as a session, and complete the next turn; gives its reason."""
    url, token = address.find(shell.state_dir)
    async with wire.Wire(url, lambda: token) as connection:
        client = session.SessionClient(connection, "team-a", "supervisor")
        await client.attach(60, turn.Activity.IDLE)
        taken = await client.next(30, "request-1")
        assert taken is not None
        said = api_wake.DispositionOf(key="matched:red", disposition=model_wakes.Disposition.DISPATCHED)
        await client.complete(taken, turn.Report(tokens=90, dispositions=(said,)))
        return taken.main.reason


async def test_a_watch_that_has_ended_is_not_read_again_and_says_so(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "succeeded"
    name = shell.write("w.yaml", commands.watch(service.url))
    await shell.run(name, "--until-done")
    asked = service.asked
    again = await shell.run(name, "--until-done", "--json")
    assert (again.code, again.out, service.asked) == (0, "", asked)
    assert again.err.startswith(
        "team-a/api: has ended already, Succeeded; it is watched again once its subjects, objective or options change: "
    )


async def test_a_watch_that_is_in_no_file_any_more_is_archived_and_its_wake_taken_back(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    deliver = {"session": "supervisor"}
    both = shell.write("w.yaml", commands.watch(service.url, deliver=deliver), commands.watch(service.url, "web"))
    await shell.run(both, "--once")
    ran = await shell.run(shell.write("w.yaml", commands.watch(service.url, "web")), "--once", "--json")
    assert ran.err == "archived the state of team-a/api, which is in no file any more\n"
    assert [one["watch"] for one in ran.objects] == ["team-a/web"]
    assert len(list((shell.state_dir / "archive").glob("*.json"))) == 1
    assert set(wakes(shell).values()) == {"Withdrawn", "Recorded"}


async def test_a_state_of_another_version_is_held_and_ends_as_stalled(
    shell: commands.Shell, service: commands.Service
) -> None:
    name = shell.write("w.yaml", commands.watch(service.url), commands.watch(service.url, "web"))
    await shell.run(name, "--once")
    (path,) = [one for one in shell.state_dir.glob("*.json") if json.loads(one.read_text())["watch"]["name"] == "api"]
    path.write_text('{"version":99}')
    service.state = "succeeded"
    ran = await shell.run(name, "--until-done")
    assert ran.code == 4
    assert ran.err == ("team-a/api: its state is of another version of Vigil: it is held, and nothing overwritten\n")
    assert "  team-a/web  END, succeeded: matched:done" in ran.out
    assert path.read_text() == '{"version":99}'


async def test_a_state_that_is_cut_begins_anew_and_tells_once_more(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    name = shell.write("w.yaml", commands.watch(service.url))
    await shell.run(name, "--once")
    (path,) = shell.state_dir.glob("*.json")
    path.write_text(path.read_text()[:100])
    ran = await shell.run(name, "--once", "--json")
    assert ran.verdicts == [("Wake", "undelayed")]
    assert ran.err == "team-a/api: its state could not be read; it was set aside, and a fresh one begins\n"
    assert len(list((shell.state_dir / "archive").iterdir())) == 1


async def test_all_that_a_run_leaves_is_for_its_owner_only(shell: commands.Shell, service: commands.Service) -> None:
    service.state = "red"
    await shell.run(shell.write("w.yaml", commands.watch(service.url, deliver={"session": "a"})), "--once")
    left = [one for one in shell.state_dir.rglob("*") if one.is_file()]
    assert {".json", ".db", ".txt"} <= {one.suffix for one in left}
    open_to_others = [one for one in left if stat.S_IMODE(one.stat().st_mode) & 0o077]
    folders_open_to_others = stat.S_IMODE(shell.state_dir.stat().st_mode) & 0o077
    assert not open_to_others or not folders_open_to_others


# --- one process -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_cleanly(
    shell: commands.Shell, service: commands.Service, number: signal.Signals
) -> None:
    async with shell.running(shell.write("w.yaml", commands.watch(service.url)), "--json") as process:
        process.send_signal(number)
        ran = await commands.ended(process)
    assert (ran.code, ran.err) == (0, "")


async def test_a_signal_ends_it_although_a_provider_does_not_answer(
    shell: commands.Shell, service: commands.Service
) -> None:
    hanging, asked = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await hanging.wait()
        writer.close()

    async with await asyncio.start_server(hang, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        name = shell.write("w.yaml", commands.watch(url))
        process = await shell.start("run", "-f", name, "--state-dir", "state", *commands.LOOPBACK, "--once")
        await asyncio.wait_for(asked.wait(), commands.SECONDS)
        process.send_signal(signal.SIGTERM)
        ran = await asyncio.wait_for(commands.ended(process), 15)
        hanging.set()
    assert (ran.code, ran.out) == (0, "")


async def test_a_second_run_over_the_same_state_is_refused(shell: commands.Shell, service: commands.Service) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    async with shell.running(name, "--json"):
        ran = await shell.run(name, "--once")
    assert ran.code == 1
    assert ran.err == f"Error: the state folder {shell.state_dir} is in use by another vigil run\n"


async def test_it_says_where_sessions_attach_only_where_there_is_something_for_them(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "succeeded"
    alone = await shell.run(shell.write("w.yaml", commands.watch(service.url)), "--until-done")
    assert "attach" not in alone.out
    name = shell.write("w.yaml", commands.watch(service.url, "web", deliver={"session": "supervisor"}))
    told = await shell.run(name, "--until-done", "--timeout", "1", "--listen", "127.0.0.1:0")
    assert re.match(
        rf"sessions attach at http://127\.0\.0\.1:\d+: vigil attach SESSION --state-dir {shell.state_dir} -- COMMAND\n",
        told.out,
    )


async def test_a_state_that_cannot_be_stored_is_told_and_nothing_is_delivered(
    shell: commands.Shell, service: commands.Service
) -> None:
    service.state = "red"
    name = shell.write("w.yaml", commands.watch(service.url, deliver={"session": "supervisor"}))
    await shell.run(name, "--once")
    (path,) = shell.state_dir.glob("*.json")
    path.unlink()
    path.with_name(f".{path.name}.tmp").mkdir()  # even root cannot write a file there
    (shell.state_dir / "sidecar" / "sidecar.db").unlink()
    ran = await shell.run(name, "--once")
    assert ran.code == 1
    assert "the state of team-a/api cannot be stored, and nothing is delivered: " in ran.err
    assert ran.err.count("cannot be stored") == 1
    assert wakes(shell) == {}


# --- what is wrong is one sentence -----------------------------------------------------------------------------------


async def test_an_address_that_is_taken_is_told(shell: commands.Shell, service: commands.Service) -> None:
    taken = service.url.removeprefix("http://").removesuffix("/state")
    ran = await shell.run(shell.write("w.yaml", commands.watch(service.url)), "--once", "--listen", taken)
    assert ran.code == 1
    assert ran.err.startswith("Error: ")
    assert taken.rpartition(":")[2] in ran.err


async def test_a_state_folder_that_cannot_be_used_is_told(shell: commands.Shell, service: commands.Service) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    below = f"{shell.folder}/w.yaml/state"
    ran = await shell.vigil("run", "-f", name, "--once", "--state-dir", below)
    assert (ran.code, ran.err) == (1, f"Error: the state folder {below} cannot be used: Not a directory\n")


async def test_a_sidecar_folder_that_cannot_be_used_is_told(shell: commands.Shell, service: commands.Service) -> None:
    shell.state_dir.mkdir()
    (shell.state_dir / "sidecar").write_text("")
    ran = await shell.run(shell.write("w.yaml", commands.watch(service.url)), "--once")
    assert ran.code == 1
    assert ran.err.startswith("Error: ")


async def test_a_kind_of_a_cluster_without_one_is_a_condition_of_its_watch(shell: commands.Shell) -> None:
    inside = commands.watch("", kind="kubernetes_rollout", objective="rolled_out", options={})
    inside["spec"]["subjects"] = [{"workload": "Deployment", "name": "api"}]
    name = shell.write("w.yaml", inside)
    ran = await shell.run(name, "--once")
    assert ran.code == 0
    assert "could not be read: config: the kind kubernetes_rollout reads a cluster, and there is none" in ran.out
    ran = await shell.run(name, "--once", "--kubeconfig", "none")
    assert (ran.code, ran.err) == (1, "Error: there is no kubeconfig none\n")


def wakes(shell: commands.Shell) -> dict[str, str]:
    """The wakes of the sidecar's database with their states."""
    with sqlite3.connect(shell.state_dir / "sidecar" / "sidecar.db") as database:
        return dict(database.execute("SELECT id, state FROM wakes").fetchall())
