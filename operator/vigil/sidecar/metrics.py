"""The sidecar's Prometheus metrics. Every label is a closed list: no series belongs to one Watch or session."""

from typing import Final

import prometheus_client

from vigil.model import failures, wakes
from vigil.sidecar.store import port

TURN_RESULTS: Final = ("handed-out", "completed", "released", "stale")
ACCEPTED: Final = "accepted"
OFFERED: Final = "Offered"
"""Where a queued wake has no reason to wait."""


class Metrics:
    """observer.Observer of a process that is scraped."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        counter, gauge = prometheus_client.Counter, prometheus_client.Gauge
        self._ended = counter("vigil_sidecar_wakes", "Wakes that came to their end.", ("outcome",), registry=registry)
        self._tokens = counter("vigil_sidecar_tokens", "Tokens that turns reported.", registry=registry)
        self._turns = counter("vigil_sidecar_turns", "What became of turns.", ("result",), registry=registry)
        self._notifications = counter(
            "vigil_sidecar_notifications", "Notifications that were tried.", ("result",), registry=registry
        )
        self._queued = gauge(
            "vigil_sidecar_queued_wakes", "Wakes that are not delivered yet.", ("reason",), registry=registry
        )
        self._sessions = gauge("vigil_sidecar_sessions", "Sessions by state.", ("state",), registry=registry)
        self._initialise()

    def _initialise(self) -> None:
        for state in wakes.OUTCOMES:
            self._ended.labels(state.value)
        for result in TURN_RESULTS:
            self._turns.labels(result)
        for category in (ACCEPTED, *(each.value for each in failures.Category)):
            self._notifications.labels(category)
        self.planned(port.Plan())

    def ended(self, state: wakes.WakeState, tokens: int) -> None:
        """Count it."""
        self._ended.labels(state.value).inc()
        self._tokens.inc(tokens)

    def turn(self, result: str) -> None:
        """Count it."""
        self._turns.labels(result).inc()

    def notified(self, failure: failures.Category | None) -> None:
        """Count it."""
        self._notifications.labels(ACCEPTED if failure is None else failure.value).inc()

    def planned(self, plan: port.Plan) -> None:
        """Show how many wait, and for what."""
        self._queued.labels(OFFERED).set(plan.queued.get(None, 0))
        for reason in wakes.QueuedReason:
            self._queued.labels(reason.value).set(plan.queued.get(reason, 0))
        self._sessions.labels("live").set(plan.live_sessions)
        self._sessions.labels("waking-suspended").set(plan.suspended_sessions)
