"""From Watches to plural reads: which of their subjects are read in which group."""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable

from vigil import ports
from vigil.kind import api as kind_api
from vigil.model import failures, ids
from vigil.scheduler import groups
from vigil.tick import enrolment, memory


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """One live target of a Watch in its group."""

    key: groups.GroupKey
    bound: ports.Bound
    target: enrolment.Target
    anchor: str


@dataclasses.dataclass(slots=True)
class Plan:
    """What one plural read of a group is asked for, and by how many Watches."""

    bound: ports.Bound
    wanted: dict[ids.SubjectId, kind_api.Wanted]
    watches: int = 0


async def parts_of(known: memory.Memory, transports: ports.Transports) -> list[Part] | failures.Failure:
    """The live targets of a Watch with their groups, or why they cannot be placed or its credential cannot be had."""
    watch, found = known.watch, list[Part]()
    for target in known.live if known.probed else ():
        try:
            host = target.subject.host(target.scope)
            partition = watch.kind.partition(target.subject, target.scope)
        except Exception as error:
            # A kind is a plug-in: whatever it raises is its own failure to place the subject.
            message = f"the kind {watch.kind.name} cannot place {target.label}: {type(error).__name__}: {error}"
            return failures.Failure(failures.Category.UNKNOWN, message)
        bound = await transports.bind(watch.kind, host, watch.ref.namespace, watch.credential)
        if isinstance(bound, failures.Failure):
            return bound
        key = groups.GroupKey(watch.kind.name, host, bound.account, partition)
        found.append(Part(key, bound, target, known.current.anchors.get(target.id, "")))
    return found


def plan(of_watches: Iterable[list[Part]]) -> dict[groups.GroupKey, Plan]:
    """What each group reads: a subject once, however many Watches ask for it."""
    planned: dict[groups.GroupKey, Plan] = {}
    askers: defaultdict[groups.GroupKey, int] = defaultdict(int)
    for parts in of_watches:
        for part in parts:
            one = planned.setdefault(part.key, Plan(part.bound, {}))
            one.wanted[part.target.id] = kind_api.Wanted(part.target.subject, part.target.scope, part.anchor)
        for key in {part.key for part in parts}:
            askers[key] += 1
    for key, one in planned.items():
        one.watches = askers[key]
    return planned
