"""What the golden table cannot show: time limits as a Watch sees them, bounds of texts, and the evidence."""

import json
from typing import Any

import pytest

from vigil.kind import api, transport
from vigil.model import failures, observations
from vigil_kinds.http_json import KIND, rules, text

NESTED = "body.all(a, body.all(b, body.all(c, a + b + c >= 0)))"


def observe(body: Any, **options: Any) -> observations.ProbeResult:
    """What the kind sees in a document under these options."""
    made = rules.DocumentOptions.model_validate(options)
    return KIND.observe(api.Snapshot({"status": 200, "body": body}), rules.REACHED, made, 0.0)


def rule(name: str, when: str, **fields: Any) -> dict[str, Any]:
    """A rule as in a manifest."""
    return {"name": name, "when": when, **fields}


def test_a_rule_that_takes_too_long_makes_the_read_incomplete_and_hides_no_other() -> None:
    result = observe(list(range(2000)), rules=[rule("slow", NESTED), rule("long", "size(body) == 2000")])
    assert [entry.key for entry in result.observations] == ["matched:long"]
    assert not result.complete
    assert result.error == failures.Failure(
        failures.Category.TIMEOUT, "options.rules.slow.when: it needs more than 0.5 s of CPU time"
    )


def test_a_brief_that_takes_too_long_changes_nothing_but_the_brief() -> None:
    slow = rule("long", "true", brief="a long list", briefFrom=f"string({NESTED} ? 1 : 0)")
    result = observe(list(range(2000)), rules=[slow])
    assert [entry.brief for entry in result.observations] == ["a long list"]
    assert result.complete


def test_a_slow_brief_takes_nothing_from_the_rules_after_it() -> None:
    slow = f"string({NESTED} ? 1 : 0)"
    made = [rule(f"r{index}", "true", briefFrom=slow) for index in range(19)]
    result = observe(list(range(2000)), rules=[*made, rule("last", "true", episode="'e'", detail="body")])
    assert [entry.episode for entry in result.observations] == [""] * 19 + ["e"]
    assert result.complete


def test_an_expectation_that_takes_too_long_is_a_timeout_of_the_read() -> None:
    with pytest.raises(transport.ReadError) as raised:
        observe(list(range(2000)), expect=NESTED, rules=[rule("a", "true")])
    assert raised.value.failure.category is failures.Category.TIMEOUT


def test_an_entry_whose_detail_has_no_answer_is_left_out_of_an_incomplete_read() -> None:
    result = observe({}, rules=[rule("a", "true", detail="body.x"), rule("b", "true", detail="body")])
    assert [entry.key for entry in result.observations] == ["matched:b"]
    assert not result.complete


def test_the_digest_of_a_detail_moves_with_its_value_and_with_nothing_else() -> None:
    def detail(body: Any) -> str:
        return observe(body, rules=[rule("a", "true", detail="body.seen")]).observations[0].detail

    assert detail({"seen": {"a": 1, "b": 2}, "at": 1}) == detail({"at": 2, "seen": {"b": 2, "a": 1}})
    assert detail({"seen": [1, 2]}) != detail({"seen": [2, 1]})


def test_many_problems_are_told_in_one_bounded_sentence() -> None:
    result = observe({}, rules=[rule(f"rule-{index}", "body.x") for index in range(20)])
    assert result.error is not None
    assert "options.rules.rule-0.when: there is no field 'x'" in result.error.message
    assert result.error.message.endswith("and 15 more")
    assert len(result.error.message) <= failures.MESSAGE_LIMIT


def test_texts_of_a_document_are_bounded_and_clean() -> None:
    body = {"title": "\x1b[31m" + "long\n" * 5000, "id": "x" * 5000}
    (entry,) = observe(body, rules=[rule("a", "true", briefFrom="body.title", episode="body.id")]).observations
    assert entry.brief.isprintable()
    assert len(entry.brief) == text.BRIEF_LIMIT
    assert len(entry.episode) == 32


def test_a_field_name_from_the_document_cannot_break_the_line_of_a_message() -> None:
    result = observe({"k": "\x1b[31m\nx"}, rules=[rule("a", "body[body.k] == 1")])
    assert result.error is not None
    assert result.error.message.isprintable()


def test_an_or_takes_the_side_that_has_an_answer() -> None:
    result = observe({"open": 1}, rules=[rule("a", "body.missing > 0 || body.open > 0")])
    assert result.complete
    assert [entry.key for entry in result.observations] == ["matched:a"]


def test_the_evidence_is_json_that_acts_on_nothing() -> None:
    payload = {"status": 200, "body": {"a": "x\u2028y\u009b31m\u202e\x1b", "ü": 1}}
    shown = KIND.evidence(api.Snapshot(payload))
    assert json.loads(shown) == payload
    assert "ü" in shown
    assert all(line.isprintable() for line in shown.split("\n"))


def test_observe_is_called_off_the_event_loop() -> None:
    assert KIND.offload
