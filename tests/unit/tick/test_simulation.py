"""The simulator: the table of scenarios, and what it makes of steps, sentence by sentence."""

from typing import Any

import pytest

from tests.unit.tick import scenarios
from vigil.api import scenario
from vigil.model import verdicts
from vigil.tick import simulation

RED = '{key: "red", severity: Wake, resetsOn: Revision}'
LATE = "{key: late, severity: Wake, resetsOn: Never}"
MERGED = "{key: merged, severity: Terminal, resetsOn: Never, outcome: Succeeded}"
ROWS = scenarios.rows()
NOW = "spec: {policy: {coalesce: {window: 0s}}}\n"


def play(text: str, spec: str = NOW) -> list[dict[str, Any]]:
    """The objects that `--json` prints."""
    return scenarios.play(f"{spec}steps:\n{text}")


def told(text: str, spec: str = NOW) -> list[str]:
    """Each step in words: the verdict with its keys, the turns that are spent, and the phase."""
    return [_words(one) for one in play(text, spec)]


def _words(one: dict[str, Any]) -> str:
    verdict, spent = one["verdict"], one["spent"]
    if verdict is None:
        return f"- {spent['turns']} {one['phase']}"
    return " ".join([verdict["type"], verdict["reason"], *verdict["keys"], str(spent["turns"]), str(one["phase"])])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_scenario_gives_exactly_its_lines(row: scenarios.Row) -> None:
    assert scenarios.play(row.text) == row.lines


def test_the_table_has_every_reason_that_the_engine_decides() -> None:
    seen = {line["verdict"]["reason"] for row in ROWS for line in row.lines if line["verdict"] is not None}
    elsewhere = {"suspended", "superseded", "question-expired", "cannot-act"}
    reasons = {*verdicts.QuietReason, *verdicts.WakeReason, *verdicts.StopReason, "succeeded", "failed"}
    assert seen == reasons - elsewhere


def test_a_claim_of_the_table_is_made_once() -> None:
    claims = [row.claim for row in ROWS]
    assert len(claims) == len(set(claims))


def test_one_line_has_exactly_these_fields() -> None:
    (one,) = play(f"- {{at: 1m30s, revision: r1, observations: [{RED}]}}")
    assert one == {
        "at": 90,
        "verdict": {"type": "Wake", "reason": "undelayed", "keys": ["red"]},
        "spent": {"turns": 0, "tokens": 0, "providerErrors": 0},
        "phase": "Watching",
    }


def test_a_step_that_decides_nothing_before_any_read_is_pending() -> None:
    assert told("- {at: 0s, silenceUntil: 1m}") == ["- 0 Pending"]


def test_a_wake_is_completed_without_tokens_just_before_the_next_tick() -> None:
    text = f"- {{at: 0s, observations: [{RED}]}}\n- {{at: 1m, silenceUntil: 1s}}\n- {{at: 2m, observations: [{RED}]}}"
    assert told(text) == ["Wake undelayed red 0 Watching", "- 0 Watching", "Quiet handled 1 Watching"]


def test_queued_and_claimed_last_until_a_later_delivery_step() -> None:
    text = f"""
- {{at: 0s, observations: [{RED}]}}
- {{at: 1m, delivery: {{state: Queued}}}}
- {{at: 2m, observations: [{RED}, {LATE}]}}
- {{at: 3m, observations: [{RED}, {LATE}]}}
- {{at: 4m, delivery: {{state: Claimed}}, observations: [{RED}, {LATE}]}}
- {{at: 5m, observations: [{RED}, {LATE}]}}
- {{at: 6m, delivery: {{state: Notified}}, observations: [{RED}, {LATE}]}}
"""
    assert told(text) == [
        "Wake undelayed red 0 Watching",
        "- 0 Watching",
        *["Quiet in-flight 0 Watching"] * 4,
        "Quiet handled 0 Watching",
    ]


def test_an_amended_wake_that_is_emptied_is_withdrawn_and_the_chain_goes_on() -> None:
    text = f"- {{at: 0s, observations: [{RED}]}}\n- {{at: 1m, delivery: {{state: Queued}}}}\n- {{at: 2m}}"
    assert told(text)[2] == "Quiet nothing-open 0 Watching"


def test_a_delivery_of_no_wake_changes_nothing() -> None:
    assert told("- {at: 0s}\n- {at: 1m, delivery: {state: Completed, tokens: 9}}") == [
        "Quiet nothing-open 0 Watching",
        "- 0 Watching",
    ]


def test_a_last_wake_is_charged_at_the_next_step_whatever_that_is() -> None:
    text = f"- {{at: 0s, observations: [{MERGED}]}}\n- {{at: 1m, silenceUntil: 2m}}\n- {{at: 3m}}"
    assert told(text) == ["Terminal succeeded merged 0 Succeeded", "- 1 Succeeded", "- 1 Succeeded"]


def test_a_last_wake_that_is_lost_is_offered_again() -> None:
    text = (
        f"- {{at: 0s, observations: [{MERGED}]}}\n- {{at: 1m, delivery: {{state: Lost}}}}\n- {{at: 2m}}\n- {{at: 3m}}"
    )
    assert told(text) == [
        "Terminal succeeded merged 0 Succeeded",
        "- 1 Succeeded",
        "- 1 Succeeded",
        "- 2 Succeeded",
    ]


