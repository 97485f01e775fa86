"""The status says what is, and changes only when that changes."""

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import yaml

from tests.unit.api import status_cases as cases
from vigil.api import restore, status, times, v1alpha1_status
from vigil.model import failures, ids, observations, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import checkpoint
from vigil.tick import phase as phases

CASES = cases.cases()
BY_NAME = {case.name: case for case in CASES}

# Phase: Ready, Reconciling, Stalled, and what kstatus makes of them, on which Flux and Argo CD wait.
PHASES = {
    "Pending": ("Unknown", "True", "False", "InProgress"),
    "Watching": ("True", "False", "False", "Current"),
    "Suspended": ("True", "False", "False", "Current"),
    "Superseded": ("True", "False", "False", "Current"),
    "Succeeded": ("True", "False", "False", "Current"),
    "Failed": ("True", "False", "False", "Current"),
    "Expired": ("True", "False", "False", "Current"),
    "Exhausted": ("True", "False", "False", "Current"),
    "Invalid": ("False", "False", "True", "Failed"),
    "Blocked": ("False", "False", "True", "Failed"),
    "Stalled": ("False", "False", "True", "Failed"),
}


def invalid(prior: dict[str, Any] | None = None) -> dict[str, Any]:
    """The status of a Watch with a bad spec."""
    return status.render_invalid("spec.subjects[0].name", "is required", 4, prior, cases.NOW)


def condition(rendered: dict[str, Any], name: str) -> dict[str, Any]:
    """One condition of a status."""
    return next(one for one in rendered["conditions"] if one["type"] == name)


@pytest.mark.parametrize("case", CASES, ids=[case.claim for case in CASES])
def test_a_status_is_rendered_exactly(case: cases.Case) -> None:
    assert case.shown() == yaml.safe_load(case.golden.read_text(encoding="utf-8"))


def test_every_golden_status_has_its_case() -> None:
    assert sorted(cases.FOLDER.glob("*.yaml")) == sorted(case.golden for case in CASES)


def test_each_phase_says_of_ready_reconciling_and_stalled_what_the_table_says() -> None:
    seen: dict[str, tuple[str, ...]] = {}
    for rendered in [*(case.rendered() for case in CASES), invalid()]:
        three = tuple(condition(rendered, name)["status"] for name in ("Ready", "Reconciling", "Stalled"))
        seen[rendered["phase"]] = (*three, _kstatus(rendered))
    assert seen == PHASES
    assert seen.keys() == set(phases.Phase)


def test_kstatus_waits_for_a_generation_that_was_not_observed() -> None:
    assert _kstatus(BY_NAME["watching"].rendered(), generation=4) == "InProgress"


@pytest.mark.parametrize("case", CASES, ids=[case.claim for case in CASES])
def test_the_same_facts_give_the_same_bytes_at_any_later_time(case: cases.Case) -> None:
    first = case.rendered()
    again = status.render(case.left, first, case.now + 86_400)
    assert yaml.safe_dump(again, sort_keys=False) == yaml.safe_dump(first, sort_keys=False)


def test_a_quiet_tick_changes_nothing_but_the_engines_counters() -> None:
    case = BY_NAME["several-subjects"]
    first, later = case.rendered(), case.now + 120
    reading = {name: _worded_anew(of) for name, of in case.left.reading.items()}
    spent = dataclasses.replace(case.left.state.spent, active_time=897.7)
    state = dataclasses.replace(case.left.state, last_tick=later, spent=spent)
    since = {**case.left.since, **dict.fromkeys((cases.identity("api", "ready"), _COMMENT), case.now)}
    quiet = status.render(dataclasses.replace(case.left, reading=reading, state=state, since=since), first, later)
    assert quiet.pop("engine") != first.pop("engine")
    assert quiet == first


_COMMENT = cases.identity("store", "comment:7", None, "e2")


def _worded_anew(of: observations.ReadingOf) -> observations.ReadingOf:
    """The same reading, with the texts that a provider words differently each time."""
    if isinstance(of, failures.Failure):
        return dataclasses.replace(of, message=f"{of.message}, request 18")
    seen = tuple(dataclasses.replace(one, brief=f"{one.brief} for 3 minutes") for one in of.observations)
    error = None if of.error is None else dataclasses.replace(of.error, message="request 18")
    return dataclasses.replace(of, observations=seen, error=error, pending=7)


