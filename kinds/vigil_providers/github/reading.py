"""What every read of GitHub does alike: its client, its time, and the pause that GitHub asks for."""

import dataclasses
from typing import Final

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_providers.github import client, names

REQUEST_TIMEOUT: Final[ids.Seconds] = 15.0
"""Seconds that one request may take: GitHub gives up on a query after ten."""

SHARE: Final = 0.9
"""The part of a read's time in which it may ask: in the rest, what was read already is handed over."""

NO_TIME: Final = failures.Failure(failures.Category.TIMEOUT, "the read of its group ended before its turn came")


class Pause:
    """Keeps a reader from asking before GitHub wants to be asked, also where only a part of a read met the limit."""

    def __init__(self) -> None:
        self._until: ids.Instant = 0.0
        self._why: failures.Failure | None = None

    def note(self, failure: failures.Failure, now: ids.Instant) -> None:
        """Take note of a failure; only a throttle counts."""
        if failure.category is failures.Category.THROTTLED:
            self._until, self._why = now + (failure.retry_after or 0.0), failure

    def at(self, now: ids.Instant) -> failures.Failure | None:
        """The throttle that still lasts, with the time that is left of it."""
        if self._why is None or now >= self._until:
            return None
        return dataclasses.replace(self._why, retry_after=self._until - now)


def client_of(
    through: transport.Transport, scope: api.Scope, budget: api.ReadBudget, etags: client.Etags | None = None
) -> client.Client:
    """The client of one read of a group, whose subjects are all in this scope's host."""
    return client.Client(
        through,
        host=names.api_host(scope.host),
        now=budget.now,
        timeout=min(REQUEST_TIMEOUT, budget.timeout),
        meter=budget.meter,
        etags=etags,
        allowance=client.Allowance(budget.requests),
    )
