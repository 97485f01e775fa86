"""Manifests of files and of the API server become Watches, or one error that says what to mend."""

import copy
import json
import types
from typing import Any

import pytest

from tests.unit.api import table
from vigil.api import manifest, times
from vigil.model import limits

ONE = """
apiVersion: vigil.dev/v1alpha1
kind: Watch
metadata: {name: api, namespace: team-a}
spec: {kind: toy, objective: done, subjects: [{name: api}]}
"""
TWO = ONE.replace("name: api, namespace: team-a", "name: store")


def watch(**metadata: Any) -> dict[str, Any]:
    """A manifest with this metadata."""
    body = copy.deepcopy(table.BASE)
    body["metadata"] = {"name": "api", **metadata}
    return body


def test_every_watch_of_a_file_is_loaded_in_order() -> None:
    loaded = manifest.load_manifests(f"{ONE}---\n# nothing\n---{TWO}", "watches.yaml")
    assert [(one.metadata.namespace, one.metadata.name) for one in loaded] == [("team-a", "api"), ("default", "store")]


@pytest.mark.parametrize(
    ("version", "kind"), [("v1", "List"), ("vigil.dev/v1alpha1", "WatchList")], ids=["List", "WatchList"]
)
def test_a_list_is_opened(version: str, kind: str) -> None:
    items = [watch(), watch(namespace="team-b")]
    loaded = manifest.load_manifests(json.dumps({"apiVersion": version, "kind": kind, "items": items}), "all.json")
    assert [one.metadata.namespace for one in loaded] == ["default", "team-b"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [", "w.yaml: line 2: it is not YAML"),
        ("# nothing", "w.yaml: there is no Watch in it"),
        ("apiVersion: v1\nkind: List\nitems: []", "w.yaml: there is no Watch in it"),
        ("just text", "w.yaml: document 1: a Watch is an object, not a string"),
        ("[1]", "w.yaml: document 1: a Watch is an object, not a list"),
        (
            f"{ONE}---\napiVersion: v1\nkind: Secret\nmetadata: {{name: token}}",
            "w.yaml: document 2 (token): this is Secret (v1), and only Watches are read:"
            " apiVersion vigil.dev/v1alpha1, kind Watch",
        ),
        ("metadata: {name: api}", "this is something without a kind (without an apiVersion)"),
        (ONE.replace("v1alpha1", "v1"), "this is Watch (vigil.dev/v1), and only Watches are read"),
        (
            ONE.replace("objective: done", "objektive: done"),
            "spec.objektive: there is no such field; did you mean objective?",
        ),
        (ONE.replace("objective: done", "goal: done"), "spec.objective: is required"),
        (ONE.replace("name: api, ", ""), "w.yaml: document 1: metadata.name: is required"),
        (ONE.replace("{name: api, namespace: team-a}", "api"), "metadata: must be an object, not a string"),
        (f"{ONE}---{ONE}", "w.yaml: the Watch team-a/api stands twice"),
        ("apiVersion: v1\nkind: List\nitems: [5]", "w.yaml: document 1, items[0]: a Watch is an object, not a number"),
        ("apiVersion: v1\nkind: List\nitems: {}", "this is List (v1), and only Watches are read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(text: str, sentence: str) -> None:
    with pytest.raises(manifest.InvalidManifest) as refused:
        manifest.load_manifests(text, "w.yaml")
    assert sentence in str(refused.value)
    assert "w.yaml" in str(refused.value)


def test_all_that_is_wrong_is_told_at_once() -> None:
    body = watch()
    body["spec"] |= {"suspend": "yes", "cadance": {}, "budgets": {"turns": -1}}
    with pytest.raises(manifest.InvalidManifest) as refused:
        manifest.parse_watch(body)
    assert [problem.path for problem in refused.value.problems] == [
        "spec.budgets.turns",
        "spec.suspend",
        "spec.cadance",
    ]
    assert f"{refused.value.path}: {refused.value.message}" == str(refused.value)


def test_not_more_than_eight_problems_are_told() -> None:
    body = watch()
    body["spec"] |= {f"unknown{number}": 1 for number in range(20)}
    with pytest.raises(manifest.InvalidManifest) as refused:
        manifest.parse_watch(body)
    assert len(refused.value.problems) == 8


def test_an_object_of_the_api_server_is_taken_with_all_its_metadata() -> None:
    body = watch(
        namespace="team-a",
        uid="0b1c",
        generation=7,
        creationTimestamp="2026-03-01T10:00:00Z",
        resourceVersion="991",
        labels={"app": "api"},
        managedFields=[{"manager": "kubectl"}],
        annotations={"vigil.dev/poke": "1", "other": "x"},
    )
    parsed = manifest.parse_watch(types.MappingProxyType({**body, "status": {"phase": "Watching"}}))
    ref = manifest.ref_of(parsed)
    assert (ref.uid, ref.namespace, ref.name, ref.generation) == ("0b1c", "team-a", "api", 7)
    assert manifest.created_of(parsed) == times.parse("2026-03-01T10:00:00Z")
    assert parsed.status == {"phase": "Watching"}


def test_a_watch_of_a_file_is_the_same_one_as_long_as_its_name_is() -> None:
    first = manifest.ref_of(manifest.parse_watch(watch(namespace="team-a")))
    again = manifest.ref_of(manifest.parse_watch(watch(namespace="team-a", labels={"a": "b"})))
    other = manifest.ref_of(manifest.parse_watch(watch(namespace="team-b")))
    assert first == again
    assert first.uid != other.uid


def test_another_spec_of_a_file_is_another_generation() -> None:
    body = watch()
    first = manifest.ref_of(manifest.parse_watch(body))
    body["spec"]["cadence"] = {"interval": "2m"}
    assert manifest.ref_of(manifest.parse_watch(body)) == first
    body["spec"]["cadence"] = {"interval": "3m"}
    changed = manifest.ref_of(manifest.parse_watch(body))
    assert changed.generation != first.generation
    assert changed.uid == first.uid
    assert 0 < changed.generation < 2**32


def test_a_time_of_creation_that_is_none_is_refused() -> None:
    with pytest.raises(manifest.InvalidManifest, match=r"metadata\.creationTimestamp: must be a time with its offset"):
        manifest.parse_watch(watch(creationTimestamp="yesterday"))


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("suspend", 1, "spec.suspend: must be true or false, not a number"),
        ("description", ["x"], "spec.description: must be a string, not a list"),
        ("cadence", "2m", "spec.cadence: must be an object, not a string"),
        ("subjects", "api", "spec.subjects: must be a list, not a string"),
        ("budgets", {"turns": "8"}, "spec.budgets.turns: must be a whole number, not a string"),
        ("budgets", {"turns": 1.5}, "spec.budgets.turns: must be a whole number"),
        ("budgets", {"turns": -1}, "spec.budgets.turns: must be at least 0"),
        ("budgets", {"turns": 10**7}, "spec.budgets.turns: must be at most 1000000"),
        ("kind", "Git Hub", "spec.kind: must match ^[a-z]"),
        ("subjects", [], "spec.subjects: has 0 items, and at least 1 are needed"),
        ("description", "x" * 2000, "spec.description: has more than 1024 characters"),
        ("policy", {"confirm": "no"}, "spec.policy.confirm: must be one of 'Explicit' or 'Delivered'"),
        ("policy", {"stall": {"action": False}}, "must be one of 'Stop', 'Notify' or 'Off', in quotes"),
        ("policy", {"settle": "5 min"}, "spec.policy.settle: a duration is written like 90s, 10m or 1h30m"),
    ],
)
def test_a_value_of_another_shape_is_refused_in_plain_words(field: str, value: object, sentence: str) -> None:
    body = watch()
    body["spec"][field] = value
    with pytest.raises(manifest.InvalidManifest) as refused:
        manifest.parse_watch(body)
    assert sentence in str(refused.value)


def test_limits_without_a_watch_have_the_defaults_of_one() -> None:
    assert manifest.parse_limits(None, {}, finite=True) == limits.Limits()


def test_a_standing_objective_has_no_lifetime_unless_one_is_given() -> None:
    assert manifest.parse_limits({}, {}, finite=False).budgets.lifetime is None
    assert manifest.parse_limits({}, {"lifetime": "24h"}, finite=False).budgets.lifetime == 86_400.0
    assert manifest.parse_limits({}, {"lifetime": None}, finite=True).budgets.lifetime is None


def test_where_no_api_server_is_asked_a_zero_is_a_duration() -> None:
    assert manifest.parse_limits({"coalesce": {"window": 0}}, {}, finite=True).policy.coalesce_window == 0.0
    for bad in (False, 5, 0.5):
        with pytest.raises(manifest.InvalidManifest, match=r"spec\.policy\.coalesce\.window: must be a string"):
            manifest.parse_limits({"coalesce": {"window": bad}}, {}, finite=True)


def test_a_part_that_stands_alone_is_refused_with_its_path() -> None:
    with pytest.raises(
        manifest.InvalidManifest, match=r"spec\.budgets\.turn: there is no such field; did you mean turns\?"
    ):
        manifest.parse_limits({}, {"turn": 5}, finite=True)
    with pytest.raises(manifest.InvalidManifest, match=r"spec\.policy: must be an object, not a list"):
        manifest.parse_limits([], {}, finite=True)


@pytest.mark.parametrize(
    "text", ["2026-03-01T10:00:00", "2026-03-01", "10:00", "", "2026-03-01T25:00:00Z", "2026-13-01T10:00:00Z", "now"]
)
def test_a_time_without_its_offset_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match="time"):
        times.parse(text)


def test_a_time_is_the_same_instant_at_every_offset() -> None:
    assert times.parse("2026-03-01T11:00:00+01:00") == times.parse("2026-03-01t10:00:00z") == 1_772_359_200.0
    assert times.parse("2026-03-01T10:00:00.25Z") == 1_772_359_200.25
