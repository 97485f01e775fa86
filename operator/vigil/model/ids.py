"""Names of things, each a type of its own so that they cannot be mixed up, and the units of time."""

from typing import NewType, TypeAlias

SubjectId = NewType("SubjectId", str)
"""A stable name of a subject, made of (kind, host, identity): `<kind>://api.example.com/acme/api/42`."""

WatchUid = NewType("WatchUid", str)
"""The uid of a Watch: metadata.uid in a cluster, a digest of the file's (namespace, name) without one."""

WakeId = NewType("WakeId", str)
"""A digest that names one wake: the same news has the same id after any crash, a repeat has another."""

Instant: TypeAlias = float
"""Seconds since the epoch, UTC."""

Seconds: TypeAlias = float
"""A length of time in seconds."""
