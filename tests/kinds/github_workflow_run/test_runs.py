"""Workflow runs: how they end, what is news before that, and how they are read."""

from typing import Any

import pydantic
import pytest

from tests.adapters import http_servers
from tests.githubsim import GitHub, serve
from tests.kinds.github_workflow_run import runs
from tests.kinds.github_workflow_run.runs import Desk, job, run, wanted
from vigil.adapters.http import bound
from vigil.kind import api, transport
from vigil.model import failures, observations
from vigil_kinds.github_workflow_run import KIND, subject

PATH = "/repos/acme/api/actions"
ENDS: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("success is a success", {}, "run-succeeded", "Succeeded", "success: "),
    ("neutral passes", {"conclusion": "neutral"}, "run-succeeded", "Succeeded", "neutral: "),
    ("skipped passes, as GitHub counts it", {"conclusion": "skipped"}, "run-succeeded", "Succeeded", "skipped: "),
    (
        "a failure names its failed jobs",
        {"conclusion": "failure", "jobs": [job(1, "unit", "failure"), job(2, "lint"), job(3, "e2e", "timed_out")]},
        "run-failed",
        "Failed",
        "failure (unit, e2e): ",
    ),
    (
        "C074 a failure with no jobs and its path for a name could not be started",
        {"conclusion": "failure", "name": ".github/workflows/ci.yaml", "jobs": []},
        "startup-failure",
        "Failed",
        "failure, never started: ",
    ),
    ("C074 a start-up failure", {"conclusion": "startup_failure", "jobs": []}, "startup-failure", "Failed", "startup_"),
    (
        "C076 cancelled before it started is cancelled",
        {"conclusion": "cancelled", "jobs": []},
        "run-cancelled",
        "Failed",
        "cancelled, never started: ",
    ),
    (
        "timed out",
        {"conclusion": "timed_out", "jobs": [job(1, "e2e", "cancelled")]},
        "run-timed-out",
        "Failed",
        "timed",
    ),
    ("stale does not pass", {"conclusion": "stale", "jobs": [job(1, "e2e")]}, "run-failed", "Failed", "stale: "),
    (
        "what nobody knows does not pass",
        {"conclusion": "brand_new", "jobs": [job(1, "e2e")]},
        "run-failed",
        "Failed",
        "b",
    ),
    ("no conclusion does not pass", {"conclusion": None, "jobs": [job(1, "e2e")]}, "run-failed", "Failed", "no concl"),
]


@pytest.mark.parametrize(("claim", "said", "key", "outcome", "brief"), ENDS, ids=[row[0] for row in ENDS])
async def test_the_end_of_a_run(claim: str, said: dict[str, Any], key: str, outcome: str, brief: str) -> None:
    result = await Desk(run(**said)).seen()
    (entry,) = result.observations
    assert (entry.key, entry.severity, entry.resets_on, entry.outcome) == (key, "Terminal", "Revision", outcome)
    assert entry.brief.startswith(brief)
    assert (result.pending, result.complete, result.error) == (0, True, None)


@pytest.mark.parametrize("status", ["queued", "in_progress", "requested", "pending", "brand_new"])
async def test_a_run_that_is_not_over_is_pending(status: str) -> None:
    """C074 (a queued attempt lists no jobs either) and C077."""
    result = await Desk(run(status=status, conclusion=None, jobs=[])).seen()
    assert (runs.keys(result), result.pending, result.complete) == ([], 1, True)
    assert status in result.waiting


@pytest.mark.parametrize(
    "said", [{"status": "waiting", "conclusion": None}, {"status": "completed", "conclusion": "action_required"}]
)
async def test_a_run_that_waits_for_a_person_is_a_gate_and_no_end(said: dict[str, Any]) -> None:
    """C077."""
    result = await Desk(run(**said, jobs=[])).seen()
    (entry,) = result.observations
    assert (entry.key, entry.severity, result.pending) == ("approval-gate", observations.Severity.WAKE, 0)


async def test_a_job_that_failed_is_news_while_others_run() -> None:
    jobs = [job(7, "unit", "failure"), job(8, "e2e", None)]
    result = await Desk(run(status="in_progress", conclusion=None, jobs=jobs)).seen()
    (entry,) = result.observations
    assert (entry.key, entry.severity, entry.episode, result.pending) == ("job-failed:unit", "Wake", "7", 1)


