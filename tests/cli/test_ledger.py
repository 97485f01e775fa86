"""What the ledger of a `vigil run` holds."""

import contextlib
import sqlite3

from tests.cli import commands


def ledger(shell: commands.Shell) -> list[tuple[str, str, str]]:
    """Event, verdict and reason of each entry, in their order."""
    with contextlib.closing(sqlite3.connect(shell.state_dir / "sidecar" / "sidecar.db")) as db:
        return db.execute("SELECT event, verdict, reason FROM ledger ORDER BY position").fetchall()


async def test_why_a_watch_was_quiet_and_why_it_woke_is_in_the_ledger_each_once_over_several_runs(
    shell: commands.Shell, service: commands.Service
) -> None:
    name = shell.write("w.yaml", commands.watch(service.url))
    for state in ("running", "running", "red"):
        service.state = state
        ran = await shell.run(name, "--once")
        assert (ran.code, ran.err) == (0, "")
    assert ledger(shell) == [
        ("Verdict", "Quiet", "pending"),
        ("Queued", "Wake", "undelayed"),
        ("Recorded", "Wake", "undelayed"),
    ]
