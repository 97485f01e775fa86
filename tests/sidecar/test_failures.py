"""A database or a disk that fails is told as such, loses nothing, and is not the end of the process."""

import asyncio
import contextlib
import pathlib
import sqlite3

import pytest

from tests.sidecar import servers, support
from vigil import ports
from vigil.adapters import settings as common
from vigil.api import turn
from vigil.model import failures, wakes
from vigil.sidecar import settings


async def execute(folder: pathlib.Path, statement: str) -> None:
    """Do something to the database behind the sidecar's back.

    In a thread: the sidecar may be amid a transaction, which it cannot end while its loop waits here for the lock.
    """
    await asyncio.to_thread(_execute, folder, statement)


def _execute(folder: pathlib.Path, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / "sidecar.db")) as connection, connection:
        connection.execute(statement)


async def test_a_database_that_fails_is_transient_and_the_work_goes_on_when_it_is_well_again(
    tmp_path: pathlib.Path,
) -> None:
    async with servers.running(tmp_path) as running:
        await running.session().attach(3600, turn.Activity.IDLE)
        await running.operator.submit(support.wake())
        taken = await running.session().next(0, "r1")
        assert taken is not None
        await execute(tmp_path, "ALTER TABLE turns RENAME TO gone")
        for ask in (running.operator.submit(support.wake("w2", watch="b")), running.session().next(0, "r2")):
            with pytest.raises(ports.DeliveryError, match="the database failed") as caught:
                await ask
            assert caught.value.failure.category is failures.Category.TRANSIENT
        running.clock.advance(600)
        assert running.service.dead() is None
        await execute(tmp_path, "ALTER TABLE gone RENAME TO turns")
        while (await running.operator.submit(support.wake())).state is wakes.WakeState.CLAIMED:
            running.clock.advance(1)
        assert running.service.dead() is None


async def test_evidence_that_cannot_be_written_leaves_the_wake_to_be_put_again(tmp_path: pathlib.Path) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "team-a").write_text("in the way")
    async with servers.running(tmp_path) as running:
        with pytest.raises(ports.DeliveryError, match="the evidence failed") as caught:
            await running.operator.submit(support.wake())
        assert caught.value.failure.category is failures.Category.TRANSIENT
        assert await running.service.show(support.wake().id) is None
        (tmp_path / "evidence" / "team-a").unlink()
        assert (await running.operator.submit(support.wake())).state is wakes.WakeState.QUEUED


async def test_work_that_ended_has_the_process_restarted(tmp_path: pathlib.Path) -> None:
    async with servers.running(tmp_path) as running:
        assert running.service.dead() is None
        assert await running.service.ready() is None
    assert running.service.dead() == "the background work has ended"


def test_the_settings_are_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {
        "TURN_LEASE": "5m",
        "TURN_PAUSE": "10s",
        "TURNS_IN_ROW": "0",
        "TURNS_PER_DAY": "100",
        "OPERATORS": "vigil/operator, other/operator",
        "DATA_DIR": "/data",
    }
    for name, value in told.items():
        monkeypatch.setenv(f"VIGIL_{name}", value)
    loaded = common.load(settings.SidecarSettings)
    rules = loaded.rules
    assert (rules.lease, rules.pause, rules.row, rules.turns_per_day) == (300, 10, None, 100)
    assert loaded.operators == ("vigil/operator", "other/operator")
    assert (loaded.database, loaded.evidence) == (pathlib.Path("/data/sidecar.db"), pathlib.Path("/data/evidence"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("OPERATORS", "operator"), ("TURNS_IN_ROW", "-1"), ("PUBLIC_URL", "ftp://x"), ("TURN_LEASE", "x")],
)
def test_a_setting_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"VIGIL_{name}", value)
    with pytest.raises(common.SettingsError, match=f"VIGIL_{name}"):
        common.load(settings.SidecarSettings)
