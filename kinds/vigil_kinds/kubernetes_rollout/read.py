"""The IO half: one list of the group's resource a tick, and one of pods where a workload is unfinished or lost pods.

It lists and nothing else, so `list` and `get` are all that its RBAC needs. It reads from the store behind the API
server and not from its cache: a list of some seconds ago could call a rollout complete that has just begun.
"""

import asyncio
import collections
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.kubernetes_rollout import listing, rounds, subject

REMEMBERED: Final = 500
"""Workloads of one group that are kept in memory."""

SEEN_FOR: Final = 15 * 60.0
"""Seconds after which the memory of a workload says nothing: it and its Watch may both have been deleted and made anew.

The anchor, which a Watch keeps, has no such limit."""

ABSENT_FOR: Final = 3600.0
"""Seconds without a read after which the wait for a workload begins again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Memory:
    """What earlier reads saw of one workload, and when the last of them was."""

    read_at: ids.Instant
    last_seen: Any = None
    absent_since: ids.Instant | None = None

    def next(self, found: Any, now: ids.Instant) -> "Memory":
        """The memory after a read that found this object, or none."""
        if found is not None:
            return Memory(read_at=now, last_seen=found)
        gap = now - self.read_at
        return Memory(
            read_at=now,
            last_seen=self.last_seen if gap <= SEEN_FOR else None,
            absent_since=self.absent_since if self.absent_since is not None and gap <= ABSENT_FOR else now,
        )


class RolloutReader:
    """The reader of one namespace and one resource."""

    def __init__(self, through: transport.Transport) -> None:
        self._transport = through
        self._memory: collections.OrderedDict[ids.SubjectId, Memory] = collections.OrderedDict()

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, api.Snapshot | failures.Failure]:
        """Every id's snapshot or failure; raises ReadError where nothing at all was read."""
        answers: dict[ids.SubjectId, api.Snapshot | failures.Failure] = {}
        client = listing.Client(self._transport, timeout=budget.timeout, requests=budget.requests)
        planned = _rounds(wanted)
        try:
            async with asyncio.timeout(budget.timeout):
                for one in planned:
                    await one.read(client, budget.now)
        except TimeoutError:
            for one in planned:
                one.time_out(budget.timeout)
        for one in planned:
            answers.update((key, self._answer(one, key, entry, budget.now)) for key, entry in one.wanted.items())
        return _all_or_raise(answers)

    def _answer(
        self, one: rounds.Round, key: ids.SubjectId, entry: api.Wanted, now: ids.Instant
    ) -> api.Snapshot | failures.Failure:
        named = subject.of(entry)
        found = one.found.get(named.name)
        if found is None and one.failure is not None:
            return one.failure
        memory = self._remember(key, found, now)
        seen = bool(entry.anchor) or memory.last_seen is not None
        payload = {
            "subject": {"workload": str(named.workload), "namespace": entry.scope.namespace, "name": named.name},
            "workload": found,
            "lastSeen": memory.last_seen if found is None else None,
            "seen": seen,
            "absentSince": memory.absent_since,
            **one.pods_of(named.name),
        }
        return api.Snapshot(payload, anchor=anchor(named) if seen else "")

    def _remember(self, key: ids.SubjectId, found: Any, now: ids.Instant) -> Memory:
        memory = self._memory.pop(key, Memory(read_at=now)).next(found, now)
        self._memory[key] = memory
        if len(self._memory) > REMEMBERED:
            self._memory.popitem(last=False)
        return memory


def anchor(named: subject.RolloutSubject) -> str:
    """`deployments/api`: that it was seen once. Without renames the name is the id, and a uid one incarnation."""
    return f"{named.workload.resource}/{named.name}"


def _rounds(wanted: Mapping[ids.SubjectId, api.Wanted]) -> Sequence[rounds.Round]:
    """One for each namespace and resource: exactly one, as long as the group is a partition of this kind."""
    groups: dict[tuple[str, subject.Workload], dict[ids.SubjectId, api.Wanted]] = {}
    for key, entry in wanted.items():
        groups.setdefault((entry.scope.namespace, subject.of(entry).workload), {})[key] = entry
    return [rounds.Round(namespace, workload, entries) for (namespace, workload), entries in groups.items()]


def _all_or_raise(
    answers: Mapping[ids.SubjectId, api.Snapshot | failures.Failure],
) -> Mapping[ids.SubjectId, api.Snapshot | failures.Failure]:
    """Raise the failure if it is the answer to everything: then it is the group's, and no subject's."""
    kinds = list(answers.values())
    first = kinds[0] if kinds else None
    if isinstance(first, failures.Failure) and all(answer == first for answer in kinds):
        raise transport.ReadError(first)
    return answers
