"""A Watch as the scheduler and the tick see it: parsed, checked against its kind, and immutable."""

import dataclasses
import hashlib

from vigil.kind import api as kind_api
from vigil.model import ids, limits, wakes


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A subject of a Watch with its stable name and the label for people."""

    id: ids.SubjectId
    subject: kind_api.Subject
    scope: kind_api.Scope
    label: str


@dataclasses.dataclass(frozen=True, slots=True)
class Cadence:
    """How often subjects are read, in seconds: each `interval`, after `quiet_after` of quiet each `quiet_interval`."""

    interval: ids.Seconds = 120.0
    quiet_interval: ids.Seconds = 600.0
    quiet_after: ids.Seconds = 1800.0


@dataclasses.dataclass(frozen=True)
class Enrolment:
    """One valid Watch.

    `host` is the provider's host of `spec.source.host` or the kind's default; `credential` names the Secret of the
    Watch's namespace. `created` is when the Watch was made. `silence_until`, `poke` and `reset` come from its
    annotations.
    """

    ref: wakes.WatchRef
    kind: kind_api.Kind
    host: str
    targets: tuple[Target, ...]
    objective: str
    options: kind_api.Model
    limits: limits.Limits
    cadence: Cadence = Cadence()
    credential: wakes.SecretKey | None = None
    deliver: wakes.Deliver | None = None
    created: ids.Instant = 0.0
    description: str = ""
    suspend: bool = False
    silence_until: ids.Instant | None = None
    poke: str = ""
    reset: str = ""
    exclusive: str = ""

    @property
    def purpose(self) -> str:
        """A digest of what a finished Watch is armed again by: its objective and its options."""
        parts = f"{self.objective}\n{self.options.model_dump_json()}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]
