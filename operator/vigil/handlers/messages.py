"""What the thread of kopf hands over: immutable, and complete without looking anything up."""

import concurrent.futures
import copy
import dataclasses
from collections.abc import Mapping
from typing import Any, TypeAlias


@dataclasses.dataclass(frozen=True, slots=True)
class Seen:
    """A Watch as an event showed it; `leaving` when it is going or gone, `done` is set once that was acted on."""

    uid: str
    body: Mapping[str, Any]
    leaving: bool = False
    done: "concurrent.futures.Future[None] | None" = None


@dataclasses.dataclass(frozen=True, slots=True)
class Ticked:
    """The timer of a Watch went off: this is the Watch as it is now."""

    uid: str
    body: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Relisted:
    """The stream of events began anew, at the start or after a break: what was deleted meanwhile is not told."""


Message: TypeAlias = Seen | Ticked | Relisted


def frozen(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A copy of what kopf goes on changing."""
    return copy.deepcopy(dict(body))
