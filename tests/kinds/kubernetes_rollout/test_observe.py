"""Corner cases of the pure half, beside the golden table: what may change, and what then has to stay the same."""

import copy
import json
from typing import Any

import pytest

from tests.kinds.kubernetes_rollout import objects
from vigil.kind import api, durations, transport
from vigil.model import observations
from vigil_kinds.kubernetes_rollout import KIND, evidence, pods, raw, subject, text


def observe(payload: Any, now: float = objects.NOW) -> observations.ProbeResult:
    """What the kind makes of a payload, under the objective that fits."""
    job = payload["subject"]["workload"] == "Job"
    return KIND.observe(api.Snapshot(payload), "job_complete" if job else "rolled_out", KIND.options(), now)


def identities(result: observations.ProbeResult) -> list[tuple[str, str, str]]:
    """What makes each entry the same one at another time."""
    return [(entry.key, result.revision, entry.episode) for entry in result.observations]


def changed(state: str, path: str, value: Any) -> dict[str, Any]:
    """A fixture with one field set to a value, or removed (...)."""
    payload = objects.payload(state)
    *parents, last = path.split(".")
    part: Any = payload
    for name in parents:
        part = part[int(name)] if isinstance(part, list) else part[name]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    return payload


@pytest.mark.parametrize(
    ("state", "path"),
    [
        ("deployment-rolled-out", "workload.metadata.generation"),
        ("deployment-rolled-out", "workload.spec.replicas"),
        ("deployment-rolled-out", "workload.status"),
        ("deployment-rolled-out", "workload.status.observedGeneration"),
        ("deployment-rolled-out", "workload.status.replicas"),
        ("deployment-rolled-out", "workload.status.updatedReplicas"),
        ("deployment-rolled-out", "workload.status.availableReplicas"),
        ("deployment-scaled-to-zero", "workload.spec.replicas"),
        ("deployment-scaled-to-zero", "workload.status.observedGeneration"),
        ("statefulset-rolled-out", "workload.status.observedGeneration"),
        ("statefulset-rolled-out", "workload.status.replicas"),
        ("statefulset-rolled-out", "workload.status.updatedReplicas"),
        ("statefulset-old-server", "workload.status.readyReplicas"),
        ("daemonset-rolled-out", "workload.status.observedGeneration"),
        ("daemonset-rolled-out", "workload.status.desiredNumberScheduled"),
        ("daemonset-rolled-out", "workload.status.updatedNumberScheduled"),
        ("daemonset-no-nodes-match", "workload.status.desiredNumberScheduled"),
        ("job-complete", "workload.status.conditions"),
        ("job-complete", "workload.metadata.uid"),
    ],
)
def test_no_success_without_each_of_its_facts(state: str, path: str) -> None:
    assert any(
        entry.outcome is observations.Outcome.SUCCEEDED for entry in observe(objects.payload(state)).observations
    )
    try:
        result = observe(changed(state, path, ...))
    except transport.ReadError as error:
        assert error.failure.category == "malformed"  # noqa: PT017 - either this or no success
        return
    assert not any(entry.outcome is observations.Outcome.SUCCEEDED for entry in result.observations)


def test_scaling_and_metadata_are_no_new_revision() -> None:
    before = observe(objects.payload("deployment-deadline-exceeded"))
    payload = changed("deployment-deadline-exceeded", "workload.spec.replicas", 9)
    payload["workload"]["metadata"] |= {"generation": 8, "resourceVersion": "1", "annotations": {"scaled": "yes"}}
    payload["workload"]["status"]["observedGeneration"] = 8
    assert identities(observe(payload)) == identities(before)


def test_another_template_and_another_incarnation_are_new_revisions() -> None:
    before = observe(objects.payload("deployment-rolled-out")).revision
    template = changed("deployment-rolled-out", "workload.spec.template.spec.containers.0.image", "acme/api:2")
    incarnation = changed("deployment-rolled-out", "workload.metadata.uid", "another")
    assert len({before, observe(template).revision, observe(incarnation).revision}) == 3


