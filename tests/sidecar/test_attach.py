"""`vigil attach`: a command takes turns, and what it says becomes of them."""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator

import pytest

from tests.sidecar import processes, servers, support
from vigil.adapters import session
from vigil.api import turn
from vigil.cli import attached, turnrun
from vigil.model import ids, wakes
from vigil.sidecar import turns

NO_PAUSE = turns.Rules(pause=0)
SHOW = """
import json, os, sys
told = {name: value for name, value in os.environ.items() if name.startswith("VIGIL_")}
told["evidence"] = open(told["VIGIL_EVIDENCE"]).read()
told["envelope"] = sys.stdin.read()
json.dump(told, open(sys.argv[1], "w"))
print("working")
print(json.dumps({"tokens": 42, "dispositions": [{"key": "red:ci/unit", "disposition": "dispatched"}]}))
"""


@pytest.fixture
async def running(tmp_path: pathlib.Path) -> AsyncGenerator[servers.Running]:
    (tmp_path / "token").write_text(servers.TOKEN)
    async with servers.running(tmp_path, rules=NO_PAUSE) as made:
        yield made


@contextlib.asynccontextmanager
async def attach(
    running: servers.Running, options: tuple[str, ...], *command: str
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Run `vigil attach supervisor` with the sidecar's address and token."""
    where = ("--url", running.url, "--token-file", str(running.folder / "token"), "-n", "team-a")
    process = await processes.vigil("attach", *where, *options, "supervisor", "--", *command)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str, str]:
    """The exit code and what was printed."""
    output, errors = await process.communicate()
    return process.returncode, output.decode(), errors.decode()


async def states(running: servers.Running) -> list[wakes.WakeState]:
    return [each.state for each in (await running.operator.outcomes(0, 0)).events]