def test_a_transition_time_moves_with_the_status_and_not_with_the_reason() -> None:
    busy = BY_NAME["several-subjects"]
    first = busy.rendered()
    trouble = checkpoint.DeliveryTrouble(wakes.QueuedReason.NO_RECIPIENT, "")
    still = status.render(dataclasses.replace(busy.left, trouble=trouble), first, busy.now + 60)
    assert condition(still, "Delivered")["reason"] == "NoRecipient"
    assert condition(still, "Delivered")["lastTransitionTime"] == condition(first, "Delivered")["lastTransitionTime"]
    state = dataclasses.replace(busy.left.state, in_flight=None)
    told = (dataclasses.replace(busy.left.wakes[0], state=wakes.WakeState.DELIVERED),)
    done = status.render(dataclasses.replace(busy.left, trouble=None, state=state, wakes=told), still, busy.now + 120)
    assert condition(done, "Delivered") == {
        "type": "Delivered",
        "status": "True",
        "reason": "Delivered",
        "message": "",
        "lastTransitionTime": times.render(busy.now + 120),
        "observedGeneration": 3,
    }


def test_an_entry_that_is_shown_again_as_another_one_has_its_new_text() -> None:
    shown = cases.left(reading={cases.subject("api"): cases.read(cases.red("red:build", "first", episode="e1"))})
    first = status.render(shown, None, cases.NOW)
    again = cases.read(cases.red("red:build", "second", episode="e2"))
    second = status.render(dataclasses.replace(shown, reading={cases.subject("api"): again}), first, cases.NOW + 60)
    assert [one["brief"] for one in second["observations"]] == ["second"]


def test_an_error_of_another_category_has_its_own_message() -> None:
    down = BY_NAME["unreadable"]
    first = down.rendered()
    timeout = {cases.subject("api"): cases.failed(failures.Category.TIMEOUT, "no answer in 10 s")}
    second = status.render(dataclasses.replace(down.left, reading=timeout), first, down.now + 60)
    assert second["subjects"][0]["lastError"] == {"category": "timeout", "message": "no answer in 10 s"}
    assert condition(second, "Observed")["message"] == "toy/api: timeout: no answer in 10 s"
    healed = status.render(BY_NAME["watching"].left, second, down.now + 120)
    assert "lastError" not in healed["subjects"][0]
    assert condition(healed, "Observed")["status"] == "True"


def test_the_verdict_says_since_when_it_is_this_one() -> None:
    first = BY_NAME["watching"].rendered()
    same = status.render(BY_NAME["watching"].left, first, cases.NOW + 60)
    other = status.render(BY_NAME["incomplete"].left, same, cases.NOW + 120)
    assert same["verdict"] == first["verdict"]
    assert other["verdict"]["since"] == times.render(cases.NOW + 120)


def test_wakes_are_counted_although_only_the_last_ones_are_shown() -> None:
    stored: dict[str, Any] = {}
    told: tuple[checkpoint.WakeRecord, ...] = ()
    for number in range(1, 13):
        told = (cases.record(number, wakes.WakeState.RECORDED), *told)[:5]
        left = cases.left(wakes=told)
        stored = status.render(left, status.render(left, stored, cases.NOW), cases.NOW)
    assert stored["summary"]["wakes"] == 12
    assert [one["id"] for one in stored["wakes"]] == ["wake-12", "wake-11", "wake-10", "wake-9", "wake-8"]


def test_a_restarted_process_does_not_make_a_watch_pending_again() -> None:
    before = BY_NAME["watching"].rendered()
    begun = cases.left(verdict=None, reading={})
    assert status.render(begun, before, cases.NOW + 60) == before


def test_a_restarted_process_leaves_a_blocked_watch_blocked() -> None:
    before = BY_NAME["blocked"].rendered()
    begun = cases.left(verdict=None, reading={})
    assert status.render(begun, before, cases.NOW + 60) == before


def test_an_invalid_spec_is_told_with_its_field_and_what_was_known_is_kept() -> None:
    before = BY_NAME["several-subjects"].rendered()
    rendered = invalid(before)
    assert rendered["phase"] == "Invalid"
    assert rendered["observedGeneration"] == 4
    assert condition(rendered, "Ready")["reason"] == "InvalidSpec"
    assert condition(rendered, "Stalled")["message"] == "spec.subjects[0].name: is required"
    assert condition(rendered, "Delivered")["reason"] == "Busy"
    for kept in ("engine", "subjects", "observations", "wakes", "budget", "summary", "verdict"):
        assert rendered[kept] == before[kept]


def test_a_watch_that_was_never_valid_has_no_more_than_its_phase_and_three_conditions() -> None:
    rendered = invalid()
    assert [one["type"] for one in rendered["conditions"]] == ["Ready", "Reconciling", "Stalled"]
    assert "engine" not in rendered
    assert invalid(rendered) == rendered


def test_a_document_of_a_newer_version_is_kept_as_it_is() -> None:
    stored = {"engine": {"version": 99, "document": '{"version":99}'}}
    rendered = status.render(BY_NAME["version-unknown"].left, stored, cases.NOW)
    assert rendered["engine"] == stored["engine"]
    assert condition(rendered, "Stalled")["reason"] == "StateVersionUnknown"


