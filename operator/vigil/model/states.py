"""The bookkeeping of one Watch: what was told, what waits, what was spent. Never what a subject looks like."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

from vigil.model import ids, observations, verdicts, wakes


class _Empty(Mapping[Any, Any]):
    """The empty mapping; it has a hash, or a dataclass of Python 3.11 would not take it as a default."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __hash__(self) -> int:
        return 0


EMPTY: Final[Mapping[Any, Any]] = _Empty()


@dataclasses.dataclass(frozen=True, slots=True)
class Stamp:
    """When an entry was told (the time of the verdict that sent it), and the last read that showed it."""

    at: ids.Instant
    shown: ids.Instant


@dataclasses.dataclass(frozen=True, slots=True)
class Held:
    """Since when an entry stands with this activity unmoved."""

    since: ids.Instant
    activity: str


@dataclasses.dataclass(frozen=True, slots=True)
class Disposed:
    """What an agent said of an entry, and the last read that showed it."""

    disposition: wakes.Disposition
    shown: ids.Instant
    invariant: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class SubjectState:
    """The memory of one subject; `revision` is None until the first read."""

    revision: str | None = None
    alerted: Mapping[verdicts.Identity, Stamp] = EMPTY
    held: Mapping[verdicts.Identity, Held] = EMPTY
    dispositions: Mapping[verdicts.Identity, Disposed] = EMPTY
    retired: observations.Outcome | None = None
    errors: int = 0
    """Failed ticks in a row that count as provider errors."""


@dataclasses.dataclass(frozen=True, slots=True)
class Member:
    """An entry that waits in the window since `since`; a claim can be contradicted by a read that does not show it."""

    identity: verdicts.Identity
    since: ids.Instant
    claim: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Sent:
    """An entry of a wake in flight.

    It joined with version `joined` of the wake at the verdict of time `at`, and left with version `left`: which
    version was claimed is known only afterwards. `since` is its stamp in the window, `shown` the last read that showed
    it (None: the one of the verdict). `outcome` and `brief` are kept of TERMINAL entries only: nobody reads their
    subject again.
    """

    identity: verdicts.Identity
    since: ids.Instant
    at: ids.Instant
    joined: int
    left: int | None = None
    outcome: observations.Outcome | None = None
    brief: str = ""
    claim: bool = False
    shown: ids.Instant | None = None

    @property
    def last_shown(self) -> ids.Instant:
        """The last read that showed it."""
        return self.at if self.shown is None else self.shown

    def part_of(self, sequence: int) -> bool:
        """Whether version `sequence` of the wake held this entry."""
        return self.joined <= sequence and (self.left is None or sequence < self.left)


@dataclasses.dataclass(frozen=True, slots=True)
class Version:
    """What a wake is from its version `first` on: a TERMINAL or a Stop takes an unclaimed wake over."""

    first: int
    type: wakes.WakeType
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class InFlight:
    """The one wake of a Watch that has no outcome yet.

    `sequence` is its newest version; `claimed` is the version that a session took, None while it can be amended.
    """

    id: ids.WakeId
    decided_at: ids.Instant
    versions: tuple[Version, ...]
    sent: tuple[Sent, ...]
    sequence: int = 1
    claimed: int | None = None

    @property
    def current(self) -> Version:
        """What the wake is: in the claimed version, else in the newest."""
        held = self.sequence if self.claimed is None else self.claimed
        return next((version for version in reversed(self.versions) if version.first <= held), self.versions[0])

    @property
    def present(self) -> tuple[Sent, ...]:
        """The entries of the claimed version, else of the newest."""
        held = self.sequence if self.claimed is None else self.claimed
        return tuple(sent for sent in self.sent if sent.part_of(held))


@dataclasses.dataclass(frozen=True, slots=True)
class Spent:
    """What was spent of the budgets since the Watch was armed."""

    turns: int = 0
    tokens: int = 0
    active_time: ids.Seconds = 0.0


Ended: TypeAlias = observations.Outcome | verdicts.StopReason


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """All that is remembered of one Watch between two ticks.

    `started` is when the Watch was armed, None before its first tick; `last_tick` is for active time. `unstamped`
    counts the wakes that ended without a stamp since the last one that stamped, `forgotten` the stamps that were
    dropped: both make the id of a repeat another. `owed` are TERMINAL entries and a Stop's notice that nobody was told
    yet and that are not in flight.
    """

    watch: ids.WatchUid
    subjects: Mapping[ids.SubjectId, SubjectState] = EMPTY
    window: Mapping[verdicts.Identity, Member] = EMPTY
    spent: Spent = Spent()
    in_flight: InFlight | None = None
    unstamped: int = 0
    forgotten: int = 0
    owed: tuple[Sent, ...] = ()
    owed_notice: bool = False
    started: ids.Instant | None = None
    last_tick: ids.Instant | None = None
    ended: Ended | None = None
    silence_until: ids.Instant | None = None
    generation: int = 0
    purpose: str = ""
    """A digest of objective and options: a finished Watch is armed again only when they or its subjects change."""

    def subject(self, subject: ids.SubjectId) -> SubjectState:
        """The memory of a subject, an empty one if it was never read."""
        return self.subjects.get(subject, _NEW)

    @property
    def quiet_for_good(self) -> bool:
        """Whether the Watch has ended and everything about that was told."""
        return self.ended is not None and self.in_flight is None and not self.owed and not self.owed_notice


_NEW: Final = SubjectState()
