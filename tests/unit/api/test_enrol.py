"""What only a kind can check is checked when a Watch is enrolled, with the path of the field."""

import copy
import pathlib
from typing import Any

import pytest

from tests.unit.api import table, toys
from vigil.api import enrol, manifest, times
from vigil.kind import registry
from vigil.model import limits, wakes
from vigil.tick import enrolment

EXAMPLES = sorted((pathlib.Path(__file__).parents[3] / "crds" / "examples").glob("*.yaml"))


def enrolled(*subjects: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> enrolment.Enrolment:
    """The enrolment of a Watch of toys."""
    body = copy.deepcopy(table.BASE)
    body["metadata"] = {"name": "api", "namespace": "team-a", "annotations": annotations or {}}
    body["spec"] = {**table.BASE["spec"], **({"subjects": list(subjects)} if subjects else {}), **spec}
    return enrol.enrol(manifest.parse_watch(body), toys.KINDS)


def refusal(*subjects: dict[str, Any], **spec: Any) -> str:
    """What is said of a Watch that its kind does not accept."""
    with pytest.raises(enrol.InvalidSpec) as refused:
        enrolled(*subjects, **spec)
    return str(refused.value)


def test_a_plain_watch_has_the_defaults_of_the_resource() -> None:
    watch = enrolled()
    assert watch.limits == limits.Limits()
    assert watch.cadence == enrolment.Cadence()
    assert (watch.credential, watch.deliver, watch.silence_until, watch.suspend) == (None, None, None, False)
    assert watch.host == "toys.example.com"
    assert [(one.id, one.label) for one in watch.targets] == [("toy://toys.example.com/team-a/api", "toy/api")]


def test_all_of_a_spec_arrives() -> None:
    watch = enrolled(
        {"name": "api"},
        {"name": "store"},
        objective="alarm",
        description="all of it",
        options={"rules": [{"when": "now"}]},
        source={"host": "Toys.Example.org:8443", "credentialRef": {"name": "toys"}},
        cadence={"interval": "30s", "quietInterval": "1h", "quietAfter": "0s"},
        policy={
            "realertAfter": "1h",
            "coalesce": {"window": "0s", "max": "45m"},
            "settle": "90s",
            "floorTicks": 10,
            "blindAfter": 0,
            "stall": {"ticks": 3, "minDuration": "24h", "action": "Off"},
            "onFirstObservation": "Baseline",
            "confirm": "Delivered",
        },
        budgets={"turns": None, "tokens": 1000, "providerErrors": 5, "activeTime": "2h", "lifetime": "24h"},
        exclusive="release",
        deliver={
            "mode": "Fresh",
            "fresh": {"jobFrom": {"cronJob": {"name": "agent"}}},
            "wake": False,
            "prompt": "look",
            "prompts": {"succeeded": "go on", "failed": "mend"},
            "notify": {"urlFrom": {"secretKeyRef": {"name": "alerts", "key": "url"}}},
        },
        suspend=True,
        annotations={
            "vigil.dev/poke": "7",
            "vigil.dev/reset": "1",
            "vigil.dev/silence-until": "2026-03-01T10:00:00+01:00",
        },
    )
    assert watch.limits == limits.Limits(
        policy=limits.Policy(
            realert_after=3600.0,
            coalesce_window=0.0,
            coalesce_max=2700.0,
            settle=90.0,
            floor_ticks=10,
            blind_after=0,
            stall_ticks=3,
            stall_min_duration=86_400.0,
            stall_action=limits.StallAction.OFF,
            on_first_observation=limits.FirstObservation.BASELINE,
            confirm=limits.Confirm.DELIVERED,
        ),
        budgets=limits.Budgets(turns=None, tokens=1000, provider_errors=5, active_time=7200.0, lifetime=86_400.0),
        finite=False,
    )
    assert watch.cadence == enrolment.Cadence(30.0, 3600.0, 0.0)
    assert watch.deliver == wakes.Deliver(
        mode=wakes.Mode.FRESH,
        wake=False,
        prompt="look",
        prompts=(("failed", "mend"), ("succeeded", "go on")),
        notify=wakes.Notify(url_from=wakes.SecretKey("alerts", "url")),
        fresh=wakes.Fresh(cron_job="agent"),
    )
    assert watch.options == toys.ToyOptions(rules=(toys.ToyRule(when="now"),))
    assert (watch.host, watch.credential) == ("toys.example.org:8443", wakes.SecretKey("toys", "token"))
    assert (watch.description, watch.exclusive, watch.suspend) == ("all of it", "release", True)
    assert (watch.poke, watch.reset) == ("7", "1")
    assert watch.silence_until == times.parse("2026-03-01T09:00:00Z")
    assert [one.label for one in watch.targets] == ["toy/api", "toy/store"]


@pytest.mark.parametrize(
    ("deliver", "value"),
    [
        ({"session": "s"}, wakes.Deliver(session="s")),
        ({"notify": {"receiver": "chat"}}, wakes.Deliver(notify=wakes.Notify(receiver="chat"))),
        (
            {"mode": "Fresh", "fresh": {"endpoint": "agents"}},
            wakes.Deliver(mode=wakes.Mode.FRESH, fresh=wakes.Fresh(endpoint="agents")),
        ),
        (
            {"mode": "Fresh", "fresh": {"command": "agent"}},
            wakes.Deliver(mode=wakes.Mode.FRESH, fresh=wakes.Fresh(command="agent")),
        ),
    ],
)
def test_each_way_to_deliver_arrives(deliver: dict[str, Any], value: wakes.Deliver) -> None:
    assert enrolled(deliver=deliver).deliver == value


def test_a_standing_objective_has_no_lifetime_unless_the_spec_gives_one() -> None:
    assert enrolled(objective="alarm").limits.budgets.lifetime is None
    assert enrolled(objective="alarm", budgets={"lifetime": "1h"}).limits.budgets.lifetime == 3600.0
    assert enrolled(objective="done").limits.budgets.lifetime == limits.Budgets().lifetime


def test_a_kind_that_does_not_exist_is_refused_with_those_that_do() -> None:
    assert refusal(kind="toys") == "spec.kind: there is no kind 'toys'; kinds are: inside, toy"


def test_without_any_kind_that_is_said() -> None:
    with pytest.raises(enrol.InvalidSpec, match=r"spec\.kind: there is no kind .toy.; no kind is enabled"):
        enrol.enrol(manifest.parse_watch(table.BASE), registry.Registry([]))


@pytest.mark.parametrize(
    ("subjects", "spec", "sentence"),
    [
        (
            [],
            {"objective": "merged"},
            "spec.objective: the kind 'toy' has no objective 'merged'; its objectives are: alarm, done",
        ),
        ([{}], {}, "spec.subjects[0].name: is required"),
        ([{"name": "api"}, {"name": "A"}], {}, "spec.subjects[1].name: must match ^[a-z-]+$"),
        ([{"nam": "api"}], {}, "spec.subjects[0].nam: there is no such field; did you mean name?"),
        ([], {"options": {"rule": []}}, "spec.options.rule: there is no such field; did you mean rules?"),
        (
            [],
            {"options": {"rules": [{"when": "too late"}]}},
            "spec.options.rules[0].when: has more than 5 characters",
        ),
        ([], {"options": {"rules": [{}]}}, "spec.options.rules[0].when: is required"),
        (
            [{"name": "api"}, {"name": "store"}, {"name": "api", "at": "toys.example.com"}],
            {},
            "spec.subjects[2]: names the same subject as spec.subjects[0]: toy/api",
        ),
        ([{"name": "nameless"}], {}, "spec.subjects[0]: has no name of its own"),
        (
            [{"name": "endless"}],
            {},
            "spec.objective: done never comes for something endless; use alarm",
        ),
        ([{"name": "ruled"}], {}, "spec.options.rules: something ruled needs a rule"),
        ([{"name": "api"}, {"name": "placeless"}], {}, "spec.subjects[1].at: is needed for something placeless"),
        ([{"name": "broken"}], {}, "spec.subjects[0]: is broken"),
        (
            [],
            {"kind": "inside", "source": {"host": "elsewhere"}},
            "spec.source.host: the kind 'inside' reads the operator's own cluster only",
        ),
        (
            [],
            {"kind": "inside", "source": {"credentialRef": {"name": "token"}}},
            "spec.source.credentialRef: the kind 'inside' takes no credential: it reads the operator's own cluster",
        ),
    ],
)
def test_what_a_kind_does_not_accept_is_refused_with_its_path(
    subjects: list[dict[str, Any]], spec: dict[str, Any], sentence: str
) -> None:
    assert sentence in refusal(*subjects, **spec)


def test_a_kind_of_the_cluster_has_its_own_host() -> None:
    assert enrolled(kind="inside", source={"host": "cluster"}).host == "cluster"


def test_a_silence_needs_a_time_with_its_offset() -> None:
    silence = {"vigil.dev/silence-until": "2026-03-01T10:00:00"}
    assert refusal(annotations=silence) == (
        "metadata.annotations[vigil.dev/silence-until]: must be a time with its offset,"
        " such as 2026-03-01T10:00:00Z or 2026-03-01T11:00:00+01:00"
    )
    assert enrolled(annotations={"vigil.dev/silence-until": ""}).silence_until is None


def test_subjects_that_look_alike_are_told_apart_by_their_labels() -> None:
    watch = enrolled({"name": "api"}, {"name": "api", "at": "other.example.com"}, {"name": "store"})
    assert [one.label for one in watch.targets] == [
        "toy://toys.example.com/team-a/api",
        "toy://other.example.com/team-a/api",
        "toy/store",
    ]


def test_an_invalid_spec_is_an_invalid_manifest() -> None:
    assert issubclass(enrol.InvalidSpec, manifest.InvalidManifest)


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.name for file in EXAMPLES])
def test_every_example_is_accepted_by_its_kind(file: pathlib.Path) -> None:
    kinds = registry.load()
    for watch in manifest.load_manifests(file.read_bytes(), file.name):
        assert enrol.enrol(watch, kinds).targets


def test_there_are_examples() -> None:
    assert "kubernetes_rollout.yaml" in [file.name for file in EXAMPLES]