def test_a_rollout_that_bounces_keeps_its_revision() -> None:
    done = objects.payload("deployment-rolled-out")
    bounced = changed("deployment-rolled-out", "workload.status.availableReplicas", 2)
    results = [observe(payload) for payload in (done, bounced, done)]
    assert [[entry.key for entry in result.observations] for result in results] == [
        ["rolled-out"],
        ["degraded"],
        ["rolled-out"],
    ]
    assert len({result.revision for result in results}) == 1


def test_restart_counts_times_and_pod_names_are_part_of_no_identity() -> None:
    before = observe(objects.payload("job-never-fails-in-place"))
    payload = objects.payload("job-never-fails-in-place")
    crashing = payload["pods"][0]
    crashing["metadata"]["name"] = "import-zzzzz"
    crashing["status"]["containerStatuses"][0]["restartCount"] = 15
    crashing["status"]["containerStatuses"][0]["state"]["waiting"]["message"] = "back-off 2m40s"
    assert identities(observe(payload, objects.NOW + 60)) == identities(before)


def test_many_pods_with_one_reason_are_one_entry() -> None:
    payload = objects.payload("deployment-image-not-found")
    first = payload["pods"][0]
    payload["pods"] = [{**first, "metadata": {**first["metadata"], "name": f"api-{n}"}} for n in range(5)]
    (entry,) = observe(payload).observations
    assert entry.brief.startswith("ImagePullBackOff in 5 places, first pod api-0, container main: ")


def test_foreign_text_is_cut_and_kept_on_one_line() -> None:
    message = "line one\r\n\x1b[31mline two\u2028" + "x" * 5000
    payload = changed("deployment-deadline-exceeded", "workload.status.conditions.1.message", message)
    entry = next(one for one in observe(payload).observations if one.episode == "ProgressDeadlineExceeded")
    assert entry.brief.startswith("ProgressDeadlineExceeded: line one [31mline two xxx")
    assert len(entry.brief) <= text.BRIEF_LIMIT
    assert entry.brief.isprintable()


def test_a_reason_of_any_length_is_an_episode_of_bounded_length() -> None:
    payload = changed(
        "deployment-image-not-found", "pods.0.status.containerStatuses.0.state.waiting.reason", "R" * 9000
    )
    (entry,) = observe(payload).observations
    assert len(entry.episode) == text.REASON_LIMIT


@pytest.mark.parametrize(
    ("claim", "path", "value"),
    [
        ("a container that is created", "status.containerStatuses.0.state.waiting.reason", "ContainerCreating"),
        ("init containers that run first", "status.containerStatuses.0.state.waiting.reason", "PodInitializing"),
        ("a pod that ended", "status.phase", "Failed"),
        ("a pod that ends in time", "metadata.deletionTimestamp", "2026-01-01T00:00:00Z"),
        ("a pod whose end has no time", "metadata.deletionTimestamp", "soon"),
        ("a pod whose end has no zone", "metadata.deletionTimestamp", "2025-01-01T00:00:00"),
    ],
)
def test_no_reason_is_seen_in(claim: str, path: str, value: str) -> None:
    payload = changed("deployment-image-not-found", f"pods.0.{path}", value)
    assert observe(payload).observations == ()


def test_what_a_container_waits_for_is_a_reason_even_if_it_is_not_known() -> None:
    payload = changed(
        "deployment-image-not-found", "pods.0.status.containerStatuses.0.state.waiting.reason", "NewReason"
    )
    assert [entry.episode for entry in observe(payload).observations] == ["NewReason"]


def test_a_pod_with_a_scheduling_gate_is_held_and_not_stalled() -> None:
    gated = changed("deployment-unschedulable", "pods.0.status.conditions.0.reason", "SchedulingGated")
    assert observe(gated).observations == ()


def test_an_init_container_can_stall_too() -> None:
    payload = objects.payload("deployment-image-not-found")
    status = payload["pods"][0]["status"]
    status["initContainerStatuses"] = [{**status["containerStatuses"][0], "name": "migrate"}]
    status["containerStatuses"][0]["state"] = {"waiting": {"reason": "PodInitializing"}}
    (entry,) = observe(payload).observations
    assert "container migrate" in entry.brief


