"""The contract of a kind: a subject type, a plural read, a pure observe, and a registration as data."""

import dataclasses
import enum
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Protocol, TypeAlias

import pydantic
from pydantic import alias_generators

from vigil.kind import transport
from vigil.model import failures, ids, observations

JsonValue: TypeAlias = Any
"""What `json.loads` gives."""


@dataclasses.dataclass(frozen=True, slots=True)
class Scope:
    """Where a subject is named: the Watch's namespace and the provider's host."""

    namespace: str
    host: str


class Model(pydantic.BaseModel):
    """The base of a kind's own models: strict about names, frozen, camelCase outside."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=alias_generators.to_camel,
        populate_by_name=True,
    )


class Subject(Model):
    """The base of a kind's subject: what an item of `spec.subjects` may hold, and its stable name."""

    def host(self, scope: Scope) -> str:
        """The host that answers for this subject: the one of the scope, unless the subject names its own."""
        return scope.host

    def identity(self, scope: Scope) -> str:
        """The name within (kind, host): two items that name the same thing give the same one."""
        raise NotImplementedError

    def label(self) -> str:
        """The short name for people, as in the column SUBJECT: `acme/api#42`, `Deployment/api`."""
        raise NotImplementedError


class NoOptions(Model):
    """The options of a kind that has none."""


@dataclasses.dataclass(frozen=True, slots=True)
class Wanted:
    """One subject to read, in its scope, with the anchor of an earlier read (empty at first)."""

    subject: Subject
    scope: Scope
    anchor: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Quota:
    """What the provider said of the credential's allowance after a request.

    `resource` is the provider's name of the allowance (`core`, `graphql`): `remaining` of `limit` are left until
    `resets_at`. `cost` is what the request used of it.
    """

    resource: str
    limit: int
    remaining: int
    resets_at: ids.Instant
    cost: float = 1.0


class Meter(Protocol):
    """Where a reader says what the provider told of the credential's allowance."""

    def report(self, quota: Quota) -> None:
        """Take note of one answer; returns at once and never raises."""
        ...


class _Unmetered:
    """Takes note of nothing."""

    def report(self, quota: Quota) -> None:
        """Forget it."""


UNMETERED: Final[Meter] = _Unmetered()
"""For a read of which nobody wants to know what it costs."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReadBudget:
    """What one read of a group may use: `timeout` seconds and `requests` in all.

    `now` is the time of the tick. `meter` is told what the provider says of the credential's allowance.
    """

    timeout: ids.Seconds
    requests: int
    now: ids.Instant
    meter: Meter = UNMETERED


@dataclasses.dataclass(frozen=True, slots=True)
class Grant:
    """What a secret was exchanged for: the value of the header Authorization, and until when it is accepted."""

    header: str = dataclasses.field(repr=False)
    expires_at: ids.Instant


class SignIn(Protocol):
    """Exchanges what a Secret holds for what is sent, where the secret is not the token itself."""

    def recognises(self, secret: str) -> bool:
        """Whether this secret has to be exchanged; any other one is a token as it is."""
        ...

    async def exchange(
        self,
        secret: str,
        host: str,
        through: transport.Transport,
        now: ids.Instant,
        timeout: ids.Seconds,  # noqa: ASYNC109 - a bound of the whole exchange, enforced by the client
    ) -> Grant:
        """Ask the host for a grant; `through` is bound to it without a credential of its own.

        Raises transport.ReadError: `config` for a secret that is not what it should be, or as the provider refuses.
        """
        ...


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """The raw state of one subject, as the provider told it (JSON), and the provider's own id of it.

    An anchor that differs from the one handed in means a stranger under the old name: the reader gives a `moved`
    Failure instead.
    """

    payload: JsonValue
    anchor: str = ""


class Reader(Protocol):
    """The IO half of a kind, made once for a group (host, credential, partition) and kept for its memory."""

    async def read(
        self, wanted: Mapping[ids.SubjectId, Wanted], budget: ReadBudget
    ) -> Mapping[ids.SubjectId, Snapshot | failures.Failure]:
        """Read all of these subjects in as few requests as the provider allows; every id asked for is answered.

        A failure of one subject is its Failure; a failure of the whole chunk may be raised as transport.ReadError.
        """
        ...


class Access(enum.StrEnum):
    """What a kind's transport is bound to."""

    HTTP = "http"
    """A provider outside: the guarded client, with the Watch's credential if it names one."""
    CLUSTER = "cluster"
    """The API server of the operator's own cluster, as the operator's ServiceAccount."""


@dataclasses.dataclass(frozen=True, slots=True)
class Objective:
    """One word of a kind's vocabulary of objectives; a standing one (an alarm, a queue) has no end of its own."""

    summary: str
    finite: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Key:
    """One row of a kind's table of keys.

    `pattern` is the key, or a prefix and one placeholder: `job-failed:<job>`. `severities` lists all that an
    objective can make of it. `stream` names the source of the news: `ci`, `review`.
    """

    pattern: str
    stream: str
    severities: frozenset[observations.Severity]
    resets_on: frozenset[observations.ResetsOn]
    meaning: str

    def matches(self, key: str) -> bool:
        """Whether this row describes the key."""
        prefix, placeholder, _ = self.pattern.partition("<")
        return key.startswith(prefix) if placeholder else key == self.pattern


Observe: TypeAlias = Callable[[Snapshot, str, Any, ids.Instant], observations.ProbeResult]
"""The pure half of a kind: `observe(snapshot, objective, options, now)`.

Raises transport.ReadError where what was read is no state of the subject but a failure: `malformed` for a payload that
is not what the provider documents, `not_found` for a subject that never appeared.
"""


def _one_partition(_subject: Any, _scope: Scope) -> str:
    return ""


def _no_objection(_subject: Any, _objective: str, _options: Any) -> str | None:
    return None


def payload_as_json(snapshot: Snapshot) -> str:
    """The evidence of a kind that renders none of its own: the payload, indented."""
    return json.dumps(snapshot.payload, indent=2, sort_keys=True, ensure_ascii=False)


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind, as data. `KIND = Kind(...)` in the kind's package, named in the entry-point group `vigil.kinds`.

    `chunk` is how many subjects one read may take. `partition` joins (kind, host, credential) in the name of the
    group where one request cannot span it. `evidence` renders the text of the evidence file from a snapshot.
    `offload` says that observe takes real CPU time: it is then called off the event loop. `sign_in` exchanges secrets
    that are no tokens themselves.
    """

    name: str
    summary: str
    subject: type[Subject]
    objectives: Mapping[str, Objective]
    keys: tuple[Key, ...]
    reader: Callable[[transport.Transport], Reader]
    observe: Observe
    options: type[Model] = NoOptions
    chunk: int = 25
    access: Access = Access.HTTP
    default_host: str = ""
    partition: Callable[[Any, Scope], str] = _one_partition
    evidence: Callable[[Snapshot], str] = payload_as_json
    check: Callable[[Any, str, Any], str | None] = _no_objection
    offload: bool = False
    sign_in: SignIn | None = None

    def subject_id(self, subject: Subject, scope: Scope) -> ids.SubjectId:
        """The stable name of a subject."""
        return ids.SubjectId(f"{self.name}://{subject.host(scope)}/{subject.identity(scope)}")

    def stream_of(self, key: str) -> str:
        """The stream of a key; a key that no row describes has the kind's name as its stream."""
        return next((row.stream for row in self.keys if row.matches(key)), self.name)
