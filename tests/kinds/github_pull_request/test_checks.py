"""Checks: attempts that collapse and siblings that count, what is missing, stuck, gated or unknown.

The numbers are those of the fault cases of real systems that the claims come from.
"""

from typing import Any

import pytest

from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import bare, check, rollup, run, status

CANCELLED = run(900, conclusion="CANCELLED")
NEWER = run(905, started="10:02")
SCANS = (run(41, "scan", event="push", app="scanner"), run(42, "scan", event="pull_request", app="scanner"))

Row = tuple[str, dict[str, Any], list[str], int]
TABLE: list[Row] = [
    (
        "C001 a cancelled older run beside a newer success is no failure",
        rollup(check(conclusion="CANCELLED", of=CANCELLED), check(of=NEWER, started="10:02")),
        ["ready"],
        0,
    ),
    (
        "C002 a re-run keeps the run's id, and its attempt replaces the cancelled one",
        rollup(
            check("build", "CANCELLED", ended="10:05"),
            check("build", started="10:30", ended="10:40", id=2),
        ),
        ["ready"],
        0,
    ),
    (
        "C004 two runs that overlap are siblings, and the worst wins",
        rollup(
            check("analyze (py)", "FAILURE", of=SCANS[0], started="10:00:05", ended="10:00:43"),
            check("analyze (py)", of=SCANS[1], started="10:00:05", ended="10:01:19"),
            state="FAILURE",
        ),
        ["red:scan/analyze (py)"],
        0,
    ),
    (
        "C005 a check and a status of one name are two things",
        rollup(check("lint", started="10:05"), status("lint", "FAILURE"), state="FAILURE"),
        ["red:lint"],
        0,
    ),
    (
        "C007 the event is no part of the identity: one after the other, the second replaces the first",
        rollup(
            check("converged", "FAILURE", of=run(1, "gate"), started="10:00", ended="10:01"),
            check("converged", of=run(2, "gate", "10:20", event="pull_request_review"), started="10:20", ended="10:21"),
        ),
        ["ready"],
        0,
    ),
    (
        "C008 a run that was cancelled before its matrix expanded loses its rows to a newer run",
        rollup(
            check("e2e (${{ matrix.ver }})", "CANCELLED", of=run(1, "e2e", conclusion="CANCELLED")),
            check("e2e (1.30)", of=run(2, "e2e", "10:05")),
            check("e2e (1.31)", of=run(2, "e2e", "10:05")),
        ),
        ["ready"],
        0,
    ),
    (
        "C010 the rows of a cancelled run are gone while the newer run has not published them yet",
        rollup(
            check("Unit (linux)", "FAILURE", of=run(1, "pr", conclusion="CANCELLED")),
            check("shard-1", None, of=run(2, "pr", "10:05", status="IN_PROGRESS", conclusion=None), started="10:50"),
            state="PENDING",
        ),
        [],
        1,
    ),
    (
        "C011 GitHub's own fold over all attempts proves no red",
        rollup(
            check("validate", "FAILURE", of=run(1, "desc"), ended="10:05"),
            check("validate", of=run(1, "desc"), started="10:20", ended="10:25", id=2),
            state="FAILURE",
        ),
        ["ready"],
        0,
    ),
    (
        "C014 nothing at all after a push is neither passed nor failed",
        {"statusCheckRollup": None, "headRefOid": "h2", "potentialMergeCommit": None},
        ["no-checks"],
        0,
    ),
    (
        "C016 a run of the head that is queued keeps it pending, whatever else has passed",
        rollup(check("plan", of=run(5, "release")), check("publish", "SKIPPED", of=run(5, "release")))
        | {"checkSuites": [run(5, "release"), run(6, "ci", status="QUEUED", conclusion=None)]},
        [],
        1,
    ),
    (
        "C022 every state that is not known to pass does not pass",
        rollup(status("ext/build", "ERROR"), check("old", "STALE"), check("late", "TIMED_OUT"), state="FAILURE"),
        ["red:ci/late", "red:ci/old", "red:ext/build"],
        0,
    ),
    (
        "C023 PENDING beside rows that passed is pending, and an expected status is missing after its hold",
        rollup(check(), status("readiness", "PENDING"), status("cla", "EXPECTED"), state="EXPECTED")
        | {"mergeStateStatus": "BLOCKED"},
        ["missing:cla"],
        1,
    ),
    (
        "C025 neutral and skipped pass as they do for GitHub",
        rollup(check("gradle", "SKIPPED"), check("scan", "NEUTRAL")),
        ["ready"],
        0,
    ),
    (
        "C026 a gate that is skipped because its need failed does not hide the failure",
        rollup(check("seed", "FAILURE", of=run(1, "be")), check("done", "SKIPPED", of=run(1, "be")), state="FAILURE")
        | {"mergeStateStatus": "UNSTABLE"},
        ["red:be/seed"],
        0,
    ),
    (
        "C028 runs that wait for an approval are gates, and neither red nor missing",
        {
            "statusCheckRollup": None,
            "checkSuites": [run(1, "ci", conclusion="ACTION_REQUIRED"), run(2, "lint", conclusion="ACTION_REQUIRED")],
        },
        ["approval-gate:ci", "approval-gate:lint"],
        0,
    ),
    (
        "C029 with a conflict GitHub starts no runs: nothing is missing, and it is not ready",
        rollup(bare("analyze")) | {"mergeable": "CONFLICTING", "mergeStateStatus": "DIRTY", "checkSuites": []},
        ["conflict"],
        0,
    ),
    (
        "an expected status is pending while a run of the head is unfinished",
        rollup(check("unit", None, started="10:50"), status("cla", "EXPECTED"), state="PENDING"),
        [],
        2,
    ),
    (
        "a pending status alone does not keep an expected one from being missing",
        rollup(check(), status("deploy", "PENDING"), status("cla", "EXPECTED"), state="PENDING"),
        ["missing:cla"],
        1,
    ),
    (
        "a rollup that says PENDING over finished rows is pending",
        rollup(check(), state="PENDING"),
        [],
        1,
    ),
    (
        "a rollup that says EXPECTED over finished rows is pending",
        rollup(check(), state="EXPECTED"),
        [],
        1,
    ),
    (
        "a job that waits for an approval is a gate and not pending",
        rollup(check(), check("deploy", None, status="WAITING", started=None), state="PENDING"),
        ["approval-gate:ci"],
        0,
    ),
    (
        "a check that is in progress for two hours is stuck and not pending",
        rollup(check("unit", None, started="08:59"), state="PENDING"),
        ["stuck:ci/unit"],
        0,
    ),
    (
        "cancelled without a successor is red",
        rollup(check(conclusion="CANCELLED", of=CANCELLED), state="FAILURE"),
        ["red:ci/unit"],
        0,
    ),
    (
        "a run that failed without any job is red",
        rollup(bare("analyze")) | {"checkSuites": [run(1, "ci", conclusion="STARTUP_FAILURE")]},
        ["red:ci"],
        0,
    ),
    (
        "a run between two of its jobs is pending",
        rollup(check(of=run(900, status="IN_PROGRESS", conclusion=None)), state="SUCCESS"),
        [],
        1,
    ),
    (
        "the suite of an app that never checks anything says nothing",
        rollup(check())
        | {"checkSuites": [run(900), {"databaseId": 3, "status": "QUEUED", "createdAt": pulls.at("08:00")}]},
        ["ready"],
        0,
    ),
    (
        "a check of an app that asks for an action is red, since there is no run to approve",
        rollup(bare("cla", "ACTION_REQUIRED"), state="FAILURE"),
        ["red:cla"],
        0,
    ),
    (
        "a re-run that has not started replaces the failure before it",
        rollup(
            check("unit", "FAILURE"),
            check("unit", None, status="QUEUED", started=None, id=2, of=run(900, status="QUEUED", conclusion=None)),
            state="PENDING",
        ),
        [],
        1,
    ),
]


