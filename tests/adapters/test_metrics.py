"""The metrics say what the records said, and their series stay few."""

import collections
import concurrent.futures
import dataclasses
import typing

import prometheus_client
import pytest

from vigil import ports
from vigil.adapters import metrics
from vigil.model import failures, ids, observations, verdicts, wakes

KIND = "http_json"
IDENTITY = verdicts.Identity(ids.SubjectId("http_json://status.example/acme"), "matched:down", None)
OBSERVATION = observations.Observation("matched:down", observations.Severity.WAKE, observations.ResetsOn.NEVER)
ENTRY = verdicts.Entry(IDENTITY, OBSERVATION)


@dataclasses.dataclass
class Scrape:
    registry: prometheus_client.CollectorRegistry
    metrics: metrics.Metrics

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(name, labels)

    def series(self) -> int:
        return sum(len(family.samples) for family in self.registry.collect())


@pytest.fixture
def scrape() -> Scrape:
    registry = prometheus_client.CollectorRegistry()
    return Scrape(registry, metrics.Metrics(registry, [KIND, "kubernetes_rollout"], version="1.2.3"))


def phase(old: str | None, new: str | None, kind: str = KIND) -> ports.PhaseChanged:
    return ports.PhaseChanged(kind, old, new)


def test_every_series_of_a_closed_list_is_there_before_the_first_record(scrape: Scrape) -> None:
    for reason in verdicts.QuietReason:
        assert scrape.value("vigil_verdicts_total", type="Quiet", reason=reason) == 0
    for stop in verdicts.StopReason:
        assert scrape.value("vigil_verdicts_total", type="Stop", reason=stop) == 0
    for wake in verdicts.WakeReason:
        assert scrape.value("vigil_verdicts_total", type="Wake", reason=wake) == 0
    for outcome in ("succeeded", "failed"):
        assert scrape.value("vigil_verdicts_total", type="Terminal", reason=outcome) == 0
    for category in failures.Category:
        assert scrape.value("vigil_probe_failures_total", kind=KIND, category=category) == 0
        assert scrape.value("vigil_group_outages", kind=KIND, category=category) == 0
    for state in wakes.OUTCOMES:
        assert scrape.value("vigil_wakes_total", outcome=state) == 0
    for queued in wakes.QueuedReason:
        assert scrape.value("vigil_undelivered_wakes", reason=queued) == 0
    for error in ports.StatusWriteError:
        assert scrape.value("vigil_status_write_errors_total", reason=error) == 0
    for name in metrics.PHASES:
        assert scrape.value("vigil_watches", kind=KIND, phase=name) == 0
    assert scrape.value("vigil_last_probe_timestamp_seconds", kind=KIND) == 0
    assert scrape.value("vigil_blind_watches", kind=KIND) == 0
    assert scrape.value("vigil_timers_lost_total") == 0
    assert scrape.value("vigil_build_info", version="1.2.3") == 1


def test_no_record_adds_a_series_for_an_installed_kind(scrape: Scrape) -> None:
    before = scrape.series()
    for number in range(100):
        scrape.metrics.emit(phase(None, "Watching"))
        scrape.metrics.emit(ports.TickDone(KIND, verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN), float(number)))
        scrape.metrics.emit(ports.ProbeDone(KIND, 3, 0.2, 1.0, {failures.Category.TIMEOUT: 1}))
        scrape.metrics.emit(ports.TickDone(KIND, verdicts.Terminal((ENTRY,), observations.Outcome.FAILED), 0.0))
        scrape.metrics.emit(ports.WakeEnded(wakes.WakeState.NOTIFIED))
    assert scrape.series() == before


@pytest.mark.parametrize(
    ("verdict", "labels"),
    [
        (verdicts.Quiet(verdicts.QuietReason.HOLDING), ("Quiet", "holding")),
        (verdicts.Wake((ENTRY,), "down", verdicts.WakeReason.WINDOW_CAP), ("Wake", "window-cap")),
        (verdicts.Terminal((ENTRY,), observations.Outcome.SUCCEEDED), ("Terminal", "succeeded")),
        (verdicts.Stop(verdicts.StopReason.PROVIDER_ERRORS), ("Stop", "provider-errors")),
    ],
)
def test_a_tick_counts_its_verdict_by_type_and_reason(
    scrape: Scrape, verdict: verdicts.Verdict, labels: tuple[str, str]
) -> None:
    scrape.metrics.emit(ports.TickDone(KIND, verdict, 12.0))
    assert scrape.value("vigil_verdicts_total", type=labels[0], reason=labels[1]) == 1
    assert scrape.value("vigil_ticks_total", kind=KIND) == 1
    assert scrape.value("vigil_tick_lateness_seconds_bucket", le="5.0") == 0
    assert scrape.value("vigil_tick_lateness_seconds_bucket", le="15.0") == 1


