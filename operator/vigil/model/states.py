"""The bookkeeping of one Watch: what was told, what waits, what was spent. Never what a subject looks like."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

from vigil.model import ids, observations, verdicts, wakes


class _Empty(dict[Any, Any]):
    """The empty mapping, which nobody can fill; it has a hash, or a dataclass of Python 3.11 would not take it.

    A real dictionary, since the engine asks it at every turn.
    """

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise TypeError("the empty mapping stays empty")

    def __hash__(self) -> int:  # type: ignore[override] # a dictionary has none, since others can be changed
        return 0


EMPTY: Final[Mapping[Any, Any]] = _Empty()


class Stamp(NamedTuple):
    """When an entry was told (the time of the verdict that sent it), and the last read that showed it.

    A tuple like the other memos of an entry: each read makes all of them anew.
    """

    at: ids.Instant
    shown: ids.Instant


class Held(NamedTuple):
    """Since when an entry stands with this activity unmoved."""

    since: ids.Instant
    activity: str


class Disposed(NamedTuple):
    """What an agent said of an entry, and the last read that showed it."""

    disposition: wakes.Disposition
    shown: ids.Instant
    invariant: str = ""


class Parked(NamedTuple):
    """An entry under a standing question, with the detail that it had when it was told."""

    question: str
    detail: str


class Answered(NamedTuple):
    """An entry whose question was answered; `answer` is the text until a wake has told it.

    With this detail it cannot be parked again.
    """

    detail: str
    shown: ids.Instant
    answer: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class SubjectState:
    """The memory of one subject; `revision` is None until the first read.

    `read` says that a complete read was had. `errors` counts the failed ticks in a row that count as provider errors,
    `failing` is when that row began, `blind` when it was last told.
    """

    revision: str | None = None
    alerted: Mapping[verdicts.Identity, Stamp] = EMPTY
    held: Mapping[verdicts.Identity, Held] = EMPTY
    dispositions: Mapping[verdicts.Identity, Disposed] = EMPTY
    parked: Mapping[verdicts.Identity, Parked] = EMPTY
    answered: Mapping[verdicts.Identity, Answered] = EMPTY
    retired: observations.Outcome | None = None
    read: bool = False
    errors: int = 0
    failing: ids.Instant | None = None
    blind: ids.Instant | None = None


class Member(NamedTuple):
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
    stamps: bool = True
    detail: str = ""

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
    `spells` are what a wake about no entry is about, each with its start: the subjects that are blind, the digest of
    the stall, or that the Watch is blocked.
    """

    id: ids.WakeId
    decided_at: ids.Instant
    versions: tuple[Version, ...]
    sent: tuple[Sent, ...]
    sequence: int = 1
    claimed: int | None = None
    spells: tuple[tuple[str, ids.Instant], ...] = ()

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


@dataclasses.dataclass(frozen=True, slots=True)
class Relapses:
    """How often a key was open, cleared, and open again on another revision; `revision` is the one it was last on."""

    revision: str
    cleared: bool = False
    count: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Churn:
    """Facts for people about how a Watch goes round in circles; no rule looks at them.

    `relapses` are by subject and key. `stream` is that of the last wake, `alternations` how often the next one was of
    another. `series` is how many entries were open at the end of each of the last revisions (subject, revision,
    count), the newest last. `rounds` count the dispositions of each invariant.
    """

    relapses: Mapping[tuple[ids.SubjectId, str], Relapses] = EMPTY
    stream: str = ""
    alternations: int = 0
    series: tuple[tuple[ids.SubjectId, str, int], ...] = ()
    rounds: Mapping[str, int] = EMPTY


@dataclasses.dataclass(frozen=True, slots=True)
class Stall:
    """How long the same has been open: `ticks` settled ones since `since`; `told` says that a wake told of it."""

    digest: str
    since: ids.Instant
    ticks: int = 0
    told: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Blocked:
    """Since when a failure stands that retrying does not heal; `told` says that the one notice of it was accepted."""

    since: ids.Instant
    told: bool = False


Ended: TypeAlias = observations.Outcome | verdicts.StopReason


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """All that is remembered of one Watch between two ticks.

    `started` is when the Watch was armed, None before its first tick; `last_tick` is for active time, `read_at` says
    when each subject was last read. `unstamped`
    counts the wakes that ended without a stamp since the last one that stamped, `forgotten` the stamps that were
    dropped: both make the id of a repeat another. `owed` are TERMINAL entries and a Stop's notice that nobody was told
    yet and that are not in flight. `floor` counts the quiet ticks in a row since `floor_since`. `reset` is the last
    value of the annotation that clears all this.
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
    read_at: Mapping[ids.SubjectId, ids.Instant] = EMPTY
    ended: Ended | None = None
    silence_until: ids.Instant | None = None
    stall: Stall | None = None
    floor: int = 0
    floor_since: ids.Instant | None = None
    blocked: Blocked | None = None
    churn: Churn = Churn()
    generation: int = 0
    reset: str = ""
    purpose: str = ""
    """A digest of objective and options: a finished Watch is armed again only when they or its subjects change."""

    def subject(self, subject: ids.SubjectId) -> SubjectState:
        """The memory of a subject, an empty one if it was never read."""
        return self.subjects.get(subject, NEW)

    @property
    def quiet_for_good(self) -> bool:
        """Whether the Watch has ended and everything about that was told."""
        return self.ended is not None and self.in_flight is None and not self.owed and not self.owed_notice


NEW: Final = SubjectState()