async def test_one_long_job_is_plainly_running() -> None:
    """C079: only what is settled counts towards a stall."""
    desk = Desk(run(status="in_progress", conclusion=None, jobs=[job(1, "build", None)]))
    seen = [await desk.seen(after=60) for _ in range(50)]
    assert {one.pending for one in seen} == {1}
    assert {one.activity for one in seen} == {"1:in_progress:None"}


@pytest.mark.parametrize(
    "changed",
    [
        {"run_attempt": 2},
        {"run_started_at": "2026-03-01T10:40:00Z"},
        {"head_sha": "h2"},
    ],
)
async def test_an_attempt_is_a_new_revision_however_github_tells_of_it(changed: dict[str, Any]) -> None:
    """C073: some re-runs keep their attempt."""
    desk = Desk(run(conclusion="failure", jobs=[job(1, "unit", "failure")]))
    before = await desk.seen()
    desk.show(run(status="queued", conclusion=None, jobs=[], **changed))
    after = await desk.seen()
    assert (runs.keys(before), runs.keys(after), after.pending) == (["run-failed"], [], 1)
    assert before.revision != after.revision


async def test_only_runs_of_the_workflow_count() -> None:
    """C080."""
    scan = run(92, workflow_id=9, path=".github/workflows/scan.yaml", created_at="2026-03-01T10:50:00Z")
    ours = run(91, status="in_progress", conclusion=None, jobs=[])
    for workflow in ("ci.yaml", "5"):
        result = await Desk(scan, ours).seen(workflow=workflow, branch="main")
        assert (runs.keys(result), result.pending) == ([], 1)
        assert " run 91 " in result.revision


async def test_the_newest_run_of_a_branch_or_commit_is_the_one() -> None:
    old = run(90, conclusion="failure", jobs=[])
    new = run(91, created_at="2026-03-01T10:50:00Z")
    other = run(95, created_at="2026-03-01T10:59:00Z", head_branch="next", head_sha="abcdef0", conclusion="cancelled")
    desk = Desk(old, new, other)
    assert runs.keys(await desk.seen(workflow="ci.yaml", branch="main")) == ["run-succeeded"]
    assert runs.keys(await desk.seen(workflow="ci.yaml", head="abcdef0")) == ["run-cancelled"]


async def test_a_workflow_without_a_run_is_waited_for_and_then_not_found() -> None:
    desk = Desk(run())
    assert (await desk.seen(workflow="ci.yaml", branch="next")).pending == 1
    assert (await desk.seen(after=599, workflow="ci.yaml", branch="next")).pending == 1
    with pytest.raises(transport.ReadError) as raised:
        await desk.seen(after=1, workflow="ci.yaml", branch="next")
    assert raised.value.failure.category is failures.Category.NOT_FOUND


# --- how they are read ------------------------------------------------------------------------------------------------


async def test_one_run_is_one_request_and_an_unchanged_answer_costs_nothing() -> None:
    desk = Desk(run())
    await desk.seen()
    await desk.seen()
    assert desk.asked() == [f"{PATH}/runs/900", f"{PATH}/runs/900 304"]


async def test_several_runs_of_a_repository_are_one_list() -> None:
    desk = Desk(run(1), run(2, conclusion="cancelled", jobs=[]), run(3, head_branch="next"))
    of = [wanted(run=1), wanted(run=2), wanted(workflow="ci.yaml", branch="next")]
    answers = await desk.read(*of)
    assert [runs.category(one) for one in answers] == [None, None, None]
    assert desk.asked() == [f"{PATH}/runs?per_page=100", f"{PATH}/runs/2/jobs?filter=latest&per_page=100"]


async def test_what_is_not_in_the_list_is_asked_for_by_itself() -> None:
    old = [run(number, created_at=f"2026-02-01T10:{number % 60:02}:00Z") for number in range(1, 110)]
    desk = Desk(*old, run(900))
    answers = await desk.read(wanted(run=1), wanted(run=900), wanted(run=7777))
    assert [runs.category(one) for one in answers] == [None, None, failures.Category.NOT_FOUND]


async def test_jobs_are_read_page_by_page() -> None:
    jobs = [job(number, f"unit-{number}", "failure" if number == 150 else "success") for number in range(1, 151)]
    result = await Desk(run(conclusion="failure", jobs=jobs)).seen()
    assert "(unit-150)" in result.observations[0].brief


