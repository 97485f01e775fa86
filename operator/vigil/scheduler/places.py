"""Where Watches are read: each in the groups of its subjects, which are found anew for each read."""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from vigil import ports
from vigil.model import failures, ids
from vigil.scheduler import entry, groups, plans, reads


class Placed(NamedTuple):
    """A Watch at the start of a read: its generation then, and where its subjects are or why they cannot be read."""

    known: entry.Entry
    generation: int
    parts: list[plans.Part] | failures.Failure

    @property
    def keys(self) -> frozenset[groups.GroupKey]:
        """The groups of its subjects."""
        return frozenset() if isinstance(self.parts, failures.Failure) else frozenset(one.key for one in self.parts)


class Places:
    """The Watches by the groups that they were last placed in; one that never was may belong to any.

    A group that no Watch belongs to any more is forgotten, with all that its reader knows.
    """

    def __init__(self, transports: ports.Transports, of_groups: reads.Reads) -> None:
        self._transports = transports
        self._reads = of_groups
        self._members: dict[groups.GroupKey, dict[ids.WatchUid, entry.Entry]] = {}
        self._unplaced: dict[ids.WatchUid, entry.Entry] = {}

    def add(self, known: entry.Entry) -> None:
        """Take a Watch in."""
        self._unplaced[known.watch.ref.uid] = known

    async def place(self, known: entry.Entry) -> Placed:
        """Find where a Watch is read now; one that is gone is not kept."""
        generation = known.watch.ref.generation
        placed = Placed(known, generation, await plans.parts_of(known.memory, self._transports))
        known.unbound = isinstance(placed.parts, failures.Failure)
        if not known.unbound and not known.gone:
            self._move(known, placed.keys)
        return placed

    def remove(self, known: entry.Entry) -> None:
        """Take a Watch out."""
        self._move(known, frozenset())

    def tidy(self, keys: Iterable[groups.GroupKey]) -> None:
        """Forget those of these groups that no Watch belongs to."""
        for key in keys:
            if key not in self._members:
                self._reads.forget(key)

    def near(self, keys: Collection[groups.GroupKey]) -> Iterator[entry.Entry]:
        """The Watches that belong to one of these groups, or may; each once."""
        found = {uid: known for key in keys for uid, known in self._members.get(key, {}).items()}
        yield from (self._unplaced | found).values()

    def _move(self, known: entry.Entry, keys: frozenset[groups.GroupKey]) -> None:
        uid, left = known.watch.ref.uid, known.keys - keys
        self._unplaced.pop(uid, None)
        for key in left:
            members = self._members[key]
            del members[uid]
            if not members:
                del self._members[key]
        for key in keys:
            self._members.setdefault(key, {})[uid] = known
        known.keys = keys
        self.tidy(left)