@pytest.mark.parametrize(("claim", "changed", "keys", "pending"), TABLE, ids=[row[0] for row in TABLE])
async def test_of_the_head(claim: str, changed: dict[str, Any], keys: list[str], pending: int) -> None:
    result = await pulls.observed(pulls.pull(**changed))
    assert (pulls.keys(result), result.pending, result.complete, result.error) == (keys, pending, True, None)
    assert result.revision == changed.get("headRefOid", "h1")


async def test_a_red_check_is_news_of_its_revision_and_of_its_attempt() -> None:
    result = await pulls.observed(pulls.pull(**rollup(check(conclusion="FAILURE", id=77), state="FAILURE")))
    found = pulls.entry(result, "red:ci/unit")
    assert (found.severity, found.resets_on, found.episode, found.hold) == ("Wake", "Revision", "77", 0)
    assert found.brief == "FAILURE https://github.com/acme/api/runs/unit"


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        (rollup(check(), status("cla", "EXPECTED"), state="EXPECTED"), "missing:cla"),
        ({"statusCheckRollup": None}, "no-checks"),
        ({"statusCheckRollup": None, "checkSuites": [run(1, conclusion="ACTION_REQUIRED")]}, "approval-gate:ci"),
    ],
)
async def test_what_may_yet_come_by_itself_is_held_for_five_minutes(changed: dict[str, Any], key: str) -> None:
    assert pulls.entry(await pulls.observed(pulls.pull(**changed)), key).hold == 300.0


async def test_the_drain_of_a_gate_is_the_watchs_own() -> None:
    gate = pulls.pull(statusCheckRollup=None, checkSuites=[run(1, conclusion="ACTION_REQUIRED")])
    assert pulls.entry(await pulls.observed(gate, approvalDrain="12m"), "approval-gate:ci").hold == 720.0


