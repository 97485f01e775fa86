"""The alert rules are valid, do what their tests say, and lead to runbooks that exist."""

import pathlib
import re
import subprocess

import prometheus_client
import yaml

from tests.chart import charts
from vigil.adapters import metrics

RULES = charts.CHART / "files" / "rules.yaml"
TESTS = pathlib.Path(__file__).parent / "rules_test.yaml"


def promtool(file: pathlib.Path, *arguments: str) -> str:
    ran = subprocess.run([file, *arguments], capture_output=True, check=False, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def alerts() -> list[dict[str, object]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_promtool_accepts_the_rules(promtool_file: pathlib.Path) -> None:
    assert "4 rules found" in promtool(promtool_file, "check", "rules", "--lint=all", "--lint-fatal", str(RULES))


def test_every_alert_fires_when_it_should_and_not_otherwise(promtool_file: pathlib.Path) -> None:
    assert "SUCCESS" in promtool(promtool_file, "test", "rules", str(TESTS))


def test_every_alert_is_tested_firing_and_silent() -> None:
    cases = [
        case for test in yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"] for case in test["alert_rule_test"]
    ]
    for alert in alerts():
        expected = [bool(case["exp_alerts"]) for case in cases if case["alertname"] == alert["alert"]]
        assert True in expected
        assert False in expected


def test_every_runbook_is_there_and_has_what_an_on_call_needs() -> None:
    for alert in alerts():
        annotations = alert["annotations"]
        assert isinstance(annotations, dict)
        text = (charts.ROOT / annotations["runbook"]).read_text(encoding="utf-8")
        assert f"`{alert['alert']}`" in text
        for section in ("## What it means", "## What to do", "## When it is over"):
            assert section in text


def test_the_rules_ask_only_for_metrics_that_exist() -> None:
    registry = prometheus_client.CollectorRegistry()
    metrics.Metrics(registry, ["http_json"])
    exported = {sample.name for family in registry.collect() for sample in family.samples}
    asked = {name for alert in alerts() for name in re.findall(r"\bvigil_\w+", str(alert["expr"]))}
    assert asked <= exported
