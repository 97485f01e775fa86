"""The alerts over what a real operator exports."""

import json
import pathlib
import subprocess
from typing import Any

import pytest
import yaml
from prometheus_client import parser

from tests.chart import charts
from tests.chart.conftest import promtool_file
from tests.e2e import manifests, scene

pytestmark = pytest.mark.e2e

__all__ = ["promtool_file"]

RULES = charts.CHART / "files" / "rules.yaml"
NAMESPACE = "vigil-system"
MINUTES = 30


def test_the_alert_of_stalled_watches_fires_on_what_an_operator_exports(
    alone: scene.Scene, promtool_file: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    alone.stack.apply(alone.namespace, manifests.job("api"), manifests.job_watch("api", session=None))
    alone.stack.wait("it is read", lambda: alone.verdict("api") is not None)
    healthy = alone.stack.metrics()
    _stall(alone, "api")
    stalled = alone.stack.metrics()

    rule = _alert("VigilWatchStalled")
    annotations = rule["annotations"] | {"summary": "1 Watches of the kind kubernetes_rollout are stalled."}
    labels = rule["labels"] | {"namespace": NAMESPACE, "kind": "kubernetes_rollout"}
    fires = [{"exp_labels": labels, "exp_annotations": annotations}]
    _promtool(promtool_file, tmp_path / "stalled.yaml", stalled, {rule["alert"]: fires})
    silent: dict[str, list[Any]] = {each["alert"]: [] for each in _alerts()}
    _promtool(promtool_file, tmp_path / "healthy.yaml", healthy, silent)


def _stall(alone: scene.Scene, name: str) -> None:
    """Leave the state of a newer Vigil to the next operator."""
    alone.stack.kill_operator()
    watch = alone.watch(name)
    watch["status"]["engine"] = {"version": 99, "document": json.dumps({"version": 99})}
    path = f"/apis/vigil.dev/v1alpha1/namespaces/{alone.namespace}/watches/{name}/status"
    alone.stack.control_plane.api("PUT", path, watch)
    alone.stack.start_operator()
    alone.stack.wait_for_phase(alone.namespace, name, "Stalled")
    assert alone.stack.condition(alone.namespace, name, "Ready")[:2] == ("False", "StateVersionUnknown")
    assert alone.watch(name)["status"]["engine"]["document"] == json.dumps({"version": 99})


def _alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def _alert(name: str) -> dict[str, Any]:
    [found] = [rule for rule in _alerts() if rule["alert"] == name]
    return found


def _promtool(file: pathlib.Path, tests: pathlib.Path, scraped: str, expected: dict[str, list[Any]]) -> None:
    """Repeat every scraped value for half an hour and ask promtool whether exactly the expected alerts fire."""
    cases = [{"eval_time": "20m", "alertname": name, "exp_alerts": alerts} for name, alerts in expected.items()]
    test = {"interval": "1m", "input_series": _series(scraped), "alert_rule_test": cases}
    content = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    tests.write_text(yaml.safe_dump(content), encoding="utf-8")
    ran = subprocess.run([file, "test", "rules", str(tests)], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def _series(scraped: str) -> list[dict[str, str]]:
    """The samples as constant series, with the namespace that a scrape adds."""
    found = []
    for family in parser.text_string_to_metric_families(scraped):
        for sample in family.samples:
            labels = {**sample.labels, "namespace": NAMESPACE}
            told = ",".join(f"{name}={json.dumps(value)}" for name, value in labels.items())
            found.append({"series": f"{sample.name}{{{told}}}", "values": f"{sample.value!r}x{MINUTES}"})
    assert any(one["series"].startswith("vigil_watches{") for one in found)
    return found
