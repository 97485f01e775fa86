"""The database takes this version's form, once, under a lock, and is never guessed at."""

import asyncio
import pathlib
import sqlite3
import stat

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime import migration

from tests.sidecar import support
from vigil.sidecar.store import migrate, port, sql, tables


async def test_the_migrations_leave_the_tables_that_are_used(tmp_path: pathlib.Path) -> None:
    store = sql.SqlStore.file(tmp_path / "sidecar.db")
    await store.open()
    await store.close()
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'sidecar.db'}")
    with engine.connect() as connection:
        context = migration.MigrationContext.configure(connection, opts={"compare_server_default": False})
        assert compare_metadata(context, tables.METADATA) == []
    engine.dispose()


async def test_a_second_start_keeps_what_is_there(tmp_path: pathlib.Path) -> None:
    for _ in range(2):
        store = sql.SqlStore.file(tmp_path / "sidecar.db")
        await store.open()
        await store.submit(support.wake(), None, support.NOW)
        assert await store.get(support.wake().id, support.NOW) is not None
        await store.close()


async def test_many_that_start_at_once_migrate_once(tmp_path: pathlib.Path) -> None:
    stores = [sql.SqlStore.file(tmp_path / "sidecar.db") for _ in range(4)]
    await asyncio.gather(*(each.open() for each in stores))
    for each in stores:
        await each.ready()
        await each.close()


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "sidecar.db"
    first = sql.SqlStore.file(path)
    await first.open()
    await first.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    store = sql.SqlStore.file(path)
    with pytest.raises(port.StoreError, match="of a version that is not known here"):
        await store.open()
    await store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    connection.close()


async def test_a_file_that_is_no_database_is_an_error(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sidecar.db").write_bytes(b"no database at all, but long enough to be one" * 100)
    store = sql.SqlStore.file(tmp_path / "sidecar.db")
    with pytest.raises(port.StoreError):
        await store.open()
    await store.close()


async def test_only_its_user_can_read_the_database(tmp_path: pathlib.Path) -> None:
    store = sql.SqlStore.file(tmp_path / "data" / "sidecar.db")
    await store.open()
    await store.close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "sidecar.db").stat().st_mode) == 0o600


def test_every_migration_is_a_step_of_one_line() -> None:
    versions = sorted(path.stem for path in (migrate.FOLDER / "versions").glob("v*.py"))
    assert [name[1:5] for name in versions] == [f"{number:04}" for number in range(1, len(versions) + 1)]
