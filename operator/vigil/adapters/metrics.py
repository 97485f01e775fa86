"""Prometheus metrics: they subscribe to the core's records, which know nothing of them.

No series belongs to one Watch, and no label takes its values from Watches without a bound: kinds that are not
installed, and hosts past HOST_LIMIT, are counted as OTHER. Where the values of a label are a closed list every series
exists from the start, so that a rate sees its first increment.
"""

import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Final, assert_never

import prometheus_client

from vigil import ports
from vigil.model import failures, ids, observations, verdicts, wakes
from vigil.tick import phase

OTHER: Final = "other"
HOST_LIMIT: Final = 50
CREDENTIAL_LIMIT: Final = 200
"""How many credentials of one host are told apart."""

PHASES: Final = frozenset(phase.Phase)
RESULTS: Final = ("read", "partly-read", "unread")
PROBE_BUCKETS: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0)
LATENESS_BUCKETS: Final = (1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 900.0, 3600.0)


class Metrics:
    """The Signals of a process that is scraped; `kinds` are the names of the installed kinds."""

    def __init__(
        self, registry: prometheus_client.CollectorRegistry, kinds: Collection[str], *, version: str = ""
    ) -> None:
        self._kinds = frozenset(kinds)
        self._limits = _RateLimits()
        make = _Maker(registry)
        self._ticks = make.counter("vigil_ticks", "Watches that were decided.", "kind")
        self._verdicts = make.counter("vigil_verdicts", "What the ticks decided.", "type", "reason")
        self._lateness = make.histogram(
            "vigil_tick_lateness_seconds", "How long after its due time a Watch was decided.", LATENESS_BUCKETS
        )
        self._probes = make.counter("vigil_probes", "Plural reads that ended.", "kind", "result")
        self._subjects = make.counter("vigil_probed_subjects", "Subjects that reads were asked for.", "kind")
        self._failures = make.counter("vigil_probe_failures", "Subjects that were not read.", "kind", "category")
        self._seconds = make.histogram("vigil_probe_seconds", "How long a read took.", PROBE_BUCKETS, "kind")
        self._last_probe = make.gauge(
            "vigil_last_probe_timestamp_seconds", "When a read last ended, well or not; 0 before the first.", "kind"
        )
        self._wakes = make.counter("vigil_wakes", "Wakes that came to their outcome.", "outcome")
        self._tokens = make.counter("vigil_wake_tokens", "Tokens that completed wakes reported.")
        self._undelivered = make.gauge("vigil_undelivered_wakes", "Wakes that are held up now.", "reason")
        self._watches = make.gauge("vigil_watches", "Watches that are there now.", "kind", "phase")
        self._blind = make.gauge("vigil_blind_watches", "Watches that are blind now.", "kind")
        self._paced = make.gauge(
            "vigil_paced_watches",
            "Watches that are read more seldom now, for their credential's allowance to last.",
            "kind",
        )
        self._outages = make.gauge(
            "vigil_group_outages", "Groups of several Watches that fail as a whole now.", "kind", "category"
        )
        self._remaining = make.gauge(
            "vigil_rate_limit_remaining_ratio", "What the host's tightest credential has left, 0 to 1.", "host"
        )
        self._timers_lost = make.counter("vigil_timers_lost", "Timers that went silent.")
        self._status_errors = make.counter("vigil_status_write_errors", "Statuses that could not be written.", "reason")
        self._leader = make.gauge("vigil_leader", "1 while this replica is the active one.")
        make.gauge("vigil_build_info", "The running version.", "version").labels(version).set(1)
        self._initialise((*sorted(self._kinds), OTHER))

    def _initialise(self, kinds: Collection[str]) -> None:
        for kind in kinds:
            for metric in (self._ticks, self._subjects, self._seconds, self._last_probe, self._blind, self._paced):
                metric.labels(kind)
            for result in RESULTS:
                self._probes.labels(kind, result)
            for category in failures.Category:
                self._failures.labels(kind, category)
                self._outages.labels(kind, category)
            for name in (*PHASES, OTHER):
                self._watches.labels(kind, name)
        for labels in _verdict_labels():
            self._verdicts.labels(*labels)
        for state in wakes.OUTCOMES:
            self._wakes.labels(state)
        for reason in wakes.QueuedReason:
            self._undelivered.labels(reason)
        for error in ports.StatusWriteError:
            self._status_errors.labels(error)

    def emit(self, record: ports.Record) -> None:
        """Count one record."""
        match record:
            case ports.ProbeDone():
                self._probe_done(record)
            case ports.TickDone():
                self._ticks.labels(self._kind(record.kind)).inc()
                self._verdicts.labels(*_labels_of(record.verdict)).inc()
                self._lateness.observe(max(0.0, record.lateness))
            case ports.WakeEnded():
                self._wakes.labels(record.state).inc()
                self._tokens.inc(record.tokens)
            case ports.QueueChanged():
                _move(self._undelivered, (), record.old, record.new)
            case ports.PhaseChanged():
                _move(self._watches, (self._kind(record.kind),), _phase(record.old), _phase(record.new))
            case ports.BlindChanged() | ports.PacedChanged():
                self._changed(record)
            case ports.OutageChanged():
                _move(self._outages, (self._kind(record.kind),), record.old, record.new)
            case ports.RateLimit():
                host, ratio = self._limits.tightest(record)
                self._remaining.labels(host).set(ratio)
            case ports.TimerLost():
                self._timers_lost.inc()
            case ports.StatusWriteFailed():
                self._status_errors.labels(record.reason).inc()
            case ports.LeadershipChanged():
                self._leader.set(1 if record.leading else 0)
            case _:
                assert_never(record)

    def _changed(self, record: ports.BlindChanged | ports.PacedChanged) -> None:
        if isinstance(record, ports.BlindChanged):
            gauge, on = self._blind, record.blind
        else:
            gauge, on = self._paced, record.paced
        gauge.labels(self._kind(record.kind)).inc(1 if on else -1)

    def _probe_done(self, record: ports.ProbeDone) -> None:
        kind = self._kind(record.kind)
        unread = sum(record.failed.values())
        result = "read" if unread == 0 else "unread" if unread >= record.subjects else "partly-read"
        self._probes.labels(kind, result).inc()
        self._subjects.labels(kind).inc(record.subjects)
        self._seconds.labels(kind).observe(record.seconds)
        self._last_probe.labels(kind).set(record.at)
        for category, count in record.failed.items():
            self._failures.labels(kind, category).inc(count)

    def _kind(self, kind: str) -> str:
        return kind if kind in self._kinds else OTHER


