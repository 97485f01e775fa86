"""When each Watch is looked at next, so that a round costs what is due and not what is watched. Pure."""

import heapq
from typing import Final

from vigil.model import ids

_SPARE: Final = 64


class Agenda:
    """A heap of times; what was put down for a Watch last is what counts."""

    def __init__(self) -> None:
        self._at: dict[ids.WatchUid, ids.Instant] = {}
        self._heap: list[tuple[ids.Instant, ids.WatchUid]] = []

    def __len__(self) -> int:
        return len(self._at)

    def put(self, uid: ids.WatchUid, at: ids.Instant) -> None:
        """Look at this Watch then, and not when it was said before."""
        if self._at.get(uid) == at:
            return
        self._at[uid] = at
        heapq.heappush(self._heap, (at, uid))
        if len(self._heap) > 2 * len(self._at) + _SPARE:
            self._heap = [(when, name) for name, when in self._at.items()]
            heapq.heapify(self._heap)

    def remove(self, uid: ids.WatchUid) -> None:
        """Look at this Watch no more."""
        self._at.pop(uid, None)

    def first(self) -> ids.Instant | None:
        """When the next one is looked at; None when there is none."""
        while self._heap and self._at.get(self._heap[0][1]) != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take(self, now: ids.Instant) -> list[ids.WatchUid]:
        """Take off what is due, in the order of the times."""
        taken: list[ids.WatchUid] = []
        while (at := self.first()) is not None and at <= now:
            _, uid = heapq.heappop(self._heap)
            del self._at[uid]
            taken.append(uid)
        return taken