def test_a_tick_before_its_time_is_not_late(scrape: Scrape) -> None:
    scrape.metrics.emit(ports.TickDone(KIND, verdicts.Quiet(verdicts.QuietReason.PENDING), -30.0))
    assert scrape.value("vigil_tick_lateness_seconds_sum") == 0


@pytest.mark.parametrize(
    ("failed", "result"),
    [
        ({}, "read"),
        ({failures.Category.NOT_FOUND: 1}, "partly-read"),
        ({failures.Category.NOT_FOUND: 1, failures.Category.TIMEOUT: 2}, "unread"),
    ],
)
def test_a_probe_counts_its_result_and_its_failures_by_category(
    scrape: Scrape, failed: dict[failures.Category, int], result: str
) -> None:
    scrape.metrics.emit(ports.ProbeDone(KIND, 3, 0.3, 1_700_000_000.0, failed))
    assert scrape.value("vigil_probes_total", kind=KIND, result=result) == 1
    assert scrape.value("vigil_probed_subjects_total", kind=KIND) == 3
    assert scrape.value("vigil_probe_seconds_count", kind=KIND) == 1
    assert scrape.value("vigil_last_probe_timestamp_seconds", kind=KIND) == 1_700_000_000.0
    for category in failures.Category:
        count = scrape.value("vigil_probe_failures_total", kind=KIND, category=category)
        assert count == failed.get(category, 0)


def test_a_watch_is_counted_in_its_last_phase_only_and_not_at_all_when_it_is_gone(scrape: Scrape) -> None:
    for old, new in [(None, "Pending"), ("Pending", "Watching"), ("Watching", "Stalled")]:
        scrape.metrics.emit(phase(old, new))
    assert scrape.value("vigil_watches", kind=KIND, phase="Stalled") == 1
    assert scrape.value("vigil_watches", kind=KIND, phase="Watching") == 0
    scrape.metrics.emit(phase("Stalled", None))
    assert scrape.value("vigil_watches", kind=KIND, phase="Stalled") == 0


def test_a_kind_that_is_not_installed_is_other(scrape: Scrape) -> None:
    before = scrape.series()
    for number in range(50):
        scrape.metrics.emit(phase(None, "Invalid", kind=f"made_up_{number}"))
    assert scrape.value("vigil_watches", kind="other", phase="Invalid") == 50
    assert scrape.series() == before


def test_a_phase_of_a_later_version_is_other(scrape: Scrape) -> None:
    scrape.metrics.emit(phase(None, "Hibernating"))
    assert scrape.value("vigil_watches", kind=KIND, phase="other") == 1


def test_a_held_up_wake_is_counted_under_its_present_reason(scrape: Scrape) -> None:
    busy, nobody = wakes.QueuedReason.BUSY, wakes.QueuedReason.NO_RECIPIENT
    scrape.metrics.emit(ports.QueueChanged(None, busy))
    scrape.metrics.emit(ports.QueueChanged(busy, nobody))
    assert scrape.value("vigil_undelivered_wakes", reason="Busy") == 0
    assert scrape.value("vigil_undelivered_wakes", reason="NoRecipient") == 1
    scrape.metrics.emit(ports.QueueChanged(nobody, None))
    assert scrape.value("vigil_undelivered_wakes", reason="NoRecipient") == 0


def test_an_ended_wake_counts_its_outcome_and_its_tokens(scrape: Scrape) -> None:
    scrape.metrics.emit(ports.WakeEnded(wakes.WakeState.DELIVERED, tokens=1200))
    scrape.metrics.emit(ports.WakeEnded(wakes.WakeState.LOST))
    assert scrape.value("vigil_wakes_total", outcome="Delivered") == 1
    assert scrape.value("vigil_wakes_total", outcome="Lost") == 1
    assert scrape.value("vigil_wake_tokens_total") == 1200