class _Maker:
    """Makes metrics in one registry."""

    def __init__(self, registry: prometheus_client.CollectorRegistry) -> None:
        self._registry = registry

    def counter(self, name: str, text: str, *labels: str) -> prometheus_client.Counter:
        return prometheus_client.Counter(name, text, labels, registry=self._registry)

    def gauge(self, name: str, text: str, *labels: str) -> prometheus_client.Gauge:
        return prometheus_client.Gauge(name, text, labels, registry=self._registry)

    def histogram(self, name: str, text: str, buckets: Sequence[float], *labels: str) -> prometheus_client.Histogram:
        return prometheus_client.Histogram(name, text, labels, registry=self._registry, buckets=buckets)


class _RateLimits:
    """The last word on each credential, of a bounded number of hosts and credentials."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, ports.RateLimit]] = {}

    def tightest(self, record: ports.RateLimit) -> tuple[str, float]:
        """The label of the record's host, and the lowest ratio of its credentials."""
        with self._lock:
            host = record.host if record.host in self._known or len(self._known) < HOST_LIMIT else OTHER
            known = self._known.setdefault(host, {})
            known.pop(record.credential, None)
            known[record.credential] = record
            if len(known) > CREDENTIAL_LIMIT:
                known.pop(next(iter(known)))
            return host, min(_ratio(each, record.at) for each in known.values())


def _ratio(record: ports.RateLimit, now: ids.Instant) -> float:
    """What is left, 0 to 1: all of it once the period of the record is over."""
    if record.resets_at <= now:
        return 1.0
    return min(1.0, max(0.0, record.remaining / record.limit)) if record.limit > 0 else 0.0


def _move(gauge: prometheus_client.Gauge, labels: tuple[str, ...], old: str | None, new: str | None) -> None:
    if old is not None:
        gauge.labels(*labels, old).dec()
    if new is not None:
        gauge.labels(*labels, new).inc()


def _phase(name: str | None) -> str | None:
    return name if name is None or name in PHASES else OTHER


def _labels_of(verdict: verdicts.Verdict) -> tuple[str, str]:
    return type(verdict).__name__, str(verdict.reason)


def _verdict_labels() -> Iterator[tuple[str, str]]:
    yield from (("Quiet", reason) for reason in verdicts.QuietReason)
    yield from (("Wake", reason) for reason in verdicts.WakeReason)
    yield from (("Terminal", outcome.value.lower()) for outcome in observations.Outcome)
    yield from (("Stop", reason) for reason in verdicts.StopReason)
