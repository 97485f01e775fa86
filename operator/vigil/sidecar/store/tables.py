"""The tables, as the newest migration leaves them; a test compares the two.

Instants are seconds since the epoch, UTC.
"""

import sqlalchemy as sa

METADATA = sa.MetaData()

WAKES = sa.Table(
    "wakes",
    METADATA,
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
    sa.Column("deliver", sa.JSON(none_as_null=True)),
    sa.Column("message", sa.JSON(none_as_null=True)),
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
    sa.Index("wakes_state", "state", "position"),
    sa.Index("wakes_watch", "watch_uid", "state"),
    sa.Index("wakes_turn", "turn"),
)
"""A wake is found by its id for as long as its row is there; its text goes earlier."""

TURNS = sa.Table(
    "turns",
    METADATA,
    # SQLite gives an INTEGER PRIMARY KEY only to the type of that name, and never the same number twice only when told
    # so.
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("namespace", sa.String(63), nullable=False),
    sa.Column("session", sa.String(253), nullable=False),
    sa.Column("request", sa.String(128)),
    sa.Column("automatic", sa.Boolean, nullable=False),
    sa.Column("claimed_at", sa.Float(53), nullable=False),
    sa.Column("lease_until", sa.Float(53), nullable=False),
    sa.Column("ended_at", sa.Float(53)),
    sa.Index("turns_session", "namespace", "session", "ended_at"),
    sqlite_autoincrement=True,
)
"""The id of a turn is its fence: it only grows."""

SESSIONS = sa.Table(
    "sessions",
    METADATA,
    sa.Column("namespace", sa.String(63), primary_key=True),
    sa.Column("name", sa.String(253), primary_key=True),
    sa.Column("activity", sa.String(16), nullable=False),
    sa.Column("expires_at", sa.Float(53), nullable=False),
    sa.Column("last_user_turn", sa.Float(53)),
    sa.Column("turns_in_row", sa.Integer, nullable=False),
    sa.Column("last_turn_ended", sa.Float(53)),
    sa.Column("suspended_at", sa.Float(53)),
    sa.Column("suspended_for", sa.JSON(none_as_null=True)),
    sa.Column("tell_at", sa.Float(53), nullable=False),
    sa.Column("tell_tries", sa.Integer, nullable=False),
)

OUTCOMES = sa.Table(
    "outcomes",
    METADATA,
    sa.Column("cursor", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("wake", sa.String(128), nullable=False),
    sa.Column("watch_uid", sa.String(128), nullable=False),
    sa.Column("namespace", sa.String(63), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
    sa.Column("at", sa.Float(53), nullable=False),
    sa.Column("tokens", sa.BigInteger, nullable=False),
    sa.Column("dispositions", sa.JSON, nullable=False),
    sa.Index("outcomes_wake", "wake"),
    sqlite_autoincrement=True,
)

LEDGER = sa.Table(
    "ledger",
    METADATA,
    sa.Column("position", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
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
    sa.Index("ledger_watch", "watch_uid", "position"),
    sqlite_autoincrement=True,
)
"""Rows are appended and pruned, never changed."""
