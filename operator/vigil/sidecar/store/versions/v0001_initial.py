"""The first form of the database."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _wakes()
    _turns_and_sessions()
    _outcomes()
    _ledger()


def _wakes() -> None:
    op.create_table(
        "wakes",
        sa.Column("id", sa.String(128), primary_key=True),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("watch_uid", sa.String(128), nullable=False),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("watch", sa.String(253), nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("entries", sa.Integer, nullable=False),
        sa.Column("session", sa.String(253)),
        sa.Column("deliver", sa.JSON),
        sa.Column("message", sa.JSON),
        sa.Column("evidence", sa.String(1000)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("submitted_at", sa.Float(53), nullable=False),
        sa.Column("ended_at", sa.Float(53)),
        sa.Column("offers", sa.Integer, nullable=False, server_default="0"),
        sa.Column("turn", sa.BigInteger),
        sa.Column("place", sa.Integer, nullable=False, server_default="0"),
        sa.Column("notify_at", sa.Float(53), nullable=False, server_default="0"),
        sa.Column("notifying_until", sa.Float(53), nullable=False, server_default="0"),
        sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
    )
    op.create_index("wakes_state", "wakes", ["state", "position"])
    op.create_index("wakes_watch", "wakes", ["watch_uid", "state"])
    op.create_index("wakes_turn", "wakes", ["turn"])


def _turns_and_sessions() -> None:
    op.create_table(
        "turns",
        sa.Column("id", BIG, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("session", sa.String(253), nullable=False),
        sa.Column("request", sa.String(128)),
        sa.Column("automatic", sa.Boolean, nullable=False),
        sa.Column("claimed_at", sa.Float(53), nullable=False),
        sa.Column("lease_until", sa.Float(53), nullable=False),
        sa.Column("ended_at", sa.Float(53)),
        sqlite_autoincrement=True,
    )
    op.create_index("turns_session", "turns", ["namespace", "session", "ended_at"])
    op.create_table(
        "sessions",
        sa.Column("namespace", sa.String(63), primary_key=True),
        sa.Column("name", sa.String(253), primary_key=True),
        sa.Column("activity", sa.String(16), nullable=False),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.Column("last_user_turn", sa.Float(53)),
        sa.Column("turns_in_row", sa.Integer, nullable=False),
        sa.Column("last_turn_ended", sa.Float(53)),
        sa.Column("suspended_at", sa.Float(53)),
        sa.Column("suspended_for", sa.JSON),
        sa.Column("tell_at", sa.Float(53), nullable=False),
        sa.Column("tell_tries", sa.Integer, nullable=False),
    )


def _outcomes() -> None:
    op.create_table(
        "outcomes",
        sa.Column("cursor", BIG, primary_key=True, autoincrement=True),
        sa.Column("wake", sa.String(128), nullable=False),
        sa.Column("watch_uid", sa.String(128), nullable=False),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("tokens", sa.BigInteger, nullable=False),
        sa.Column("dispositions", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("outcomes_wake", "outcomes", ["wake"])


def _ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("position", BIG, primary_key=True, autoincrement=True),
        sa.Column("report", sa.String(128), unique=True),
        sa.Column("at", sa.Float(53), nullable=False),
        sa.Column("watch_uid", sa.String(128), nullable=False),
        sa.Column("namespace", sa.String(63), nullable=False),
        sa.Column("watch", sa.String(253), nullable=False),
        sa.Column("event", sa.String(16), nullable=False),
        sa.Column("verdict", sa.String(64), nullable=False),
        sa.Column("reason", sa.String(64), nullable=False),
        sa.Column("wake", sa.String(128), nullable=False),
        sa.Column("session", sa.String(253), nullable=False),
        sa.Column("keys", sa.JSON, nullable=False),
        sa.Column("keys_in_all", sa.Integer, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ledger_watch", "ledger", ["watch_uid", "position"])