def test_a_container_that_has_just_crashed_again_is_in_its_crash_loop() -> None:
    state = {"terminated": {"exitCode": 2, "reason": "Error"}}
    payload = changed("job-crash-loop-runs", "pods.0.status.containerStatuses.0.state", state)
    assert [entry.episode for entry in observe(payload).observations] == [pods.CRASH_LOOP]


@pytest.mark.parametrize(
    ("claim", "path", "value"),
    [
        ("few restarts", "restartCount", 2),
        ("a last run that ended well", "lastState", {"terminated": {"exitCode": 0}}),
        ("no last run", "lastState", {}),
        ("a start without a time", "state", {"running": {}}),
        ("an end that is well", "state", {"terminated": {"exitCode": 0}}),
    ],
)
def test_a_crash_loop_is_not_concluded_from(claim: str, path: str, value: Any) -> None:
    payload = changed("job-crash-loop-runs", f"pods.0.status.containerStatuses.0.{path}", value)
    assert observe(payload).observations == ()


def test_pods_that_were_not_read_leave_an_unfinished_rollout_incomplete() -> None:
    result = observe(changed("deployment-moving", "pods", None))
    assert (result.complete, result.error, result.pending) == (False, None, 1)


def test_pods_that_were_not_read_leave_a_finished_rollout_complete() -> None:
    assert observe(objects.payload("deployment-rolled-out")).complete


def test_a_failure_of_no_known_class_is_unknown() -> None:
    result = observe(changed("deployment-pods-forbidden", "podsError.category", "novel"))
    assert result.error is not None
    assert result.error.category == "unknown"


def test_a_selector_that_selects_nothing_selects_no_pod() -> None:
    assert not pods.selects(raw.Selector(), {"app": "api"})


def test_an_operator_that_is_not_known_matches_nothing_and_is_sent_nowhere() -> None:
    odd = raw.Selector.model_validate({"matchExpressions": [{"key": "app", "operator": "Near", "values": ["api"]}]})
    assert not pods.selects(odd, {"app": "api"})
    assert pods.label_selector(odd) == ""


@pytest.mark.parametrize(
    ("item", "well"),
    [
        ({"status": {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 2}]}}, True),
        ({"status": {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 3}]}}, False),
        ({"status": {"phase": "Running", "containerStatuses": [{"ready": False, "restartCount": 0}]}}, False),
        ({"status": {"phase": "Running", "containerStatuses": ["odd"]}}, False),
        ({"status": {"phase": "Pending", "containerStatuses": []}}, False),
        ({"status": {}}, False),
        ("odd", False),
    ],
)
def test_a_pod_is_well_only_if_nothing_is_odd_about_it(item: Any, well: bool) -> None:
    assert pods.is_well(item) is well


@pytest.mark.parametrize(("status", "well"), [("True", True), ("False", False), ("Unknown", False)])
def test_a_pod_whose_containers_run_on_a_lost_node_is_not_well(status: str, well: bool) -> None:
    containers = [{"ready": True, "restartCount": 0}]
    conditions = [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": status}]
    item = {"status": {"phase": "Running", "containerStatuses": containers, "conditions": conditions}}
    assert pods.is_well(item) is well


def test_a_pod_that_is_being_deleted_is_not_well() -> None:
    item = {
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 0}]},
    }
    assert not pods.is_well(item)


