"""A scheduler over things of our own: a kind whose subjects answer as told, and the ports of one process in memory."""

import asyncio
import copy
import dataclasses
from collections.abc import Mapping
from typing import Any

from tests.unit.api import table, toys
from vigil import ports
from vigil.adapters import clock, signals
from vigil.kind import api, registry
from vigil.model import failures, ids, observations, wakes
from vigil.scheduler import scheduler
from vigil.tick import checkpoint, memory, tick


def body(name: str = "api", *, uid: str | None = None, generation: int = 1, **spec: Any) -> dict[str, Any]:
    """A Watch as the API server shows it."""
    made = copy.deepcopy(table.BASE)
    made["metadata"] = {
        "name": name,
        "namespace": "team-a",
        "uid": uid or f"uid-{name}",
        "generation": generation,
        "resourceVersion": "1",
    }
    made["spec"] |= {"subjects": [{"name": name}], "policy": {"coalesce": {"window": "0s"}}, **spec}
    return made


def with_metadata(watch: Mapping[str, Any], **metadata: Any) -> dict[str, Any]:
    """The same Watch with some of its metadata changed."""
    return {**watch, "metadata": {**watch["metadata"], **metadata}}


@dataclasses.dataclass
class Provider:
    """The provider of the toys: the entry that each shows, and who was read."""

    shown: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    reads: list[str] = dataclasses.field(default_factory=list[str])

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], _budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, api.Snapshot | failures.Failure]:
        """The key that each shows."""
        names = {name: name.rpartition("/")[2] for name in wanted}
        self.reads += names.values()
        return {name: api.Snapshot(self.shown.get(toy, "")) for name, toy in names.items()}


def observe(snapshot: api.Snapshot, _objective: str, _options: Any, _now: ids.Instant) -> observations.ProbeResult:
    """The one entry that the snapshot names; `end` is an end, `broken` fails."""
    key = str(snapshot.payload)
    if key == "broken":
        raise RuntimeError("this kind is broken")
    if not key:
        return observations.ProbeResult((), "r1")
    if key == "end":
        ended = observations.Outcome.SUCCEEDED
        seen = observations.Observation(key, observations.Severity.TERMINAL, observations.ResetsOn.NEVER, outcome=ended)
    else:
        seen = observations.Observation(key, observations.Severity.WAKE, observations.ResetsOn.NEVER)
    return observations.ProbeResult((seen,), "r1")


class Place:
    """ports.Transports: everything is bound to the same place."""

    async def bind(
        self, _kind: api.Kind, _host: str, _namespace: str, _credential: wakes.SecretKey | None
    ) -> ports.Bound | failures.Failure:
        """The place."""
        return _PLACE


class _Nowhere:
    async def request(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


_PLACE = ports.Bound("anonymous", _Nowhere())


class Inbox:
    """ports.Delivery: every wake stays queued, and is taken back on request or not at all."""

    def __init__(self) -> None:
        self.queued: dict[ids.WakeId, wakes.WakeMessage] = {}
        self.withdrawn: list[ids.WakeId] = []
        self.fails: Exception | None = None
        self.hangs = False
        self.asked, self._answers = asyncio.Event(), asyncio.Event()
        self.breaks: Exception | None = None

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """Keep it."""
        self.queued[message.id] = message
        return wakes.SubmitResult(wakes.WakeState.QUEUED, message.sequence, wakes.QueuedReason.NO_RECIPIENT)

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """Give it back."""
        self.asked.set()
        if self.hangs:
            await self._answers.wait()
        if self.fails is not None:
            raise self.fails
        self.queued.pop(wake, None)
        self.withdrawn.append(wake)
        return wakes.SubmitResult(wakes.WakeState.WITHDRAWN, 1)

    def answer(self) -> None:
        """Hang no more."""
        self.hangs = False
        self._answers.set()

    async def outcomes(self, after: int, _wait: ids.Seconds) -> ports.OutcomePage:
        """None, ever."""
        if self.breaks is not None:
            raise self.breaks
        await asyncio.Event().wait()
        return ports.OutcomePage((), after)


class Store:
    """ports.StateStore: the last checkpoint of each Watch."""

    def __init__(self) -> None:
        self.kept: dict[ids.WatchUid, checkpoint.Checkpoint] = {}
        self.asked, self.open = asyncio.Event(), asyncio.Event()
        self.open.set()

    async def save(self, checkpoint: checkpoint.Checkpoint) -> ports.SaveResult:
        """Keep it, once it is open."""
        self.asked.set()
        await self.open.wait()
        self.kept[checkpoint.watch.ref.uid] = checkpoint
        return ports.SaveResult.SAVED


class Cluster:
    """intake.Cluster: what was seen and forgotten, and what was said of specs that are not valid."""

    def __init__(self) -> None:
        self.seen: list[Mapping[str, Any]] = []
        self.forgotten: list[str] = []
        self.forgot = asyncio.Event()
        self.said: list[tuple[str, str, str]] = []
        self.answers: list[ports.SaveResult] = []

    def observe(self, watch: Mapping[str, Any]) -> None:
        """Remember it."""
        self.seen.append(watch)

    def forget(self, uid: ids.WatchUid) -> None:
        """Forget it."""
        self.forgotten.append(uid)
        self.forgot.set()

    async def write_invalid(self, watch: Mapping[str, Any], path: str, message: str) -> ports.SaveResult:
        """Note it."""
        self.said.append((watch["metadata"]["name"], path, message))
        return self.answers.pop(0) if self.answers else ports.SaveResult.SAVED


class Parts:
    """One scheduler with all its ports; made inside a running event loop."""

    def __init__(self) -> None:
        self.provider = Provider()
        self.kinds = registry.Registry([toys.kind(reader=lambda _transport: self.provider, observe=observe)])
        self.inbox = Inbox()
        self.store = Store()
        self.cluster = Cluster()
        self.clock = clock.SystemClock()
        self.ticked: asyncio.Queue[memory.Memory] = asyncio.Queue()
        self.queue = scheduler.Scheduler(
            clock=self.clock,
            transports=Place(),
            ticker=tick.Ticker(self.store, self.inbox, signals.Silent()),
            store=self.store,
            delivery=self.inbox,
            signals=signals.Silent(),
            options=scheduler.Options(spread=0.0),
            ticked=self.ticked.put_nowait,
        )

    def memory_of(self, name: str) -> memory.Memory:
        """What is known of a Watch that is enrolled."""
        found = self.queue.memory_of(ids.WatchUid(f"uid-{name}"))
        assert found is not None
        return found

    def enrolled(self) -> set[str]:
        """The uids that are enrolled."""
        return set(self.queue.uids())