def test_watches_that_are_read_more_seldom_come_and_go(scrape: Scrape) -> None:
    assert scrape.value("vigil_paced_watches", kind=KIND) == 0
    scrape.metrics.emit(ports.PacedChanged(KIND, paced=True))
    assert scrape.value("vigil_paced_watches", kind=KIND) == 1
    scrape.metrics.emit(ports.PacedChanged(KIND, paced=False))
    assert scrape.value("vigil_paced_watches", kind=KIND) == 0


def test_blind_watches_and_group_outages_come_and_go(scrape: Scrape) -> None:
    scrape.metrics.emit(ports.BlindChanged(KIND, blind=True))
    scrape.metrics.emit(ports.OutageChanged(KIND, None, failures.Category.TIMEOUT))
    scrape.metrics.emit(ports.OutageChanged(KIND, failures.Category.TIMEOUT, failures.Category.TLS))
    assert scrape.value("vigil_blind_watches", kind=KIND) == 1
    assert scrape.value("vigil_group_outages", kind=KIND, category="timeout") == 0
    assert scrape.value("vigil_group_outages", kind=KIND, category="tls") == 1
    scrape.metrics.emit(ports.BlindChanged(KIND, blind=False))
    scrape.metrics.emit(ports.OutageChanged(KIND, failures.Category.TLS, None))
    assert scrape.value("vigil_blind_watches", kind=KIND) == 0
    assert scrape.value("vigil_group_outages", kind=KIND, category="tls") == 0


def limit(host: str, credential: str, remaining: int, *, resets_at: float = 3600.0, at: float = 0.0) -> ports.RateLimit:
    return ports.RateLimit(host, credential, 5000, remaining, resets_at, at)


def test_the_rate_limit_of_a_host_is_that_of_its_tightest_credential(scrape: Scrape) -> None:
    scrape.metrics.emit(limit("api.example", "team-a/token", 500))
    scrape.metrics.emit(limit("api.example", "team-b/token", 5000))
    assert scrape.value("vigil_rate_limit_remaining_ratio", host="api.example") == 0.1


def test_a_credential_whose_period_is_over_has_its_whole_allowance(scrape: Scrape) -> None:
    scrape.metrics.emit(limit("api.example", "team-a/token", 0))
    scrape.metrics.emit(limit("api.example", "team-b/token", 4000, resets_at=7200.0, at=3600.0))
    assert scrape.value("vigil_rate_limit_remaining_ratio", host="api.example") == 0.8


def test_a_limit_of_zero_leaves_nothing(scrape: Scrape) -> None:
    scrape.metrics.emit(ports.RateLimit("api.example", "team-a/token", 0, 0, 60.0, 0.0))
    assert scrape.value("vigil_rate_limit_remaining_ratio", host="api.example") == 0


def test_hosts_past_the_limit_share_one_series(scrape: Scrape) -> None:
    before = scrape.series()
    for number in range(metrics.HOST_LIMIT + 100):
        scrape.metrics.emit(limit(f"host-{number}.example", "team-a/token", 2500))
    assert scrape.series() == before + metrics.HOST_LIMIT + 1
    assert scrape.value("vigil_rate_limit_remaining_ratio", host="other") == 0.5


def test_lost_timers_failed_writes_and_leadership_are_counted(scrape: Scrape) -> None:
    scrape.metrics.emit(ports.TimerLost(KIND))
    scrape.metrics.emit(ports.StatusWriteFailed(ports.StatusWriteError.CONFLICT))
    scrape.metrics.emit(ports.LeadershipChanged(leading=True))
    assert scrape.value("vigil_timers_lost_total") == 1
    assert scrape.value("vigil_status_write_errors_total", reason="conflict") == 1
    assert scrape.value("vigil_leader") == 1
    scrape.metrics.emit(ports.LeadershipChanged(leading=False))
    assert scrape.value("vigil_leader") == 0


def test_records_from_many_threads_are_all_counted(scrape: Scrape) -> None:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(scrape.metrics.emit, [ports.TimerLost(KIND)] * 2000))
    assert scrape.value("vigil_timers_lost_total") == 2000


def test_every_record_is_frozen_and_counted_once_in_the_union() -> None:
    records = typing.get_args(ports.Record)
    assert all(dataclasses.fields(record) for record in records)
    assert all(record.__dataclass_params__.frozen for record in records)
    assert collections.Counter(records).most_common(1)[0][1] == 1