async def test_jobs_that_could_not_be_read_are_missing_and_a_throttle_holds_what_follows() -> None:
    """C049."""
    fault = {"match": {"path": f"{PATH}/runs/900/jobs"}, "status": 403, "headers": {"retry-after": "60"}}
    desk = Desk(run(status="in_progress", conclusion=None, jobs=[]), faults=[fault])
    result = await desk.seen()
    assert (runs.keys(result), result.complete) == ([], False)
    assert result.error is not None
    assert (result.error.category, result.error.retry_after) == (failures.Category.THROTTLED, 60.0)
    desk.asked()
    (held,) = await desk.read(wanted(run=900), after=30)
    assert (runs.category(held), held.retry_after, desk.asked()) == (failures.Category.THROTTLED, 30.0, [])


@pytest.mark.parametrize(
    ("fault", "wanted_category"),
    [
        ({"status": 401, "body": {"message": "Bad credentials"}}, failures.Category.AUTH),
        ({"status": 403, "headers": {"x-github-sso": "required"}}, failures.Category.AUTH_SSO),
        ({"status": 403, "body": {"message": "Resource not accessible"}}, failures.Category.FORBIDDEN),
        ({"status": 404, "body": {"message": "Not Found"}}, failures.Category.NOT_FOUND),
        ({"status": 502, "body": "<html></html>"}, failures.Category.TRANSIENT),
        ({"status": 200, "body": "<html></html>"}, failures.Category.MALFORMED),
        ({"status": 200, "body": {"anything": 1}}, None),
    ],
)
async def test_what_github_refuses_is_the_failure_of_the_run(
    fault: dict[str, Any], wanted_category: failures.Category | None
) -> None:
    (answer,) = await Desk(run(), faults=[fault]).read(wanted(run=900))
    assert runs.category(answer) is wanted_category
    if wanted_category is None:
        with pytest.raises(transport.ReadError, match="malformed"):
            KIND.observe(answer, "run_complete", KIND.options(), runs.START)


async def test_a_stranger_under_the_old_name_is_moved() -> None:
    """C068."""
    desk = Desk(run())
    (answer,) = await desk.read(wanted("WFR_1", run=900))
    assert runs.category(answer) is failures.Category.MOVED
    (newest,) = await desk.read(wanted("R_9", workflow="ci.yaml", branch="main"))
    assert runs.category(newest) is failures.Category.MOVED


async def test_a_rename_is_followed_on_the_same_host_and_keeps_the_identity() -> None:
    """C067."""
    moved = runs.world(run())
    moved["repositories"]["acme/web"] = moved["repositories"].pop("acme/api")
    async with serve({**moved, "renamed": {"acme/api": "acme/web"}}) as github, http_servers.guarded() as guarded:
        reader = KIND.reader(bound.BoundTransport(guarded, github.url))
        one = subject.WorkflowRunSubject(repository="acme/api", run=900)
        scope = api.Scope("team-a", github.url.removeprefix("http://"))
        name = KIND.subject_id(one, scope)
        answers = await reader.read({name: api.Wanted(one, scope, "WFR_900")}, api.ReadBudget(30, 9, runs.START))
    answer = answers[name]
    assert isinstance(answer, api.Snapshot)
    assert answer.payload["run"]["repository"]["full_name"] == "acme/web"


async def test_the_evidence_names_the_failed_jobs_and_steps() -> None:
    steps = [{"name": "test", "status": "completed", "conclusion": "failure", "number": 3}]
    desk = Desk(run(conclusion="failure", jobs=[job(7, "unit", "failure", steps=steps), job(8, "lint")]))
    (answer,) = await desk.read(wanted(run=900))
    evidence = KIND.evidence(answer)
    assert evidence.startswith(
        "Job unit: failure, https://github.com/acme/api/actions/runs/900/job/7\n  step test: failure"
    )
    assert "Job lint" not in evidence


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"run": 900, "branch": "main"},
        {"run": 900, "workflow": "ci.yaml"},
        {"workflow": "ci.yaml"},
        {"branch": "main"},
        {"workflow": "ci.yaml", "branch": "main", "head": "abcdef0"},
    ],
)
def test_a_subject_has_one_of_its_forms(fields: dict[str, Any]) -> None:
    with pytest.raises(pydantic.ValidationError, match="needs either run, or workflow together with branch or head"):
        subject.WorkflowRunSubject.model_validate({"repository": "acme/api", **fields})


def test_a_world_of_runs_answers_as_github_describes_it() -> None:
    github = GitHub(runs.world(run(conclusion="no such type", status=7)))
    reply = github.handle("GET", f"{PATH}/runs/900", {"authorization": "Bearer t"}, b"")
    assert reply.status == 500
    assert b"not what GitHub describes: status" in reply.body
