"""A decision, and a state document, against a baseline that does nothing but JSON."""

import json

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.bench import watches
from vigil.decision import decide
from vigil.model import limits, states, verdicts
from vigil.state import codec

pytestmark = pytest.mark.bench

LIMITS = limits.Limits()
DOCUMENT = codec.encode(watches.remembered(watches.read(100)))


def decided(benchmark: BenchmarkFixture, count: int, state: states.State) -> verdicts.Verdict:
    """Measure a decision over so many entries."""
    reading = {watches.SUBJECT: watches.read(count)}
    benchmark.extra_info["entries"] = count
    made: decide.Decision = benchmark(decide.decide, reading, state, LIMITS, watches.NOW)
    return made.verdict


@pytest.mark.parametrize("count", [20, 100, 300, 1000])
def test_decision_with_a_full_memory(benchmark: BenchmarkFixture, count: int) -> None:
    verdict = decided(benchmark, count, watches.remembered(watches.read(count)))
    assert verdict == verdicts.Quiet(verdicts.QuietReason.HANDLED)


def test_decision_with_a_window(benchmark: BenchmarkFixture) -> None:
    verdict = decided(benchmark, 20, watches.waiting(watches.read(20)))
    assert verdict == verdicts.Quiet(verdicts.QuietReason.COALESCING)


def test_decision_with_a_wake_in_flight(benchmark: BenchmarkFixture) -> None:
    reading = {watches.SUBJECT: watches.read(20)}
    sent = decide.decide(reading, watches.waiting(watches.read(20)), LIMITS, watches.NOW + 600)
    assert isinstance(sent.verdict, verdicts.Wake)
    assert decided(benchmark, 20, sent.state) == verdicts.Quiet(verdicts.QuietReason.IN_FLIGHT)


def test_decision_of_a_first_tick(benchmark: BenchmarkFixture) -> None:
    verdict = decided(benchmark, 20, states.State(watches.UID))
    assert verdict == verdicts.Quiet(verdicts.QuietReason.COALESCING)


def test_document_decoded_and_encoded(benchmark: BenchmarkFixture) -> None:
    def both() -> str:
        state = codec.decode(DOCUMENT, watches.UID)
        assert isinstance(state, states.State)
        return codec.encode(state)

    benchmark.extra_info["bytes"] = len(DOCUMENT)
    assert benchmark(both) == DOCUMENT


def test_document_by_json_alone(benchmark: BenchmarkFixture) -> None:
    def both() -> str:
        return json.dumps(json.loads(DOCUMENT), separators=(",", ":"), ensure_ascii=False, allow_nan=False)

    benchmark.extra_info["bytes"] = len(DOCUMENT)
    assert benchmark(both) == DOCUMENT
