"""docs/policies.md: every scenario gives exactly the documented verdicts."""

import pytest

from tests.docs import policies
from vigil.model import verdicts

SCENARIOS = policies.documented()


@pytest.mark.parametrize("one", SCENARIOS, ids=str)
def test_a_scenario_gives_exactly_its_table(one: policies.Documented) -> None:
    assert policies.printed(one.scenario) == one.table


def test_every_rule_has_a_scenario() -> None:
    headings = " ".join(one.heading for one in SCENARIOS)
    missing = [number for number in range(1, 14) if f"Rule {number}:" not in headings]
    assert missing == []


def test_every_reason_that_the_engine_decides_is_shown_somewhere() -> None:
    tables = " ".join(one.table for one in SCENARIOS)
    decided_elsewhere = {
        verdicts.QuietReason.SUSPENDED,
        verdicts.StopReason.SUPERSEDED,
        verdicts.StopReason.QUESTION_EXPIRED,
        verdicts.StopReason.CANNOT_ACT,
    }
    reasons = [
        f"{kind} {reason}"
        for kind, of in (("Quiet", verdicts.QuietReason), ("Wake", verdicts.WakeReason), ("Stop", verdicts.StopReason))
        for reason in of
        if reason not in decided_elsewhere
    ]
    assert [reason for reason in [*reasons, "Terminal succeeded", "Terminal failed"] if reason not in tables] == []
