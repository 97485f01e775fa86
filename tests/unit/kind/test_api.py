"""What the author of a kind declares, and what is made of it."""

import json

import pytest

from tests.unit import gauges
from vigil.kind import api, transport
from vigil.model import failures, observations

SCOPE = api.Scope("team-a", "gauges.example.com")


def key(pattern: str, stream: str = "ci") -> api.Key:
    severity, resets_on = observations.Severity.WAKE, observations.ResetsOn.REVISION
    return api.Key(pattern, stream, frozenset({severity}), frozenset({resets_on}), "It is so.")


@pytest.mark.parametrize(
    ("pattern", "seen", "matches"),
    [
        ("merged", "merged", True),
        ("merged", "merged:by", False),
        ("merged", "unmerged", False),
        ("red:<job>", "red:build", True),
        ("red:<job>", "red:", True),
        ("red:<job>", "reddish", False),
        ("red:<workflow>/<name>", "red:ci/build", True),
    ],
)
def test_a_row_describes_its_key_or_all_with_its_prefix(pattern: str, seen: str, matches: bool) -> None:
    assert key(pattern).matches(seen) is matches


def test_a_key_has_the_stream_of_its_row_else_the_name_of_the_kind() -> None:
    kind = api.Kind(**{**vars(gauges.KIND), "keys": (key("red:<job>"), key("comment:<id>", "review"))})
    assert [kind.stream_of(seen) for seen in ("red:build", "comment:7", "else")] == ["ci", "review", "gauge"]


def test_a_subject_is_named_by_kind_host_and_identity() -> None:
    assert gauges.KIND.subject_id(gauges.GaugeSubject(name="a"), SCOPE) == "gauge://gauges.example.com/a"


def test_a_subject_may_have_a_host_of_its_own() -> None:
    class Far(gauges.GaugeSubject):
        def host(self, scope: api.Scope) -> str:
            return "far.example.com"

    assert gauges.KIND.subject_id(Far(name="a"), SCOPE) == "gauge://far.example.com/a"


def test_a_subject_without_an_identity_or_a_label_is_none() -> None:
    with pytest.raises(NotImplementedError):
        api.Subject().identity(SCOPE)
    with pytest.raises(NotImplementedError):
        api.Subject().label()


def test_a_kind_that_says_nothing_else_has_one_partition_no_objection_and_its_payload_as_evidence() -> None:
    fields = {
        name: value for name, value in vars(gauges.KIND).items() if name not in {"partition", "evidence", "check"}
    }
    kind = api.Kind(**fields)
    subject = gauges.GaugeSubject(name="a")
    assert kind.partition(subject, SCOPE) == ""
    assert kind.check(subject, "done", api.NoOptions()) is None
    payload = {"b": 1, "a": ["ü"]}
    assert json.loads(kind.evidence(api.Snapshot(payload))) == payload
    assert kind.evidence(api.Snapshot(payload)).splitlines()[1] == '  "a": ['


def test_the_models_of_a_kind_are_strict_about_names_and_frozen() -> None:
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        gauges.GaugeSubject.model_validate({"name": "a", "nmae": "b"})
    with pytest.raises(ValueError, match="frozen"):
        gauges.GaugeSubject(name="a").name = "b"  # type: ignore[misc] # that it cannot be set is the point


def test_an_error_of_a_read_carries_its_failure() -> None:
    failure = failures.Failure(failures.Category.TIMEOUT, "no answer in 10 s")
    error = transport.ReadError(failure)
    assert error.failure is failure
    assert str(error) == "timeout: no answer in 10 s"
