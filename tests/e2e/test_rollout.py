"""The whole path: a Watch on a real API server wakes a session."""

import pathlib
import time

import pytest

from tests.e2e import manifests, proxy, scene

pytestmark = pytest.mark.e2e

COLUMNS = ["NAME", "KIND", "SUBJECT", "PHASE", "READY", "OPEN", "WAKES", "TURNS", "AGE"]
TICKS = 20


def test_a_rollout_that_completes_wakes_the_session_once_and_ends_its_watch(attended: scene.Scene) -> None:
    attended.stack.apply(attended.namespace, manifests.deployment("api"), manifests.watch("api"))
    ended = attended.stack.hurry_to_phase(attended.namespace, "api", "Succeeded")
    attended.wait_for_turns_charged("api", 1)

    (turn,) = attended.turns("api")
    assert turn["reason"] == "succeeded"
    assert pathlib.Path(turn["evidence"]).exists()
    assert turn["mode"] == "0o600"
    assert "rolled-out" in turn["text"]
    assert ended["status"]["observedGeneration"] == 1
    conditions = {one["type"]: one["status"] for one in ended["status"]["conditions"]}
    assert conditions["Ready"] == "True"
    header, row = attended.kubectl("get", "watches").splitlines()
    assert header.split() == COLUMNS
    assert row.split()[:5] == ["api", "kubernetes_rollout", "Deployment/api", "Succeeded", "True"]
    assert row.split()[6:8] == ["1", "1/8"]


def test_an_image_that_never_comes_wakes_once_and_its_repair_ends_the_watch(attended: scene.Scene) -> None:
    broken = manifests.deployment("api", image="registry.example/app:missing", deadline=5)
    attended.stack.apply(attended.namespace, broken, manifests.watch("api"))

    first, *_ = attended.wait_for_turns("api", 1)
    assert "stalled" in first["text"]
    attended.kubectl("wait", "--for=condition=Progressing=false", "deployment/api", "--timeout=30s")
    attended.settle("api", reads=4)
    told = [turn for turn in attended.turns("api") if "stalled" in turn["text"]]
    reasons = {line for turn in told for line in turn["text"].splitlines() if "stalled" in line}
    assert len(told) <= 2, f"a reason is told once: {reasons}"

    attended.kubectl("set", "image", "deployment/api", "main=registry.example/app:2")
    attended.stack.hurry_to_phase(attended.namespace, "api", "Succeeded")
    attended.stack.wait("the end is told", lambda: attended.turns("api")[-1]["reason"] == "succeeded")


def test_a_quiet_watch_writes_nothing_over_20_ticks(alone: scene.Scene) -> None:
    alone.stack.apply(
        alone.namespace,
        manifests.deployment("api", image="registry.example/app:missing", replicas=1),
        manifests.watch("api", session=None, policy={"coalesce": {"window": "0s"}, "realertAfter": "24h"}),
    )
    alone.stack.wait("its first wake is recorded", lambda: bool(alone.stack.wakes(alone.namespace, "api")))
    alone.settle("api", reads=4)
    assert alone.verdict("api") == ("Quiet", "handled")
    since = time.monotonic()
    while len(alone.api.lists(alone.namespace, since)) < TICKS:
        alone.stack.poke(alone.namespace, "api")
        time.sleep(0.2)
        assert time.monotonic() < since + 120, alone.stack.tail()
    ours = f"{proxy.WATCHES}/namespaces/{alone.namespace}/"
    written = [one for one in alone.api.writes(since) if one.path.startswith(ours)]
    assert written == [], f"{[one.sent.decode() for one in written]}, now {alone.watch('api')['status']}"
