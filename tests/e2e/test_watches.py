"""What holds for every Watch on a real API server: shared reads, invalid specs, deletions."""

import datetime
import json
import pathlib
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.e2e import manifests, proxy, scene, stack

pytestmark = pytest.mark.e2e

GONE_SECONDS = 10.0
"""The longest that a deletion may wait for the finalizer."""

INVALID: dict[str, tuple[dict[str, Any], str, str]] = {
    "kind": ({"kind": "no_such_kind"}, "spec.kind", "no_such_kind"),
    "objective": ({"objective": "no_such_objective"}, "spec.objective", "no_such_objective"),
    "subject": ({"subjects": [{"workload": "Cow", "name": "api"}]}, "spec.subjects[0].workload", "must be one of"),
}


def test_watches_of_the_same_subjects_share_one_read_a_tick(alone: scene.Scene) -> None:
    jobs = [manifests.job(name) for name in ("one", "two", "three")]
    subjects = [{"workload": "Job", "name": name} for name in ("one", "two", "three")]
    many = manifests.job_watch("many", session=None, subjects=subjects)
    alone.stack.apply(alone.namespace, *jobs, many, manifests.job_watch("one", session=None))
    for name in ("many", "one"):
        alone.stack.wait(f"{name} is read", lambda: alone.verdict(name) is not None)  # noqa: B023 - it is called at once
    since = time.monotonic()
    alone.kubectl("delete", "job", "--all", "--wait=false", "--cascade=orphan")
    for name in ("many", "one"):
        alone.stack.wait_for_phase(alone.namespace, name, "Failed", 25.0)
    assert len(alone.api.lists(alone.namespace, since)) == 1


@pytest.mark.parametrize("wrong", INVALID)
def test_an_invalid_spec_says_where_in_the_status_and_on_the_command_line(
    wrong: str, alone: scene.Scene, tmp_path: pathlib.Path
) -> None:
    change, path, value = INVALID[wrong]
    good = manifests.job_watch("api", session=None)
    bad: dict[str, Any] = {**good, "spec": {**good["spec"], **change}}
    alone.stack.apply(alone.namespace, manifests.job("api"), bad)
    alone.stack.wait_for_phase(alone.namespace, "api", "Invalid")
    status, reason, message = alone.stack.condition(alone.namespace, "api", "Ready")
    assert (status, reason) == ("False", "InvalidSpec")
    assert message.startswith(f"{path}: ")
    assert value in message
    assert alone.watch("api")["status"]["observedGeneration"] == 1

    file = tmp_path / "watch.json"
    file.write_text(json.dumps(bad))
    command = [*stack.VIGIL, "run", "-f", str(file), "--once", "--state-dir", str(tmp_path / "state")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert ran.returncode == 2
    assert message in ran.stderr

    if wrong == "kind":
        # A kind cannot be changed: another Watch takes its name.
        alone.kubectl("delete", "watch/api")
    alone.stack.apply(alone.namespace, good)
    alone.stack.wait_for_phase(alone.namespace, "api", "Watching")
    assert alone.stack.condition(alone.namespace, "api", "Ready")[0] == "True"


def test_a_status_that_cannot_say_invalid_says_it_later(alone: scene.Scene) -> None:
    refused = proxy.answer(422, "Invalid", "Watch.vigil.dev is invalid: status: injected")
    alone.api.fail_next(proxy.Fault(proxy.of_status("api"), 422, refused))
    alone.stack.apply(alone.namespace, manifests.watch("api", "Job", objective="no_such_objective"))
    alone.stack.wait_for_phase(alone.namespace, "api", "Invalid")
    assert alone.api.pending_faults() == 0


def test_a_watch_with_a_queued_wake_is_deleted_in_time_and_its_wake_is_withdrawn(alone: scene.Scene) -> None:
    alone.apply("api")
    wake = alone.wake("api")
    assert alone.stack.wake_state(wake) == "Queued"
    began = time.monotonic()
    alone.kubectl("delete", "watch/api", f"--timeout={GONE_SECONDS:.0f}s")
    assert time.monotonic() - began < GONE_SECONDS
    assert alone.stack.wake_state(wake) == "Withdrawn"


def test_a_watch_deleted_while_it_is_read_is_gone_at_once_and_the_result_is_dropped(attended: scene.Scene) -> None:
    jobs = f"/apis/batch/v1/namespaces/{attended.namespace}/jobs"
    with attended.api.held(lambda asked: asked.path.startswith(jobs), answers=True) as gate:
        attended.apply("api")
        gate.wait()
        attended.kubectl("delete", "watch/api", f"--timeout={GONE_SECONDS:.0f}s")
        since = time.monotonic()
    time.sleep(2.0)
    assert attended.writes("api", since) == []
    assert attended.turns("api") == []


def test_a_watch_is_explained_from_its_status(alone: scene.Scene) -> None:
    alone.apply("api", policy={"coalesce": {"window": "1h", "max": "2h"}, "settle": "0s"})
    alone.stack.wait("it waits", lambda: alone.verdict("api") == ("Quiet", "coalescing"))
    kubeconfig = f"--kubeconfig={alone.stack.control_plane.admin_kubeconfig}"
    command = [sys.executable, "-m", "vigil", "explain", "api", "-n", alone.namespace, kubeconfig, "--json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert (told["phase"], told["verdict"]) == ("Watching", "Quiet coalescing")
    (entry,) = told["entries"]
    assert (entry["key"], entry["because"]) == ("job-suspended", "coalescing")
    waits = datetime.datetime.fromisoformat(entry["until"]) - datetime.datetime.fromisoformat(entry["since"])
    assert waits == datetime.timedelta(hours=1)
