"""The whole path: a Watch on a real API server wakes a session."""

import pathlib
import time
from collections.abc import Callable

import pytest

from tests.controlplane import plane
from tests.e2e import manifests, proxy, stack

pytestmark = pytest.mark.e2e

MakeStack = Callable[[proxy.Proxy | None], stack.Stack]
COLUMNS = ["NAME", "KIND", "SUBJECT", "PHASE", "READY", "OPEN", "WAKES", "TURNS", "AGE"]


def test_a_rollout_that_completes_wakes_the_session_once_and_ends_its_watch(
    control_plane: plane.ControlPlane, namespace: str, make_stack: MakeStack
) -> None:
    running = make_stack(None)
    running.start_sidecar()
    running.start_operator()
    log = running.start_session(namespace)
    running.apply(namespace, manifests.deployment("api"), manifests.watch("api"))

    ended = running.hurry_to_phase(namespace, "api", "Succeeded")
    running.wait("the turn is completed", lambda: running.watch(namespace, "api")["status"]["budget"]["turns"] == 1)

    (turn,) = stack.turns(log)
    assert turn["reason"] == "succeeded"
    assert turn["watch"] == f"{namespace}/api"
    assert pathlib.Path(turn["evidence"]).exists()
    assert turn["mode"] == "0o600"
    assert "rolled-out" in turn["text"]
    assert ended["status"]["observedGeneration"] == 1
    conditions = {one["type"]: one["status"] for one in ended["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    header, row = control_plane.kubectl("get", "watches", "--namespace", namespace).splitlines()
    assert header.split() == COLUMNS
    assert row.split()[:5] == ["api", "kubernetes_rollout", "Deployment/api", "Succeeded", "True"]
    assert row.split()[6:8] == ["1", "1/8"]


def test_an_image_that_never_comes_wakes_once_and_its_repair_ends_the_watch(
    control_plane: plane.ControlPlane, namespace: str, make_stack: MakeStack
) -> None:
    running = make_stack(None)
    running.start_sidecar()
    running.start_operator()
    log = running.start_session(namespace)
    broken = manifests.deployment("api", image="registry.example/app:missing", deadline=5)
    running.apply(namespace, broken, manifests.watch("api"))

    running.wait("the stall is told", lambda: len(stack.turns(log)) >= 1)
    assert "stalled" in stack.turns(log)[0]["text"]
    ticks = _ticks(running)
    while _ticks(running) < ticks + 6:
        running.poke(namespace, "api")
        time.sleep(0.5)
    told = [turn for turn in stack.turns(log) if "stalled" in turn["text"]]
    reasons = {line for turn in told for line in turn["text"].splitlines() if "stalled" in line}
    assert len(told) <= 2, f"a reason is told once: {reasons}"

    control_plane.kubectl("set", "image", "deployment/api", "main=registry.example/app:2", "--namespace", namespace)
    running.hurry_to_phase(namespace, "api", "Succeeded")
    running.wait("the end is told", lambda: stack.turns(log)[-1]["reason"] == "succeeded")


def test_a_quiet_watch_writes_nothing_over_20_ticks(namespace: str, make_stack: MakeStack, faults: proxy.Proxy) -> None:
    running = make_stack(faults)
    running.start_sidecar()
    running.start_operator()
    running.apply(
        namespace,
        manifests.deployment("api", image="registry.example/app:missing"),
        manifests.watch("api", session=None, policy={"coalesce": {"window": "0s"}, "realertAfter": "24h"}),
    )
    running.wait("its first wake is recorded", lambda: _verdict(running, namespace) == ("Quiet", "handled"))
    since, ticks = time.monotonic(), _ticks(running)
    while _ticks(running) < ticks + 20:
        running.poke(namespace, "api")
        time.sleep(0.2)
        assert time.monotonic() < since + 120, running.tail()
    stored = running.watch(namespace, "api")["status"]
    written = [one for one in faults.writes(since) if proxy.WATCHES in one.path]
    assert written == [], f"{[one.sent.decode() for one in written]}, now {stored}"


def _verdict(running: stack.Stack, namespace: str) -> tuple[str, str] | None:
    verdict = running.watch(namespace, "api").get("status", {}).get("verdict")
    return None if verdict is None else (verdict["type"], verdict["reason"])


def _ticks(running: stack.Stack) -> float:
    lines = [line for line in running.metrics().splitlines() if line.startswith("vigil_ticks_total{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)
