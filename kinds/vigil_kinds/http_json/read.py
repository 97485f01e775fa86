"""The IO half: one GET a document, a few at a time. It knows no rule: two Watches of one document share its read."""

import asyncio
import math
from collections.abc import Mapping
from typing import Final, TypeAlias

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.http_json import document, statuses, subject

CONCURRENT: Final = 4
"""Requests of one read that are under way together."""

Answer: TypeAlias = api.Snapshot | failures.Failure

_HEADERS: Final = {"accept": "application/json"}
_NO_TIME: Final = failures.Failure(failures.Category.TIMEOUT, "the read of its group ended before its turn came")
_NO_REQUEST: Final = failures.Failure(
    failures.Category.THROTTLED, "the requests that this read may send were used up before its turn came"
)


class DocumentReader:
    """The reader of one host and credential."""

    def __init__(self, through: transport.Transport) -> None:
        self._transport = through
        self._passed_over: frozenset[ids.SubjectId] = frozenset()

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, Answer]:
        """Every id's snapshot or failure; what an allowance leaves out comes first the next time."""
        order = sorted(wanted, key=lambda one: one not in self._passed_over)
        asked, left_out = order[: budget.requests], order[budget.requests :]
        self._passed_over = frozenset(left_out)
        round_ = _Round(self._transport, budget, len(asked))
        try:
            async with asyncio.timeout(budget.timeout), asyncio.TaskGroup() as group:
                for one in asked:
                    group.create_task(round_.answer(one, wanted[one]))
        except TimeoutError:
            pass
        ends = dict.fromkeys(asked, _NO_TIME) | dict.fromkeys(left_out, _NO_REQUEST)
        return ends | round_.answers


class _Round:
    """The answers of one read, as they come."""

    def __init__(self, through: transport.Transport, budget: api.ReadBudget, requests: int) -> None:
        self.answers: dict[ids.SubjectId, Answer] = {}
        self._transport = through
        self._now = budget.now
        # Each request has its share of the time, so that those that hang do not use up what the others need.
        self._share = budget.timeout / max(1, math.ceil(requests / CONCURRENT))
        self._free = asyncio.Semaphore(CONCURRENT)
        self._too_many: failures.Failure | None = None

    async def answer(self, one: ids.SubjectId, wanted: api.Wanted) -> None:
        """Read one document; after a 429 of the host, nothing more is asked of it in this read."""
        async with self._free:
            self.answers[one] = self._too_many or await self._read(subject.of(wanted))

    async def _read(self, it: subject.DocumentSubject) -> Answer:
        try:
            response = await self._transport.request(
                "GET", it.url, timeout=self._share, headers=_HEADERS, max_bytes=document.MAX_BYTES
            )
            failure = statuses.failure(response.status, response.headers, self._now)
            if failure is None:
                body = await asyncio.to_thread(document.parse, response.body)
                return api.Snapshot({"status": response.status, "body": body})
        except transport.ReadError as error:
            return error.failure
        if response.status == statuses.TOO_MANY:
            self._too_many = failure
        return failure
