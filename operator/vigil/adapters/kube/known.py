"""The newest version of each Watch that this process has seen, in an event or in the answer to a write of its own."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Self

from vigil.model import ids


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What of one version of a Watch a write of its status needs."""

    uid: ids.WatchUid
    namespace: str
    name: str
    version: str
    generation: int
    deleting: bool
    status: Mapping[str, Any] = dataclasses.field(repr=False)

    @classmethod
    def of(cls, watch: Mapping[str, Any]) -> Self:
        """From a Watch as the API server has it."""
        metadata = watch["metadata"]
        return cls(
            uid=ids.WatchUid(metadata["uid"]),
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            version=str(metadata.get("resourceVersion", "")),
            generation=int(metadata.get("generation", 0)),
            deleting=bool(metadata.get("deletionTimestamp")),
            status=watch.get("status") or {},
        )

    def replaces(self, other: "Known") -> bool:
        """Whether it is as new as the other; versions that cannot be compared count in the order of their arrival."""
        comparable = self.version.isdecimal() and other.version.isdecimal()
        return not comparable or int(self.version) >= int(other.version)


class Newest:
    """One version a Watch."""

    def __init__(self) -> None:
        self._known: dict[ids.WatchUid, Known] = {}

    def __iter__(self) -> Iterator[ids.WatchUid]:
        return iter(self._known)

    def get(self, uid: ids.WatchUid) -> Known | None:
        """The newest version, if any was seen."""
        return self._known.get(uid)

    def observe(self, watch: Mapping[str, Any]) -> Known:
        """Take note of a version that was seen; gives the newest one, which an event that comes late is not."""
        known = self._known.get(ids.WatchUid(watch["metadata"]["uid"]))
        return known if known is not None and not Known.of(watch).replaces(known) else self.replace(watch)

    def replace(self, watch: Mapping[str, Any]) -> Known:
        """Take a version that was just read for the newest: after a restore of the store its number may be lower."""
        seen = self._known[ids.WatchUid(watch["metadata"]["uid"])] = Known.of(watch)
        return seen

    def forget(self, uid: ids.WatchUid) -> None:
        """The Watch is no more."""
        self._known.pop(uid, None)

    def keep_only(self, uids: Collection[ids.WatchUid]) -> None:
        """Forget all other Watches."""
        self._known = {uid: known for uid, known in self._known.items() if uid in uids}
