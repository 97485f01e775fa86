"""The operator's client of the sidecar: ports.Delivery over HTTP."""

from collections.abc import Sequence

import pydantic

from vigil import ports
from vigil.adapters import wire as exchange
from vigil.api import ledger
from vigil.api import wake as wire
from vigil.model import failures, ids, wakes


class SidecarClient:
    """ports.Delivery over a connection, which whoever made it closes; and the ledger."""

    def __init__(self, connection: exchange.Wire) -> None:
        self._wire = connection

    async def submit(self, message: wakes.WakeMessage) -> wakes.SubmitResult:
        """See ports.Delivery.

        While another wake of the Watch is claimed it is a DeliveryError, `transient`: put it again later.
        """
        try:
            body = wire.Wake.of(message)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise exchange.failed(
                failures.Category.MALFORMED, f"the wake cannot be sent: {where}: {first['msg']}"
            ) from None
        return _standing(await self._wire.ask("PUT", f"/v1/wakes/{body.id}", body))

    async def withdraw(self, wake: ids.WakeId) -> wakes.SubmitResult:
        """See ports.Delivery."""
        return _standing(await self._wire.ask("DELETE", f"/v1/wakes/{wake}"))

    async def outcomes(self, after: int, wait: ids.Seconds) -> ports.OutcomePage:
        """See ports.Delivery."""
        query = {"after": str(after), "wait": str(wait)}
        answer = await self._wire.ask("GET", "/v1/outcomes", query=query, wait=wait)
        return answer.parsed(wire.Outcomes).value()

    async def record(self, entries: Sequence[ledger.Verdict]) -> None:
        """Append changes of verdicts to the ledger; a repetition is no second entry. Raises DeliveryError."""
        for start in range(0, len(entries), ledger.PAGE_LIMIT):
            body = ledger.Verdicts(entries=tuple(entries[start : start + ledger.PAGE_LIMIT]))
            answer = await self._wire.ask("POST", "/v1/ledger", body)
            if not answer.ok:
                raise answer.failed()

    async def ledger(self, watch: ids.WatchUid, before: int | None = None, limit: int = 50) -> ledger.Page:
        """The ledger of a Watch, the newest first; `before` is `next` of the last page. Raises DeliveryError."""
        query = {"watch": watch, "limit": str(limit)}
        if before is not None:
            query["before"] = str(before)
        return (await self._wire.ask("GET", "/v1/ledger", query=query)).parsed(ledger.Page)


def _standing(answer: exchange.Answer) -> wakes.SubmitResult:
    problem = answer.problem() if answer.status == 409 else None
    if problem is None:
        return answer.parsed(wire.Standing).value()
    if problem.code == "settled" and problem.state is not None and problem.sequence is not None:
        event = None if problem.outcome is None else problem.outcome.value()
        return wakes.SubmitResult(problem.state, problem.sequence, event=event)
    raise exchange.failed(failures.Category.TRANSIENT, f"the sidecar answered 409: {problem.message}")
