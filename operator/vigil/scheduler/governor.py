"""The governor of one account: how far apart the reads of its Watches have to be for its allowance to last. Pure.

What is left of an allowance, less a reserve for people who use the same credential, is spread over the time until its
reset. What a read of one subject costs is learned from what reads told; how much is left is always the provider's word,
since others may use the credential too.
"""

import collections
import dataclasses
from collections.abc import Collection
from typing import Final

from vigil.kind import api
from vigil.model import ids

RESERVE: Final = 0.1
"""The part of an allowance that is left for others."""

LEARNING: Final = 0.3
"""How much a read counts for what a subject is thought to cost; the reads before it count for the rest."""

REMEMBERED: Final[ids.Seconds] = 2 * 3600.0
"""A subject that was not read for so long is none of the account's any more."""


@dataclasses.dataclass(slots=True)
class _Allowance:
    """One resource: the provider's last word, what was told during the read that is under way, and the cost."""

    last: api.Quota
    spent: float = 0.0
    cost: float = 0.0


class Governor:
    """Takes what reads tell, and says how far apart they have to be."""

    def __init__(self) -> None:
        self._allowances: dict[str, _Allowance] = {}
        self._subjects = collections.OrderedDict[ids.SubjectId, ids.Instant]()

    def report(self, quota: api.Quota) -> None:
        """One answer of the provider."""
        known = self._allowances.setdefault(quota.resource, _Allowance(quota))
        known.last = quota
        known.spent += quota.cost

    def read(self, subjects: Collection[ids.SubjectId], now: ids.Instant) -> None:
        """A read of these subjects ended, and all that it cost was reported."""
        for name in subjects:
            self._subjects[name] = now
            self._subjects.move_to_end(name)
        while self._subjects and next(iter(self._subjects.values())) < now - REMEMBERED:
            self._subjects.popitem(last=False)
        for known in self._allowances.values():
            each = known.spent / len(subjects)
            known.cost = each if known.cost == 0 else (1 - LEARNING) * known.cost + LEARNING * each
            known.spent = 0.0

    def interval(self, now: ids.Instant) -> ids.Seconds:
        """The seconds that two reads of one subject have to be apart; 0 where nothing is short."""
        return max((self._of(known, now) for known in self._allowances.values()), default=0.0)

    def _of(self, known: _Allowance, now: ids.Instant) -> ids.Seconds:
        left = known.last.resets_at - now
        if left <= 0 or known.cost == 0:
            # The period is over: until the provider says more, all of it is there again.
            return 0.0
        usable = known.last.remaining - RESERVE * known.last.limit
        a_round = known.cost * len(self._subjects)
        return left if usable <= a_round else min(left, left * a_round / usable)