async def test_no_checks_are_no_news_to_a_watch_that_allows_them() -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(statusCheckRollup=None), allowNoChecks=True)) == ["ready"]


async def test_no_checks_never_stands_while_a_run_exists_on_the_head() -> None:
    result = await pulls.observed(pulls.pull(statusCheckRollup=None, checkSuites=[run(1)]))
    assert pulls.keys(result) == []


@pytest.mark.parametrize(
    "rules",
    [
        {"refUpdateRule": {"requiredStatusCheckContexts": ["tests updated", "all passed"]}},
        {"branchProtectionRule": {"requiredStatusCheckContexts": ["tests updated", "all passed"]}},
        {
            "rules": [
                {
                    "type": "REQUIRED_STATUS_CHECKS",
                    "parameters": {
                        "__typename": "RequiredStatusChecksParameters",
                        "requiredStatusChecks": [{"context": "all passed"}],
                    },
                }
            ]
        },
    ],
)
async def test_a_required_check_that_is_not_there_is_pending_and_then_missing(rules: dict[str, Any]) -> None:
    """C017: the statement that every required check that exists has passed is true of none."""
    running = rollup(check("tests updated"), check("v27", None, started="10:50"), state="PENDING")
    result = await pulls.observed(pulls.pull(**running, baseRef=rules, mergeStateStatus="BLOCKED"))
    assert (pulls.keys(result), result.pending) == ([], 2)
    done = rollup(check("tests updated"), check("v27"))
    result = await pulls.observed(pulls.pull(**done, baseRef=rules, mergeStateStatus="BLOCKED"))
    assert (pulls.keys(result), result.pending) == (["missing:all passed"], 0)


@pytest.mark.parametrize("where", ["rollup", "commits"])
async def test_rows_of_another_commit_make_the_read_incomplete(where: str) -> None:
    """C019: for some seconds after a push GitHub tells the new head with the checks of the old one."""
    stale: dict[str, Any] = {"commit": {"oid": "h1"}} if where == "rollup" else {}
    changed = {"commits": [{"commit": {"oid": "h1", "committedDate": pulls.at("08:00")}}]} if where == "commits" else {}
    result = await pulls.observed(
        pulls.pull(headRefOid="h2", **rollup(check(conclusion="FAILURE"), **stale), **changed)
    )
    assert (pulls.keys(result), result.complete, result.error, result.revision) == ([], False, None, "h2")


@pytest.mark.parametrize(
    ("row", "ready"),
    [
        (status("readiness"), True),
        (status("readiness", "PENDING"), False),
        (check("readiness", "SUCCESS"), True),
        (check("other"), False),
    ],
)
async def test_a_readiness_context_can_veto(row: dict[str, Any], ready: bool) -> None:
    result = await pulls.observed(pulls.pull(**rollup(check(), row)), readinessContext="readiness")
    assert ("ready" in pulls.keys(result)) == ready


async def test_a_readiness_context_erases_no_red() -> None:
    rows = rollup(check(conclusion="FAILURE"), status("readiness"), state="FAILURE")
    assert pulls.keys(await pulls.observed(pulls.pull(**rows), readinessContext="readiness")) == ["red:ci/unit"]


async def test_a_key_of_a_long_name_is_bounded_and_stays_one_of_its_own() -> None:
    rows = rollup(check("x" * 300 + "a", "FAILURE"), check("x" * 300 + "b", "FAILURE"), state="FAILURE")
    keys = pulls.keys(await pulls.observed(pulls.pull(**rows)))
    assert len(set(keys)) == 2
    assert all(len(key) <= 200 for key in keys)


async def test_a_name_with_a_line_break_is_one_line() -> None:
    rows = rollup(check("a\nb\x1b[0m", "FAILURE"), state="FAILURE")
    assert pulls.keys(await pulls.observed(pulls.pull(**rows))) == ["red:ci/a b [0m"]


async def test_the_objective_of_checks_looks_at_nothing_else() -> None:
    threads = [pulls.thread("T1", pulls.said(1, pulls.user("bob"), state="SUBMITTED"))]
    noisy = pulls.pull(reviewThreads=threads, mergeable="UNKNOWN", reviewDecision="CHANGES_REQUESTED", isDraft=True)
    result = await pulls.observed(noisy, "checks_green")
    claim = pulls.entry(result, "checks-green")
    assert pulls.keys(result) == ["checks-green"]
    assert (claim.severity, claim.claim, claim.outcome, claim.hold) == ("Terminal", True, "Succeeded", "settle")


@pytest.mark.parametrize("changed", [row[1] for row in TABLE if row[2] != ["ready"] and row[2] != ["conflict"]])
async def test_checks_are_not_green_where_they_keep_it_from_being_ready(changed: dict[str, Any]) -> None:
    assert "checks-green" not in pulls.keys(await pulls.observed(pulls.pull(**changed), "checks_green"))