def test_a_document_that_was_put_aside_stays_there() -> None:
    first = BY_NAME["state-unreadable"].rendered()
    assert first["engine"]["quarantined"] == "[]"
    assert condition(first, "Ready")["reason"] == "StateUnreadable"
    assert status.render(BY_NAME["watching"].left, first, cases.NOW)["engine"]["quarantined"] == "[]"


def test_a_status_of_another_shape_costs_only_the_part_that_has_it() -> None:
    odd = {**BY_NAME["watching"].rendered(), "wakes": "none", "verdict": 5, "later": {"field": 1}}
    rendered = status.render(BY_NAME["watching"].left, odd, cases.NOW + 60)
    assert rendered["conditions"] == odd["conditions"]
    assert rendered["verdict"]["since"] == times.render(cases.NOW + 60)


@pytest.mark.parametrize("case", CASES, ids=[case.claim for case in CASES])
def test_what_a_status_remembers_is_restored_from_it(case: cases.Case) -> None:
    stored = restore.restore(case.rendered(), case.left.watch)
    if not case.left.quarantined:
        assert stored.state == case.left.state
    assert stored.wakes == case.left.wakes
    assert stored.anchors == case.left.anchors


def test_since_when_an_entry_is_open_is_restored_whole() -> None:
    case = BY_NAME["several-subjects"]
    first_shown = dict.fromkeys((cases.identity("api", "ready"), _COMMENT), case.now)
    assert restore.restore(case.rendered(), case.left.watch).since == {**case.left.since, **first_shown}


def test_past_the_bound_of_a_status_entries_are_counted_and_not_listed() -> None:
    seen = [cases.red(f"red:{number}") for number in range(400)]
    rendered = status.render(cases.left(reading={cases.subject("api"): cases.read(*seen)}), None, cases.NOW)
    assert rendered["summary"]["open"] == 400
    assert len(rendered["observations"]) == v1alpha1_status.MAX_OBSERVATIONS


texts = st.text(st.characters(codec=None), max_size=700)
keys = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=200)


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(brief=texts, key=keys, revision=texts, episode=texts, anchor=texts, message=texts, keep=st.booleans())
def test_whatever_a_provider_says_the_status_has_its_shape_and_bounds(
    brief: str, key: str, revision: str, episode: str, anchor: str, message: str, keep: bool
) -> None:
    name = cases.subject("api")
    seen = dataclasses.replace(cases.red(key, brief), episode=episode)
    of = cases.read(seen, revision=revision, complete=keep, error=cases.failed(failures.Category.UNKNOWN, message))
    identity = verdicts.identify(name, of, seen)
    left = cases.left(
        state=cases.state(subjects={name: states.SubjectState(revision)}),
        verdict=verdicts.Wake((verdicts.Entry(identity, seen),), brief, verdicts.WakeReason.CONVERGED),
        reading={name: of},
        since={identity: cases.T0},
        anchors={name: anchor},
        wakes=(dataclasses.replace(cases.record(1, wakes.WakeState.QUEUED), keys=(key,)),),
    )
    # The document is JSON of its own; what a lone surrogate is to it is the codec's business.
    rendered = status.render(left, None, cases.NOW)
    del rendered["engine"]
    v1alpha1_status.WatchStatus.model_validate(rendered)
    text = yaml.safe_dump(rendered, allow_unicode=True)
    assert text.encode("utf-8")
    assert status.render(left, rendered, cases.NOW + 60).items() >= rendered.items()


@pytest.mark.parametrize(
    "anchor", ["x" * 2000, "R_\ud800", "\udfff"], ids=["too long", "half a pair", "the other half"]
)
def test_an_anchor_that_cannot_be_kept_whole_is_not_kept(anchor: str) -> None:
    left = cases.left(anchors={cases.subject("api"): anchor})
    assert "anchor" not in status.render(left, None, cases.NOW)["subjects"][0]


def test_an_instant_is_told_as_a_whole_second_within_the_calendar() -> None:
    assert times.render(cases.T0 + 0.9) == "2026-03-01T10:00:00Z"
    assert times.render(-5.0) == "1970-01-01T00:00:00Z"
    assert times.render(ids.Instant(1e18)) == "9999-12-31T23:59:59Z"


def test_the_version_in_the_status_is_the_one_of_the_document() -> None:
    rendered = BY_NAME["watching"].rendered()
    assert isinstance(codec.decode(rendered["engine"]["document"], ids.WatchUid("0b1c")), states.State)


def _kstatus(rendered: dict[str, Any], generation: int | None = None) -> str:
    """What the generic rules of kstatus compute: a True Stalled, Reconciling or a Ready that is not True are seen."""
    if rendered["observedGeneration"] != (generation or rendered["observedGeneration"]):
        return "InProgress"
    now = {one["type"]: one["status"] for one in rendered["conditions"]}
    if now["Reconciling"] == "True":
        return "InProgress"
    if now["Stalled"] == "True":
        return "Failed"
    return "Current" if now["Ready"] == "True" else "InProgress"