def test_the_evidence_has_no_values_of_variables_and_no_managed_fields() -> None:
    payload = objects.payload("deployment-rolled-out")
    metadata = payload["workload"]["metadata"]
    metadata["managedFields"] = [{"manager": "kubectl"}]
    metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = '{"spec": {"TOKEN": "s3cret"}}'
    environment = payload["workload"]["spec"]["template"]["spec"]["containers"][0]["env"]
    environment[0]["value"] = "s3cret"
    before = copy.deepcopy(payload)
    shown = evidence.render(api.Snapshot(payload))
    assert "s3cret" not in shown
    assert "managedFields" not in shown
    assert payload == before
    seen = json.loads(shown)["workload"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert [variable["name"] for variable in seen] == ["LOG_LEVEL", "TOKEN"]
    assert seen[0]["value"] == evidence.LEFT_OUT
    assert seen[1] == environment[1]


def test_an_env_that_is_no_list_of_variables_is_shown_as_it_is() -> None:
    assert json.loads(evidence.render(api.Snapshot({"env": "prod", "labels": {"env": ["a"]}}))) == {
        "env": "prod",
        "labels": {"env": ["a"]},
    }


def test_a_subject_is_of_the_operators_own_cluster_whatever_host_the_watch_names() -> None:
    one = subject.RolloutSubject(workload=subject.Workload.JOB, name="import")
    ids = {KIND.subject_id(one, api.Scope("team-a", host)) for host in ("", subject.HOST, "elsewhere.example.com")}
    assert ids == {"kubernetes_rollout://kubernetes.default.svc/team-a/Job/import"}


def test_a_group_is_a_namespace_and_a_resource() -> None:
    scope = api.Scope("team-a", subject.HOST)
    sorts = [subject.RolloutSubject(workload=sort, name="api") for sort in subject.Workload]
    assert [KIND.partition(one, scope) for one in sorts] == [
        "team-a/deployments",
        "team-a/statefulsets",
        "team-a/daemonsets",
        "team-a/jobs",
    ]


@pytest.mark.parametrize(
    ("duration", "seconds"), [("0s", 0), ("90s", 90), ("1h30m", 5400), ("1.5m", 90), ("168h", 604800)]
)
def test_a_duration_is_gos(duration: str, seconds: float) -> None:
    assert durations.seconds(duration) == seconds
    assert subject.RolloutOptions.model_validate({"appearWithin": duration}).appear_within == duration


@pytest.mark.parametrize("duration", ["", "10", "1d", "-1m", "1m 30s", "h"])
def test_what_is_no_duration_is_refused(duration: str) -> None:
    with pytest.raises(ValueError, match="not a Go duration"):
        durations.seconds(duration)


def test_a_partitioned_rollout_whose_pods_are_not_all_available_is_under_way() -> None:
    payload = changed("statefulset-partition-reached", "workload.status.availableReplicas", 2)
    payload["workload"]["status"]["readyReplicas"] = 2
    result = observe({**payload, "pods": []})
    assert (result.observations, result.pending) == ((), 1)


def test_a_stateful_set_of_no_replicas_is_rolled_out_whatever_its_partition() -> None:
    payload = changed("statefulset-partition-keeps-all", "workload.spec.replicas", 0)
    payload["workload"]["status"] |= {"replicas": 0, "readyReplicas": 0, "availableReplicas": 0}
    assert [(entry.key, entry.brief) for entry in observe(payload).observations] == [("rolled-out", "scaled to zero")]


def test_a_suspended_job_that_is_being_deleted_waits_for_nobody() -> None:
    payload = changed("job-suspended", "workload.metadata.deletionTimestamp", "2025-12-31T23:59:59Z")
    assert observe({**payload, "pods": []}).observations == ()


def test_a_complete_job_that_is_being_deleted_is_complete() -> None:
    payload = changed("job-complete", "workload.metadata.deletionTimestamp", "2025-12-31T23:59:59Z")
    assert [entry.key for entry in observe(payload).observations] == ["job-complete"]


@pytest.mark.parametrize(
    ("claim", "path", "value"),
    [
        ("a workload of a sort that is not known", "subject.workload", "CronJob"),
        ("an absence without a beginning", "absentSince", None),
        ("an absence that began at no time", "absentSince", "yesterday"),
        ("no word on whether it was seen", "seen", None),
    ],
)
def test_a_snapshot_is_malformed_by(claim: str, path: str, value: Any) -> None:
    with pytest.raises(transport.ReadError, match="malformed"):
        observe(changed("deployment-absent", path, value))
