"""Which subjects are read together, and in how large chunks. Pure."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from vigil.kind import api as kind_api
from vigil.model import ids

GROW_AFTER: Final = 3
"""So many good chunks in a row let a chunk that was halved grow by a quarter again."""


class GroupKey(NamedTuple):
    """What one plural read can span; `account` names the credential with the provider."""

    kind: str
    host: str
    account: str
    partition: str


@dataclasses.dataclass(slots=True)
class ChunkSize:
    """How many subjects of a group one read takes: halved when a chunk failed as a whole, grown back slowly."""

    limit: int
    size: int
    good: int = 0

    def failed(self, chunk: int) -> None:
        """A chunk of this many subjects was too much, or one of them spoiled it."""
        self.size = max(1, min(self.size, chunk) // 2)
        self.good = 0

    def succeeded(self) -> None:
        """A chunk was answered in time."""
        self.good += 1
        if self.good >= GROW_AFTER and self.size < self.limit:
            self.size = min(self.limit, self.size + max(1, self.size // 4))
            self.good = 0


def chunks(
    wanted: Mapping[ids.SubjectId, kind_api.Wanted], size: int, first: Collection[ids.SubjectId] = ()
) -> Iterator[dict[ids.SubjectId, kind_api.Wanted]]:
    """The subjects in chunks of this size, in a stable order; `first` are those that come before the others."""
    names: Sequence[ids.SubjectId] = sorted(wanted, key=lambda name: (name not in first, name))
    for start in range(0, len(names), size):
        yield {name: wanted[name] for name in names[start : start + size]}
