"""The ends of a pull request, its identity, and what the three objectives make of it."""

import pytest

from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import check, rollup, said, thread, user
from vigil.model import failures

OBJECTIVES = ["review_ready", "merged", "checks_green"]


@pytest.mark.parametrize("objective", OBJECTIVES)
async def test_merged_is_all_that_is_said_of_what_is_merged(objective: str) -> None:
    """C070."""
    noise = rollup(check(conclusion="FAILURE"), check("e2e", None), state="FAILURE")
    threads = [thread("T1", said(1, user("bob"), state="SUBMITTED"))]
    result = await pulls.observed(
        pulls.pull(state="MERGED", mergedBy=user("bob"), reviewThreads=threads, **noise), objective
    )
    (found,) = result.observations
    assert (found.key, found.severity, found.resets_on, found.outcome, found.brief) == (
        "merged",
        "Terminal",
        "Never",
        "Succeeded",
        "merged by bob",
    )
    assert (result.complete, result.pending, result.revision) == (True, 0, "h1")


@pytest.mark.parametrize("objective", OBJECTIVES)
async def test_closed_without_being_merged_is_a_failure(objective: str) -> None:
    result = await pulls.observed(pulls.pull(state="CLOSED"), objective)
    assert [(one.key, one.severity, one.outcome) for one in result.observations] == [("closed", "Terminal", "Failed")]


async def test_one_that_is_opened_again_is_read_as_it_is() -> None:
    """C071."""
    desk = pulls.Desk(pulls.world(pulls.pull(state="CLOSED")))
    assert pulls.keys(await desk.seen()) == ["closed"]
    desk.show(pulls.pull(headRefOid="h3"))
    assert pulls.keys(await desk.seen(60)) == ["ready"]
    desk.show(pulls.pull(headRefOid="h3", state="MERGED"))
    assert pulls.keys(await desk.seen(60)) == ["merged"]


@pytest.mark.parametrize(("objective", "severity"), [("review_ready", "Terminal"), ("merged", "Wake")])
async def test_ready_is_a_claim_that_is_held_and_ends_only_a_watch_for_it(objective: str, severity: str) -> None:
    found = pulls.entry(await pulls.observed(pulls.pull(), objective), "ready")
    assert (found.severity, found.claim, found.outcome, found.hold, found.resets_on) == (
        severity,
        True,
        "Succeeded",
        "settle",
        "Revision",
    )


async def test_a_push_is_a_new_revision() -> None:
    """C020."""
    desk = pulls.Desk(pulls.world(pulls.pull(**rollup(check(conclusion="FAILURE"), state="FAILURE"))))
    first = await desk.seen()
    desk.show(pulls.pull(headRefOid="h2", **rollup(check("unit", None, started="11:00"), state="PENDING")))
    second = await desk.seen(60)
    assert (pulls.keys(first), first.revision) == (["red:ci/unit"], "h1")
    assert (pulls.keys(second), second.revision, second.pending) == ([], "h2", 1)


async def test_a_rename_keeps_the_identity_and_the_evidence_names_the_new_repository() -> None:
    """C067."""
    desk = pulls.Desk(pulls.world(pulls.pull()))
    await desk.seen()
    before = desk.anchor
    renamed = pulls.world(pulls.pull())
    renamed["repositories"]["acme/web"] = renamed["repositories"].pop("acme/api")
    desk.github.set_world({**renamed, "renamed": {"acme/api": "acme/web"}})
    assert pulls.keys(await desk.seen(60)) == ["ready"]
    assert desk.anchor == before
    assert "Moved: the Watch names acme/api; the repository is now acme/web." in await desk.evidence()


async def test_a_stranger_under_the_old_name_is_moved_and_nothing_of_it_is_told() -> None:
    """C068."""
    desk = pulls.Desk(pulls.world(pulls.pull()))
    await desk.seen()
    desk.show(pulls.pull(title="IGNORE ALL THAT", id="PR_900"), repositories={"acme/api": {"id": "R_9"}})
    answer = await desk.read(60)
    assert isinstance(answer, failures.Failure)
    assert answer.category is failures.Category.MOVED
    assert "IGNORE" not in answer.message


@pytest.mark.parametrize(
    "world", [{"repositories": {"acme/api": None}}, {"repositories": {"acme/api": {"pullRequests": {"42": None}}}}]
)
async def test_what_is_not_there_or_may_not_be_seen_is_not_found(world: dict[str, object]) -> None:
    answer = await pulls.Desk(pulls.world(pulls.pull(), **world)).read()
    assert isinstance(answer, failures.Failure)
    assert answer.category is failures.Category.NOT_FOUND
    assert "acme/api#42: " in answer.message
    assert "may not see it" in answer.message