def test_the_notice_of_a_stop_costs_no_turn() -> None:
    spec = "spec: {budgets: {lifetime: 1m}}\n"
    assert told("- {at: 0s}\n- {at: 1m}\n- {at: 2m}", spec)[1:] == ["Stop lifetime 0 Expired", "- 0 Expired"]


def test_the_lifetime_counts_from_zero_and_a_clock_may_step_back() -> None:
    spec = "spec: {budgets: {lifetime: 10m}}\n"
    assert told("- {at: 9m}\n- {at: 5m}\n- {at: 10m}", spec) == [
        "Quiet nothing-open 0 Watching",
        "Quiet nothing-open 0 Watching",
        "Stop lifetime 0 Expired",
    ]


def test_a_subject_that_a_step_does_not_name_repeats_its_last_read() -> None:
    text = f"""
- {{at: 0s, subjects: {{a: {{observations: [{RED}]}}, b: {{}}}}}}
- {{at: 1m, subjects: {{b: {{observations: [{LATE}]}}}}}}
- {{at: 2m}}
"""
    assert told(text) == [
        "Wake undelayed a#red 0 Watching",
        "Wake undelayed b#late 1 Watching",
        "Quiet handled 2 Watching",
    ]


def test_a_repeated_error_keeps_the_subject_unreadable_and_is_no_failed_tick() -> None:
    text = """
- {at: 0s, subjects: {a: {error: {category: timeout}}, b: {}}}
- {at: 1m, subjects: {b: {}}}
- {at: 2m}
- {at: 3m, subjects: {a: {error: {category: timeout}}}}
"""
    lines = play(text)
    assert [one["spent"] for one in lines] == [
        {"turns": 0, "tokens": 0, "providerErrors": errors} for errors in (1, 1, 1, 2)
    ]
    assert all(one["verdict"] == {"type": "Quiet", "reason": "unreadable", "keys": []} for one in lines)


def test_a_subject_that_was_not_shown_yet_is_alive() -> None:
    text = f"""
- {{at: 0s, subjects: {{a: {{observations: [{MERGED}]}}}}}}
- {{at: 1m, subjects: {{b: {{observations: [{MERGED}]}}}}}}
"""
    assert told(text) == ["Terminal succeeded a#merged 0 Watching", "Terminal succeeded b#merged 1 Succeeded"]


def test_a_revision_that_is_not_given_is_the_last_one() -> None:
    text = f"""
- {{at: 0s, revision: r1, observations: [{RED}]}}
- {{at: 1m, error: {{category: timeout}}}}
- {{at: 2m, observations: [{RED}]}}
- {{at: 3m, revision: r2, observations: [{RED}]}}
"""
    assert [line.split()[:2] for line in told(text)[2:]] == [["Quiet", "handled"], ["Wake", "undelayed"]]


def test_dispositions_of_one_question_stand_as_one_and_are_answered_as_one() -> None:
    parked = "[{key: red, disposition: parked, question: q}, {key: late, disposition: parked, question: q}]"
    text = f"""
- {{at: 0s, observations: [{RED}, {LATE}]}}
- {{at: 1m, delivery: {{state: Completed, tokens: 5, dispositions: {parked}}}}}
- {{at: 2m, observations: [{RED}, {LATE}]}}
- {{at: 3m, answer: {{question: q, text: do}}, observations: [{RED}, {LATE}]}}
"""
    assert told(text)[2:] == ["Quiet parked 1 Watching", "Wake undelayed late red 1 Watching"]


def test_a_disposition_names_a_subject() -> None:
    text = f"""
- {{at: 0s, subjects: {{a: {{observations: [{RED}]}}, b: {{observations: [{RED}]}}}}}}
- {{at: 1m, delivery: {{state: Completed, dispositions: [{{key: red, subject: b, disposition: dispatched}}]}}}}
- {{at: 7h}}
"""
    assert told(text)[2] == "Wake undelayed a#red 1 Watching"


def test_a_failure_that_does_not_heal_blocks_while_any_live_subject_has_it() -> None:
    text = """
- {at: 0s, subjects: {a: {error: {category: auth}}, b: {}}}
- {at: 1m, subjects: {b: {}}}
- {at: 2m, subjects: {a: {error: {category: timeout}}}}
- {at: 3m, subjects: {a: {}}}
"""
    assert [one["phase"] for one in play(text)] == ["Blocked", "Blocked", "Watching", "Watching"]


def test_a_single_subject_with_a_name_is_named_in_the_keys_and_repeats() -> None:
    text = f"- {{at: 0s, subjects: {{a: {{observations: [{RED}]}}}}}}\n- {{at: 1m}}"
    assert told(text) == ["Wake undelayed a#red 0 Watching", "Quiet handled 1 Watching"]


def test_a_key_is_told_once_though_two_episodes_of_it_are_sent() -> None:
    entries = ", ".join(f"{{key: thread, severity: Wake, resetsOn: Never, episode: e{n}}}" for n in range(2))
    assert told(f"- {{at: 0s, observations: [{entries}]}}") == ["Wake undelayed thread 0 Watching"]


def test_a_fraction_of_a_second_and_a_time_before_the_start_are_told_as_they_are() -> None:
    assert [one["at"] for one in play("- {at: -1m}\n- {at: 1.5s}\n- {at: +2s}")] == [-60, 1.5, 2]


def test_a_delivery_for_which_there_was_no_wake_is_noted() -> None:
    made = scenario.load("steps: [{at: 0s}, {at: 1m, delivery: {state: Lost}}]", "s.yaml")
    assert [one.missed for one in simulation.run(made.steps, made.subjects, made.limits)] == [False, True]
