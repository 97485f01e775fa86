"""What goes wrong, in order, each for the requests that it matches."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

KEYS = frozenset(
    {"match", "status", "headers", "body", "contentType", "errorAt", "type", "message", "extensions", "dropData"}
    | {"maxAliases", "pageCursorNull"}
)
MATCH = frozenset({"path", "nth", "count", "contains"})


class FaultError(ValueError):
    """A fault is described by a word that there is not."""


@dataclasses.dataclass
class Fault:
    """One fault as the world describes it, and how often a request has matched it."""

    said: Mapping[str, Any]
    seen: int = 0

    @property
    def type(self) -> str:
        """GitHub's type of the error inside of an answer."""
        return str(self.said.get("type") or "FORBIDDEN")

    @property
    def message(self) -> str:
        """The sentence of the error."""
        return str(self.said.get("message") or "Resource not accessible by integration")

    @property
    def extensions(self) -> Mapping[str, Any]:
        """What else the error says."""
        return self.said.get("extensions") or {}

    @property
    def _at(self) -> Mapping[str, Any] | None:
        return self.said.get("errorAt")

    def hits(self, repository: str, pull: str, field: str) -> bool:
        """Whether this field, below this pull request, is to fail."""
        at = self._at
        return at is not None and at.get("field") == field and self._here(at, repository, pull)

    def hits_whole(self, repository: str, pull: str = "") -> bool:
        """Whether the repository or pull request itself is to fail."""
        at = self._at
        if at is None or "field" in at or at.get("repository") != repository:
            return False
        return str(at.get("pullRequest", "")) == pull

    def breaks_cursor(self, repository: str, pull: str, field: str) -> bool:
        """Whether a list is to go on without saying where."""
        at = self.said.get("pageCursorNull")
        return at is not None and at.get("field") == field and self._here(at, repository, pull)

    @staticmethod
    def _here(at: Mapping[str, Any], repository: str, pull: str) -> bool:
        named = at.get("pullRequest")
        return at.get("repository") in {None, repository} and (named is None or str(named) == pull)


def of(world: Mapping[str, Any]) -> list[Fault]:
    """The faults of a world. Raises FaultError."""
    found = [Fault(said) for said in world.get("faults") or []]
    for one in found:
        strange = (set(one.said) - KEYS) | (set(one.said.get("match") or {}) - MATCH)
        if strange:
            raise FaultError(f"a fault has no {min(strange)}")
    return found


def matching(faults: Sequence[Fault], path: str, text: str) -> list[Fault]:
    """The faults that this request meets; each counts the requests that match it."""
    return [one for one in faults if _matches(one, path, text)]


def _matches(fault: Fault, path: str, text: str) -> bool:
    match = fault.said.get("match") or {}
    if match.get("path") not in {None, path} or str(match.get("contains", "")) not in text:
        return False
    fault.seen += 1
    if "nth" in match:
        return int(match["nth"]) <= fault.seen < int(match["nth"]) + int(match.get("count", 1))
    return "count" not in match or fault.seen <= int(match["count"])
