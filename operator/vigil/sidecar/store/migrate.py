"""Bring a database to this version's form, with the migrations of `versions`."""

import pathlib
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa
from alembic import config, script, util
from alembic.runtime import environment, migration
from alembic.script import revision

from vigil.sidecar.store import tables

FOLDER = pathlib.Path(__file__).parent


class VersionError(Exception):
    """The database was made by a newer version, whose form is not known here."""


def upgrade(connection: sa.Connection) -> None:
    """Apply what is missing, within the connection's transaction. Raises VersionError."""
    versions = script.ScriptDirectory(str(FOLDER))

    def missing(current: str | tuple[str, ...], _context: object) -> Iterable[migration.MigrationStep]:
        newest_first = list(versions.iterate_revisions("head", current or None, implicit_base=True))
        steps = migration.MigrationStep.upgrade_from_script
        return [steps(versions.revision_map, each) for each in reversed(newest_first)]

    arguments: dict[str, Any] = {"fn": missing}
    try:
        with environment.EnvironmentContext(config.Config(), versions, **arguments) as context:
            context.configure(connection=connection, target_metadata=tables.METADATA)
            context.run_migrations()
    except (util.CommandError, revision.RevisionError) as error:
        raise VersionError(f"the database is of a version that is not known here: {error}") from error
