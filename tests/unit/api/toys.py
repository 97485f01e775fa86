"""A kind of our own: as much of one as the resource and its status can tell."""

from typing import Any

import pydantic

from vigil.kind import api, registry, transport
from vigil.model import ids, observations


class ToySubject(api.Subject):
    """Something with a name, on a host of its own where it says so."""

    name: str = pydantic.Field(pattern="^[a-z-]+$")
    at: str = ""

    def host(self, scope: api.Scope) -> str:
        """The subject's own host, if it has one."""
        return self.at or scope.host

    def identity(self, scope: api.Scope) -> str:
        """The name in the Watch's namespace."""
        if self.name == "nameless":
            raise ValueError("has no name of its own")
        return f"{scope.namespace}/{self.name}"

    def label(self) -> str:
        """`toy/<name>`."""
        return f"toy/{self.name}"


class ToyRule(api.Model):
    """One rule of the options."""

    when: str = pydantic.Field(max_length=5)


class ToyOptions(api.Model):
    """Some rules."""

    rules: tuple[ToyRule, ...] = ()


def check(subject: ToySubject, objective: str, options: ToyOptions) -> str | None:
    """Why this subject, objective and options do not fit."""
    if subject.name == "endless" and objective == "done":
        return "objective: done never comes for something endless; use alarm"
    if subject.name == "ruled" and not options.rules:
        return "options.rules: something ruled needs a rule"
    if subject.name == "placeless" and not subject.at:
        return "at: is needed for something placeless"
    return "is broken" if subject.name == "broken" else None


def _no_reader(_transport: transport.Transport) -> api.Reader:
    raise NotImplementedError


def _observe(_snapshot: api.Snapshot, _objective: str, _options: Any, _now: ids.Instant) -> observations.ProbeResult:
    raise NotImplementedError


def kind(name: str = "toy", **changes: Any) -> api.Kind:
    """The kind under some name, with some fields changed."""
    fields: dict[str, Any] = {
        "summary": "A toy.",
        "subject": ToySubject,
        "objectives": {"done": api.Objective("It is done."), "alarm": api.Objective("It rings.", finite=False)},
        "keys": (),
        "reader": _no_reader,
        "observe": _observe,
        "options": ToyOptions,
        "default_host": "Toys.example.com",
        "check": check,
    }
    return api.Kind(name=name, **{**fields, **changes})


KINDS = registry.Registry([kind(), kind("inside", access=api.Access.CLUSTER, default_host="cluster")])
