"""The reader against a server that answers as the API server does."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
from aiohttp import web

from tests.kinds.kubernetes_rollout import apiserver, objects
from vigil.kind import api, transport
from vigil.model import failures, ids, observations
from vigil_kinds.kubernetes_rollout import KIND, listing, read

BUDGET = api.ReadBudget(timeout=10, requests=50, now=objects.NOW)
API = objects.subject_id("Deployment", "api")
IMPORT = objects.subject_id("Job", "import")


@pytest.fixture
def server() -> apiserver.ApiServer:
    """The API server, empty."""
    return apiserver.ApiServer()


@pytest.fixture
async def reader(server: apiserver.ApiServer) -> AsyncIterator[api.Reader]:
    """A reader that is bound to the server."""
    async with server.run() as bound:
        yield KIND.reader(bound)


def at(seconds: float, *, requests: int = 50, timeout: float = 10) -> api.ReadBudget:
    """A budget, so many seconds later."""
    return api.ReadBudget(timeout=timeout, requests=requests, now=objects.NOW + seconds)


def snapshot(answer: api.Snapshot | failures.Failure) -> api.Snapshot:
    """The answer, which has to be a snapshot."""
    assert isinstance(answer, api.Snapshot)
    return answer


def keys(
    answer: api.Snapshot | failures.Failure, objective: str = "rolled_out", now: ids.Instant = objects.NOW
) -> list[str]:
    """The keys that observe makes of an answer."""
    return [entry.key for entry in result(answer, objective, now).observations]


def result(
    answer: api.Snapshot | failures.Failure, objective: str = "rolled_out", now: ids.Instant = objects.NOW
) -> observations.ProbeResult:
    """What observe makes of an answer."""
    return KIND.observe(snapshot(answer), objective, KIND.options(), now)


async def failure_of(reading: Any) -> failures.Failure:
    """The failure with which a read of everything fails."""
    with pytest.raises(transport.ReadError) as raised:
        await reading
    return raised.value.failure


# How many requests, and which


async def test_one_list_spans_the_group(server: apiserver.ApiServer, reader: api.Reader) -> None:
    for number in range(25):
        server.put("deployments", objects.workload("deployment-rolled-out", name=f"api-{number}"))
    names = [f"api-{number}" for number in range(25)]
    answers = await reader.read(objects.wanted("Deployment", *names), BUDGET)
    assert [keys(answer) for answer in answers.values()] == [["rolled-out"]] * 25
    assert server.paths() == ["/apis/apps/v1/namespaces/team-a/deployments"]
    assert server.requests[0].query == {"limit": "500"}


async def test_a_single_workload_is_listed_by_its_name(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out"))
    server.put("deployments", objects.workload("deployment-rolled-out", name="other"))
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert keys(answers[API]) == ["rolled-out"]
    assert [request.query["fieldSelector"] for request in server.requests] == ["metadata.name=api"]


@pytest.mark.parametrize(
    ("sort", "resource", "path", "state", "objective", "key"),
    [
        ("StatefulSet", "statefulsets", "/apis/apps/v1", "statefulset-rolled-out", "rolled_out", "rolled-out"),
        ("DaemonSet", "daemonsets", "/apis/apps/v1", "daemonset-rolled-out", "rolled_out", "rolled-out"),
        ("Job", "jobs", "/apis/batch/v1", "job-complete", "job_complete", "job-complete"),
    ],
)
async def test_every_workload_is_read_from_its_own_resource(
    server: apiserver.ApiServer,
    reader: api.Reader,
    sort: str,
    resource: str,
    path: str,
    state: str,
    objective: str,
    key: str,
) -> None:
    item = objects.workload(state)
    server.put(resource, item)
    answers = await reader.read(objects.wanted(sort, item["metadata"]["name"]), BUDGET)
    assert [keys(answer, objective) for answer in answers.values()] == [[key]]
    assert server.paths() == [f"{path}/namespaces/team-a/{resource}"]


async def test_pods_are_listed_only_for_a_workload_in_trouble(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out", name="well"))
    server.put("deployments", objects.workload("deployment-image-not-found"))
    server.put("pods", objects.pod("deployment-image-not-found"))
    answers = await reader.read(objects.wanted("Deployment", "well", "api"), BUDGET)
    assert [entry.episode for entry in result(answers[API]).observations] == ["ImagePullBackOff"]
    assert snapshot(answers[objects.subject_id("Deployment", "well")]).payload["pods"] is None
    assert server.paths()[1:] == ["/api/v1/namespaces/team-a/pods"]
    assert server.requests[1].query["labelSelector"] == "app=api"


async def test_pods_of_several_workloads_in_trouble_are_one_list(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    labels = {"app": "web"}
    web_item = objects.workload("deployment-moving", name="web")
    web_item["spec"]["selector"] = {"matchLabels": labels}
    server.put("deployments", web_item)
    server.put("deployments", objects.workload("deployment-moving"))
    server.put("pods", objects.pod("deployment-image-not-found", name="web-1", labels=labels))
    server.put("pods", objects.pod("deployment-degraded", name="api-1"))
    answers = await reader.read(objects.wanted("Deployment", "web", "api"), BUDGET)
    episodes = {key: [entry.episode for entry in result(answer).observations] for key, answer in answers.items()}
    assert episodes == {API: ["CrashLoopBackOff"], objects.subject_id("Deployment", "web"): ["ImagePullBackOff"]}
    assert len(server.requests) == 2


async def test_pods_of_other_owners_are_not_a_deployments(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    server.put("pods", objects.pod("job-never-fails-in-place", labels={"app": "api"}))
    server.put("pods", objects.pod("deployment-degraded", name="by-hand", ownerReferences=[]))
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert snapshot(answers[API]).payload["pods"] == []
    assert result(answers[API]) == observations.ProbeResult((), result(answers[API]).revision, pending=1)


async def test_pods_of_an_earlier_job_of_the_same_name_are_not_this_ones(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("jobs", objects.workload("job-recreated"))
    server.put("pods", objects.pod("job-never-fails-in-place"))
    answers = await reader.read(objects.wanted("Job", "import"), BUDGET)
    assert keys(answers[IMPORT], "job_complete") == []


async def test_a_snapshot_holds_few_pods_and_those_with_a_reason_first(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    for number in range(30):
        server.put("pods", objects.pod("deployment-moving", name=f"api-{number:02}"))
    server.put("pods", objects.pod("deployment-degraded", name="api-99"))
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    names = [pod["metadata"]["name"] for pod in snapshot(answers[API]).payload["pods"]]
    assert names == ["api-99", *(f"api-{number:02}" for number in range(19))]


async def test_a_well_pod_is_in_no_snapshot(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    well = objects.pod("deployment-moving")
    well["status"] = {"phase": "Running", "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0}]}
    server.put("pods", well)
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert snapshot(answers[API]).payload["pods"] == []


async def test_only_the_namespace_of_the_watch_is_read(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out", namespace="team-b"))
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert result(answers[API]).pending == 1
    assert {path.split("/")[5] for path in server.paths()} == {"team-a"}


async def test_selectors_with_expressions_are_sent_and_matched(server: apiserver.ApiServer, reader: api.Reader) -> None:
    expressions = [
        {"key": "app", "operator": "In", "values": ["api", "api-v2"]},
        {"key": "tier", "operator": "NotIn", "values": ["canary"]},
        {"key": "pod-template-hash", "operator": "Exists"},
        {"key": "legacy", "operator": "DoesNotExist"},
    ]
    item = objects.workload("deployment-moving")
    item["spec"]["selector"] = {"matchExpressions": expressions}
    server.put("deployments", item)
    labels = {"app": "api", "pod-template-hash": "7d9c"}
    server.put("pods", objects.pod("deployment-degraded", name="ours", labels=labels))
    server.put("pods", objects.pod("deployment-degraded", name="canary", labels={**labels, "tier": "canary"}))
    server.put("pods", objects.pod("deployment-degraded", name="legacy", labels={**labels, "legacy": "1"}))
    server.put("pods", objects.pod("deployment-degraded", name="unhashed", labels={"app": "api"}))
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert [pod["metadata"]["name"] for pod in snapshot(answers[API]).payload["pods"]] == ["ours"]
    assert (
        server.requests[-1].query["labelSelector"]
        == "app in (api,api-v2),tier notin (canary),pod-template-hash,!legacy"
    )


# Pages


async def test_a_list_is_read_page_by_page(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.page_limit = 2
    names = [f"api-{number}" for number in range(5)]
    for name in names:
        server.put("deployments", objects.workload("deployment-rolled-out", name=name))
    answers = await reader.read(objects.wanted("Deployment", *names), BUDGET)
    assert [keys(answer) for answer in answers.values()] == [["rolled-out"]] * 5
    assert len(server.requests) == 3


async def test_no_page_is_asked_for_once_all_are_found(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.page_limit = 2
    for name in ("a", "b", "c", "d", "e"):
        server.put("deployments", objects.workload("deployment-rolled-out", name=name))
    await reader.read(objects.wanted("Deployment", "a", "b"), BUDGET)
    assert len(server.requests) == 1


async def test_a_page_that_expired_begins_the_list_again_once(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.page_limit = 2
    for name in ("a", "b", "c", "d"):
        server.put("deployments", objects.workload("deployment-rolled-out", name=name))
    server.expire_after = 1
    answers = await reader.read(objects.wanted("Deployment", "a", "d"), BUDGET)
    assert keys(answers[objects.subject_id("Deployment", "a")]) == ["rolled-out"]
    failed = answers[objects.subject_id("Deployment", "d")]
    assert isinstance(failed, failures.Failure)
    assert failed.category is failures.Category.TRANSIENT
    assert ["continue" in request.query for request in server.requests] == [False, True, False, True]


async def test_a_list_that_began_again_is_whole(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.page_limit = 2
    for name in ("a", "b", "c"):
        server.put("deployments", objects.workload("deployment-rolled-out", name=name))
    gone = apiserver.status(410, "Expired", "The provided continue parameter is too old")
    ok = [web.json_response({"kind": "DeploymentList", "metadata": {"continue": "[2, 0]"}, "items": []}), gone]
    server.broken["deployments"] = ok
    answers = await reader.read(objects.wanted("Deployment", "a", "c"), BUDGET)
    assert [keys(answer) for answer in answers.values()] == [["rolled-out"]] * 2


async def test_a_list_without_an_end_is_left_and_absence_is_not_concluded(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.page_limit = 1
    for number in range(listing.MAX_PAGES + 1):
        server.put("deployments", objects.workload("deployment-rolled-out", name=f"api-{number:02}"))
    answers = await reader.read(objects.wanted("Deployment", "api-00", "zzz"), BUDGET)
    assert keys(answers[objects.subject_id("Deployment", "api-00")]) == ["rolled-out"]
    failed = answers[objects.subject_id("Deployment", "zzz")]
    assert isinstance(failed, failures.Failure)
    assert failed.category is failures.Category.TOO_LARGE
    assert len(server.requests) == listing.MAX_PAGES


async def test_no_more_requests_are_made_than_allowed(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.page_limit = 1
    for name in ("a", "b", "c"):
        server.put("deployments", objects.workload("deployment-rolled-out", name=name))
    answers = await reader.read(objects.wanted("Deployment", "a", "c"), at(0, requests=2))
    assert len(server.requests) == 2
    failed = answers[objects.subject_id("Deployment", "c")]
    assert isinstance(failed, failures.Failure)
    assert failed.category is failures.Category.TOO_LARGE


async def test_pods_that_may_not_be_asked_for_leave_the_read_incomplete(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    answers = await reader.read(objects.wanted("Deployment", "api"), at(0, requests=1))
    seen = result(answers[API])
    assert not seen.complete
    assert seen.error is not None
    assert seen.error.category is failures.Category.TOO_LARGE


# Failures


async def test_an_unauthorized_read_is_auth(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.token = "another"
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), BUDGET))
    assert failure.category is failures.Category.AUTH


async def test_a_forbidden_read_says_what_the_server_says(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.forbidden.add("deployments")
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), BUDGET))
    assert failure.category is failures.Category.FORBIDDEN
    assert 'cannot list resource "deployments" in the namespace "team-a"' in failure.message


async def test_a_resource_that_is_not_served_is_a_fault_of_the_configuration(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.unserved.add("jobs")
    failure = await failure_of(reader.read(objects.wanted("Job", "import"), BUDGET))
    assert failure.category is failures.Category.CONFIG
    assert "does not serve this resource" in failure.message


ANSWERS: list[tuple[str, Callable[[], web.Response], str, float | None]] = [
    ("429 is a throttle for so long", lambda: error(429, {"Retry-After": "7"}), "throttled", 7),
    ("429 without a time is a throttle", lambda: error(429), "throttled", None),
    ("429 with a time that is none is a throttle", lambda: error(429, {"Retry-After": "soon"}), "throttled", None),
    ("500 is transient", lambda: error(500), "transient", None),
    ("503 is transient, and names its time", lambda: error(503, {"Retry-After": "1"}), "transient", 1),
    ("504 is a timeout", lambda: error(504), "timeout", None),
    ("502 of a gateway is transient", lambda: web.Response(status=502, text="<html></html>"), "transient", None),
    ("400 has no class", lambda: error(400), "unknown", None),
    ("a page of HTML is malformed", lambda: web.Response(text="<html>sign in</html>"), "malformed", None),
    ("JSON that is too deep is malformed", lambda: web.Response(text="[" * 100_000), "malformed", None),
    ("an array is malformed", lambda: web.json_response([]), "malformed", None),
    ("a list without items is malformed", lambda: a_list(metadata={}), "malformed", None),
    ("items that are no array are malformed", lambda: a_list(items={}), "malformed", None),
    ("metadata that is no object is malformed", lambda: a_list(items=[], metadata=[]), "malformed", None),
    ("a token that is no text is malformed", lambda: a_list(items=[], metadata={"continue": 7}), "malformed", None),
    ("a list of another kind is malformed", lambda: a_list(kind="PodList", items=[]), "malformed", None),
    ("a Status is no list", lambda: a_list(kind="Status", message="no", items=[]), "malformed", None),
]


def error(code: int, headers: Mapping[str, str] | None = None) -> web.Response:
    """A Status of that code."""
    return apiserver.status(code, "Reason", "what the server says", headers)


def a_list(kind: str = "DeploymentList", **parts: Any) -> web.Response:
    """A list, or what looks like one."""
    return web.json_response({"kind": kind, **parts})


@pytest.mark.parametrize(
    ("answer", "category", "retry_after"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
async def test_every_other_answer_has_its_class(
    server: apiserver.ApiServer,
    reader: api.Reader,
    answer: Callable[[], web.Response],
    category: str,
    retry_after: float | None,
) -> None:
    server.broken["deployments"] = [answer()]
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), BUDGET))
    assert (failure.category, failure.retry_after) == (category, retry_after)


async def test_a_connection_that_the_server_closes_is_transient_and_the_next_read_goes_on(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    server.cut.add("deployments")
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), BUDGET))
    assert failure.category is failures.Category.TRANSIENT
    answers = await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    assert keys(answers[API]) == []


async def test_a_server_that_does_not_answer_is_a_timeout(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.hanging.add("deployments")
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), at(0, timeout=0.05)))
    assert failure.category is failures.Category.TIMEOUT


async def test_pods_that_come_too_late_do_not_cost_the_workload(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-deadline-exceeded"))
    server.hanging.add("pods")
    answers = await reader.read(objects.wanted("Deployment", "api", "absent"), at(0, timeout=2))
    seen = result(answers[API])
    assert [entry.episode for entry in seen.observations] == ["ProgressDeadlineExceeded"]
    assert seen.error is not None
    assert seen.error.category is failures.Category.TIMEOUT
    assert result(answers[objects.subject_id("Deployment", "absent")]).pending == 1


async def test_forbidden_pods_are_the_error_of_a_partial_read(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    server.forbidden.add("pods")
    seen = result((await reader.read(objects.wanted("Deployment", "api"), BUDGET))[API])
    assert not seen.complete
    assert seen.error is not None
    assert seen.error.category is failures.Category.FORBIDDEN


async def test_a_malformed_workload_does_not_fail_its_group(server: apiserver.ApiServer, reader: api.Reader) -> None:
    odd = objects.workload("deployment-rolled-out", name="odd")
    odd["spec"]["replicas"] = "three"
    server.put("deployments", odd)
    server.put("deployments", objects.workload("deployment-rolled-out"))
    answers = await reader.read(objects.wanted("Deployment", "odd", "api"), BUDGET)
    assert keys(answers[API]) == ["rolled-out"]
    with pytest.raises(transport.ReadError, match="malformed"):
        keys(answers[objects.subject_id("Deployment", "odd")])


# Absence


async def test_a_workload_that_was_seen_and_is_not_there_any_more_is_gone(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    active = objects.payload("job-gone")["lastSeen"]
    server.put("jobs", active)
    first = snapshot((await reader.read(objects.wanted("Job", "import"), BUDGET))[IMPORT])
    server.delete("jobs", "import")
    answers = await reader.read(objects.wanted("Job", "import", anchor=first.anchor), at(2))
    seen = result(answers[IMPORT], "job_complete")
    assert [(entry.key, entry.brief) for entry in seen.observations] == [
        ("gone", "outcome unknown: deleted after last seen active")
    ]
    assert seen.revision == result(first, "job_complete").revision


async def test_an_anchor_alone_tells_that_it_was_there(server: apiserver.ApiServer, reader: api.Reader) -> None:
    answers = await reader.read(objects.wanted("Deployment", "api", anchor="deployments/api"), BUDGET)
    assert keys(answers[API]) == ["gone"]
    assert snapshot(answers[API]).anchor == "deployments/api"


async def test_a_memory_without_an_anchor_lasts_a_while_and_no_longer(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out"))
    await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    server.delete("deployments", "api")
    soon = (await reader.read(objects.wanted("Deployment", "api"), at(read.SEEN_FOR)))[API]
    later = (await reader.read(objects.wanted("Deployment", "api"), at(3 * read.SEEN_FOR)))[API]
    assert keys(soon) == ["gone"]
    assert (result(later).pending, snapshot(later).anchor) == (1, "")


async def test_a_workload_that_does_not_appear_is_awaited_from_the_first_read_on(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    first = (await reader.read(objects.wanted("Deployment", "api"), BUDGET))[API]
    late = (await reader.read(objects.wanted("Deployment", "api"), at(599)))[API]
    too_late = (await reader.read(objects.wanted("Deployment", "api"), at(600)))[API]
    assert result(first).pending == 1
    assert result(late, now=objects.NOW + 599).pending == 1
    with pytest.raises(transport.ReadError) as raised:
        result(too_late, now=objects.NOW + 600)
    assert raised.value.failure == failures.Failure(
        failures.Category.NOT_FOUND, "Deployment api does not exist in team-a, and did not appear within 10m"
    )


async def test_a_wait_that_nobody_asked_about_for_long_begins_again(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    later = 2 * read.ABSENT_FOR
    await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    answer = (await reader.read(objects.wanted("Deployment", "api"), at(later)))[API]
    assert result(answer, now=objects.NOW + later).pending == 1


async def test_a_workload_that_appears_late_is_read_as_any_other(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    server.put("deployments", objects.workload("deployment-rolled-out"))
    answers = await reader.read(objects.wanted("Deployment", "api"), at(3600))
    assert keys(answers[API]) == ["rolled-out"]


async def test_a_failed_read_is_no_absence(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-moving"))
    await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    server.broken["deployments"] = [apiserver.status(503, "ServiceUnavailable", "no")]
    failure = await failure_of(reader.read(objects.wanted("Deployment", "api"), at(60)))
    answers = await reader.read(objects.wanted("Deployment", "api"), at(120))
    assert failure.category is failures.Category.TRANSIENT
    assert keys(answers[API]) == []


async def test_a_job_made_anew_under_its_name_is_another_revision_and_not_moved(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("jobs", objects.workload("job-retrying"))
    first = snapshot((await reader.read(objects.wanted("Job", "import"), BUDGET))[IMPORT])
    server.put("jobs", objects.workload("job-recreated"))
    answers = await reader.read(objects.wanted("Job", "import", anchor=first.anchor), at(60))
    second = snapshot(answers[IMPORT])
    assert first.anchor == second.anchor == "jobs/import"
    assert result(first, "job_complete").revision != result(second, "job_complete").revision


async def test_the_memory_of_a_group_is_bounded(server: apiserver.ApiServer, reader: api.Reader) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out"))
    await reader.read(objects.wanted("Deployment", "api"), BUDGET)
    server.delete("deployments", "api")
    await reader.read(objects.wanted("Deployment", *(f"other-{n}" for n in range(read.REMEMBERED))), BUDGET)
    answers = await reader.read(objects.wanted("Deployment", "api"), at(1))
    assert result(answers[API]).pending == 1


async def test_every_id_that_was_asked_for_is_answered_also_across_partitions(
    server: apiserver.ApiServer, reader: api.Reader
) -> None:
    server.put("deployments", objects.workload("deployment-rolled-out"))
    server.put("jobs", objects.workload("job-complete"))
    asked = {**objects.wanted("Deployment", "api", "absent"), **objects.wanted("Job", "import")}
    answers = await reader.read(asked, BUDGET)
    assert answers.keys() == asked.keys()