async def test_a_turn_is_one_run_with_the_envelope_and_its_report_counts(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    told_to = running.folder / "told.json"
    async with attach(running, ("--once",), sys.executable, "-c", SHOW, str(told_to)) as process:
        code, output, errors = await ended(process)
    assert (code, errors) == (0, "")
    assert output.startswith("working\n")
    told = json.loads(told_to.read_text())
    assert (told["VIGIL_WAKE_ID"], told["VIGIL_WATCH"]) == ("w1", "team-a/api-42")
    assert told["VIGIL_REASON"] == "converged"
    assert told["envelope"].startswith("Fix what is red, then confirm.\n")
    assert "exit code 1" in told["evidence"]
    event = (await running.operator.outcomes(0, 0)).events[0]
    assert (event.state, event.tokens) == (wakes.WakeState.DELIVERED, 42)
    assert event.dispositions == (wakes.DispositionOf("red:ci/unit", wakes.Disposition.DISPATCHED),)
    with pytest.raises(session.NotAttachedError):
        await running.session().next(0, "r")


async def test_a_command_that_fails_gives_the_turn_back_and_the_second_time_loses_it(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    async with attach(running, ("--max-turns", "2"), "sh", "-c", "exit 7") as process:
        code, _, errors = await ended(process)
    assert code == 0
    assert errors.count("the command ended with 7: the turn is given back") == 2
    assert await states(running) == [wakes.WakeState.LOST]


async def test_with_once_a_turn_that_was_given_back_is_an_error(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    async with attach(running, ("--once",), "false") as process:
        assert (await ended(process))[0] == 1
    assert await states(running) == []


async def test_a_command_need_not_read_its_input_and_its_output_goes_to_the_log(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    log = running.folder / "log"
    log.write_text("before\n")
    async with attach(running, ("--once", "--log", str(log)), "sh", "-c", "echo out; echo err >&2") as process:
        assert (await ended(process))[:2] == (0, "")
    assert sorted(log.read_text().splitlines()) == ["before", "err", "out"]
    assert await states(running) == [wakes.WakeState.DELIVERED]


async def test_sigterm_while_it_waits_detaches_and_ends(running: servers.Running) -> None:
    async with attach(running, (), "true") as process:
        await until_attached(running)
        process.send_signal(signal.SIGTERM)
        code, _, errors = await ended(process)
    assert (code, errors) == (0, "")
    with pytest.raises(session.NotAttachedError):
        await running.session().next(0, "r")


async def test_sigterm_lets_the_turn_under_way_finish(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    gate = running.folder / "gate"
    os.mkfifo(gate)
    async with attach(running, (), "sh", "-c", f"echo started > {gate}; read line < {gate}") as process:
        assert await asyncio.to_thread(gate.read_text) == "started\n"
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(gate.write_text, "go\n")
        assert (await ended(process))[0] == 0
    assert await states(running) == [wakes.WakeState.DELIVERED]


async def test_a_second_sigterm_ends_the_command_and_gives_the_turn_back(running: servers.Running) -> None:
    await running.operator.submit(support.wake())
    gate = running.folder / "gate"
    os.mkfifo(gate)
    async with attach(running, (), "sh", "-c", f"echo started > {gate}; sleep 600") as process:
        assert await asyncio.to_thread(gate.read_text) == "started\n"
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGINT)
        code, _, errors = await ended(process)
    assert code == 0
    assert "the command ended with -15: the turn is given back" in errors
    shown = await running.service.show(ids.WakeId("w1"))
    assert shown is not None
    assert (shown.held.state, shown.held.offers) == (wakes.WakeState.QUEUED, 1)


async def test_the_lease_is_renewed_while_the_command_runs(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text(servers.TOKEN)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    async with servers.running(tmp_path, rules=turns.Rules(pause=0, lease=1.0)) as running:
        await running.operator.submit(support.wake())
        async with attach(running, ("--once",), "sh", "-c", f"echo started > {gate}; read line < {gate}") as process:
            assert await asyncio.to_thread(gate.read_text) == "started\n"
            for _ in range(4):
                running.clock.advance(0.5)
                await until_renewed(tmp_path, running.clock.now() + 1.0)
            await asyncio.to_thread(gate.write_text, "go\n")
            assert (await ended(process))[0] == 0
        assert await states(running) == [wakes.WakeState.DELIVERED]


async def test_a_run_of_vigil_is_found_by_its_state(running: servers.Running) -> None:
    (running.folder / "sidecar").mkdir()
    found = {"url": running.url, "token": servers.TOKEN}
    (running.folder / "sidecar" / "attach.json").write_text(json.dumps(found))
    await running.operator.submit(support.wake())
    options = ("--state-dir", str(running.folder), "-n", "team-a", "--once")
    process = await processes.vigil("attach", *options, "supervisor", "--", "true")
    assert (await ended(process))[0] == 0
    assert await states(running) == [wakes.WakeState.DELIVERED]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("s", "--", "no-such-command-here"), 2, "is not found"),
        (("s", "--", "true"), 2, "--token-file or --state-dir is needed"),
        (("--state-dir", "/none", "s", "--", "true"), 2, "no vigil run has its address"),
        (("--token-file", "/none", "s", "--", "true"), 1, "the token for the sidecar is unreadable"),
        (("--token-file", "/none", "--url", "ftp://x", "s", "--", "true"), 2, "must be http://"),
    ],
)
async def test_bad_input_is_told(arguments: tuple[str, ...], code: int, said: str) -> None:
    found = await ended(await processes.vigil("attach", *arguments))
    assert found[0] == code
    assert said in found[2]


async def test_a_token_that_is_refused_ends_it(running: servers.Running) -> None:
    (running.folder / "token").write_text("wrong")
    async with attach(running, (), "true") as process:
        code, _, errors = await ended(process)
    assert code == 1
    assert "the sidecar answered 401" in errors


async def test_a_file_that_is_touched_is_a_users_turn(running: servers.Running) -> None:
    touched = running.folder / "user"
    touched.touch()
    os.utime(touched, (support.NOW - 3, support.NOW - 3))
    async with attach(running, ("--user-turn-file", str(touched)), "true"):
        await until_attached(running)
        session_row = sqlite_row(running.folder, "SELECT last_user_turn FROM sessions")
    assert session_row == (support.NOW - 3,)


async def test_evidence_of_another_machine_is_fetched(running: servers.Running, tmp_path: pathlib.Path) -> None:
    await running.operator.submit(support.wake())
    client = running.session()
    known = attached.Attached(client, running.clock, attached.How(60), turnrun.Command(("true",), None))
    await client.attach(60, turn.Activity.IDLE)
    taken = await client.next(0, "r1")
    assert taken is not None
    elsewhere = taken.model_copy(update={"evidence_path": "/of/another/machine.txt"})
    async with known.environment(elsewhere) as environment:
        path = pathlib.Path(environment["VIGIL_EVIDENCE"])
        assert await asyncio.to_thread(path.read_bytes) == await client.evidence(taken)
    assert not await asyncio.to_thread(path.exists)


@pytest.mark.parametrize(
    ("output", "tokens", "told"),
    [
        (b"", 0, ""),
        (b"done\n", 0, ""),
        (b'one\n{"tokens": 5}\n\n', 5, ""),
        (b'{"tokens": 5}\nmore\n', 0, ""),
        (b'{"tokens": 5', 0, ""),
        (b'{"tokens": -1}', 0, "counts for nothing: tokens"),
        (b'{"spent": 1}', 0, "counts for nothing: spent"),
        (b'\xff\n{"tokens": 5}', 5, ""),
    ],
)
def test_the_report_is_the_last_line_if_it_is_one(
    capsys: pytest.CaptureFixture[str], output: bytes, tokens: int, told: str
) -> None:
    assert turnrun.report_of(output).tokens == tokens
    assert told in capsys.readouterr().err


def sqlite_row(folder: pathlib.Path, query: str) -> tuple[float, ...] | None:
    with contextlib.closing(sqlite3.connect(folder / "sidecar.db")) as connection:
        found: tuple[float, ...] | None = connection.execute(query).fetchone()
        return found


async def until_attached(running: servers.Running) -> None:
    await until(running.folder, "SELECT expires_at FROM sessions", None, same=False)


async def until_renewed(folder: pathlib.Path, lease_until: float) -> None:
    await until(folder, "SELECT lease_until FROM turns", (lease_until,), same=True)


async def until(folder: pathlib.Path, query: str, row: tuple[float, ...] | None, *, same: bool) -> None:
    """Wait until the row is this one, or another."""
    while (sqlite_row(folder, query) == row) is not same:  # noqa: ASYNC110 - another process's progress is no event here
        await asyncio.sleep(0.02)
