"""Mergeability against the base as it is now, currency, the queue and the stack."""

from typing import Any

import pytest

from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import check, rollup

MINUTE = 60.0
B2: dict[str, Any] = {"repositories": {"acme/api": {"refs": {"main": "b2"}}}}


def merge_of(*parents: str) -> dict[str, Any]:
    """The test merge of these two."""
    return {"potentialMergeCommit": {"oid": "m", "parents": [{"oid": one} for one in parents]}}


async def test_mergeability_that_is_being_computed_is_read_again_within_seconds() -> None:
    """C032."""
    desk = pulls.Desk(pulls.world(pulls.pull(mergeable="UNKNOWN", mergeStateStatus="UNKNOWN")))
    first = await desk.seen()
    assert (pulls.keys(first), first.recheck_after, first.pending) == ([], 10.0, 0)
    desk.show(pulls.pull())
    second = await desk.seen(10)
    assert (pulls.keys(second), second.recheck_after) == (["ready"], None)


async def test_what_was_waited_for_is_said_in_words() -> None:
    """C034: the notice of a stall has nothing else to tell."""
    result = await pulls.observed(pulls.pull(mergeable="UNKNOWN"))
    assert result.waiting == "GitHub has not computed mergeability (UNKNOWN)"


async def test_a_test_merge_with_an_older_base_is_pending_until_it_is_made_anew() -> None:
    """C035."""
    desk = pulls.Desk(pulls.world(pulls.pull(), **B2))
    first = await desk.seen()
    assert (pulls.keys(first), first.pending) == ([], 1)
    desk.show(pulls.pull(**merge_of("b2", "h1")), **B2)
    assert pulls.keys(await desk.seen(MINUTE)) == ["ready"]


async def test_after_ten_minutes_in_which_nothing_changed_an_older_test_merge_does_not_block_and_is_disclosed() -> None:
    """C035."""
    desk = pulls.Desk(pulls.world(pulls.pull(), **B2))
    first = await desk.seen()
    assert pulls.keys(await desk.seen(9 * MINUTE)) == []
    later = await desk.seen(MINUTE)
    assert (pulls.keys(later), later.pending) == (["ready"], 0)
    assert "made with an older base" in pulls.entry(later, "ready").brief
    assert later.activity == first.activity, "the settle time would begin again"


async def test_a_base_that_moves_again_begins_the_ten_minutes_again() -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(), **B2))
    await desk.seen()
    desk.show(pulls.pull(), repositories={"acme/api": {"refs": {"main": "b3"}}})
    assert pulls.keys(await desk.seen(9 * MINUTE)) == []
    assert pulls.keys(await desk.seen(9 * MINUTE)) == []
    assert pulls.keys(await desk.seen(MINUTE)) == ["ready"]


@pytest.mark.parametrize(
    ("changed", "of_world"),
    [
        ({"baseRefOid": "b1"}, B2),
        (merge_of("b1", "h0"), {}),
        ({"baseRefOid": "b1"}, {"repositories": {"acme/api": {"refs": {"main": None}}}}),
    ],
    ids=["the recorded base", "the test merge's head", "no base branch"],
)
async def test_any_other_trouble_with_the_base_is_pending_and_after_ten_minutes_news(
    changed: dict[str, Any], of_world: dict[str, Any]
) -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(**changed), **of_world))
    first = await desk.seen()
    assert (pulls.keys(first), first.pending) == ([], 1)
    assert pulls.keys(await desk.seen(9 * MINUTE)) == []
    later = await desk.seen(MINUTE)
    assert (pulls.keys(later), later.pending) == (["base-ref-blocked"], 0)
    desk.show(pulls.pull())
    assert pulls.keys(await desk.seen(MINUTE)) == ["ready"]


async def test_trouble_that_ended_is_forgotten() -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(**merge_of("b1", "h0"))))
    await desk.seen()
    desk.show(pulls.pull())
    await desk.seen(9 * MINUTE)
    desk.show(pulls.pull(**merge_of("b1", "h0")))
    assert pulls.keys(await desk.seen(MINUTE)) == []


async def test_a_conflict_with_the_base_as_it_is_now_needs_no_test_merge_and_cannot_wait() -> None:
    result = await pulls.observed(
        pulls.pull(mergeable="CONFLICTING", mergeStateStatus="DIRTY", potentialMergeCommit=None)
    )
    found = pulls.entry(result, "conflict")
    assert (found.severity, found.resets_on, found.episode) == ("Immediate", "Revision", "b1")
    assert result.pending == 0


async def test_a_conflict_with_an_older_base_is_none_yet() -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(mergeable="CONFLICTING", baseRefOid="b1"), **B2))
    result = await desk.seen()
    assert (pulls.keys(result), result.pending) == ([], 1)


@pytest.mark.parametrize("state", ["BLOCKED", "UNSTABLE", "DIRTY", "UNKNOWN", "DRAFT"])
async def test_a_merge_state_that_is_not_clean_is_not_ready(state: str) -> None:
    result = await pulls.observed(pulls.pull(mergeStateStatus=state))
    assert pulls.keys(result) == []
    assert state in result.waiting


@pytest.mark.parametrize("state", ["CLEAN", "HAS_HOOKS"])
async def test_a_clean_merge_state_is_ready(state: str) -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(mergeStateStatus=state))) == ["ready"]


async def test_blocked_wins_over_a_review_decision_that_is_null() -> None:
    """C046."""
    assert pulls.keys(await pulls.observed(pulls.pull(mergeStateStatus="BLOCKED", reviewDecision=None))) == []


# --- currency ---------------------------------------------------------------------------------------------------------

RULESET = {
    "rules": [
        {
            "type": "REQUIRED_STATUS_CHECKS",
            "parameters": {
                "__typename": "RequiredStatusChecksParameters",
                "strictRequiredStatusChecksPolicy": True,
                "requiredStatusChecks": [],
            },
        }
    ]
}


@pytest.mark.parametrize(
    ("changed", "options", "behind"),
    [
        ({"mergeStateStatus": "BEHIND"}, {}, True),
        ({"baseRef": {"compare": {"behindBy": 2}}}, {}, False),
        ({"baseRef": {"compare": {"behindBy": 2}}}, {"alwaysCurrent": True}, True),
        ({"baseRef": {"compare": {"behindBy": 0}}}, {"alwaysCurrent": True}, False),
        (
            {"baseRef": {"compare": {"behindBy": 2}, "branchProtectionRule": {"requiresStrictStatusChecks": True}}},
            {},
            True,
        ),
        ({"baseRef": {"compare": {"behindBy": 2}, **RULESET}}, {}, True),
        ({"baseRef": {"compare": {"behindBy": 0}, **RULESET}}, {}, False),
    ],
)
async def test_it_is_behind_only_where_somebody_asks_for_a_current_head(
    changed: dict[str, Any], options: dict[str, Any], behind: bool
) -> None:
    result = await pulls.observed(pulls.pull(**changed), **options)
    assert pulls.keys(result) == (["behind"] if behind else ["ready"])
    if behind:
        assert (pulls.entry(result, "behind").episode, pulls.entry(result, "behind").severity) == ("b1", "Wake")


async def test_a_comparison_that_cannot_be_had_is_missed_only_by_who_asks_for_a_current_head() -> None:
    assert pulls.keys(await pulls.observed(pulls.pull())) == ["ready"]
    result = await pulls.observed(pulls.pull(), alwaysCurrent=True)
    assert (pulls.keys(result), result.complete) == ([], False)


@pytest.mark.parametrize(
    ("by", "headline", "second", "options", "told"),
    [
        ("web-flow", "Merge branch 'main' into thing", "b0", {}, True),
        ("ana", "Merge remote-tracking branch 'origin/main' into thing", "b0", {}, True),
        ("ana", "Sync", "b1", {}, True),
        ("vigil-bot", "Merge branch 'main' into thing", "b1", {}, False),
        ("helper[bot]", "Merge branch 'main' into thing", "b1", {"selfLogins": ["helper"]}, False),
        ("ana", "Merge branch 'other' into thing", "x9", {}, False),
    ],
)
async def test_a_merge_of_the_base_that_somebody_else_made_is_told(
    by: str, headline: str, second: str, options: dict[str, Any], told: bool
) -> None:
    who = {"user": {"login": by}}
    head = {"committedDate": pulls.at("10:00"), "messageHeadline": headline, "author": who, "committer": who}
    merged = pulls.pull(commits=[{"commit": {**head, "parents": [{"oid": "h0"}, {"oid": second}]}}])
    assert ("unrequested-base-merge" in pulls.keys(await pulls.observed(merged, **options))) == told


# --- the queue --------------------------------------------------------------------------------------------------------

ADDED = {"__typename": "AddedToMergeQueueEvent", "id": "A1", "createdAt": pulls.at("10:20")}
REMOVED = {
    "__typename": "RemovedFromMergeQueueEvent",
    "id": "E1",
    "createdAt": pulls.at("10:50"),
    "reason": "no response for status checks",
}
COMMIT = {"__typename": "PullRequestCommit", "id": "C9"}
PUSHED = {"__typename": "HeadRefForcePushedEvent", "id": "F1", "createdAt": pulls.at("10:55")}


async def test_a_place_in_the_queue_is_pending() -> None:
    queued = pulls.pull(isInMergeQueue=True, mergeQueueEntry={"state": "AWAITING_CHECKS", "position": 1})
    result = await pulls.observed(queued)
    assert (pulls.keys(result), result.pending) == ([], 1)


async def test_to_be_taken_out_of_the_queue_is_news_beside_being_ready() -> None:
    """C037."""
    result = await pulls.observed(pulls.pull(timelineItems=[ADDED, REMOVED]))
    found = pulls.entry(result, "queue-ejected")
    assert pulls.keys(result) == ["queue-ejected", "ready"]
    assert (found.resets_on, found.episode) == ("Never", "E1")
    assert "no response for status checks" in found.brief


@pytest.mark.parametrize(
    "changed",
    [
        {"timelineItems": [ADDED, REMOVED, COMMIT]},
        {"timelineItems": [ADDED, REMOVED, PUSHED]},
        {"timelineItems": [REMOVED, ADDED]},
        {"timelineItems": [REMOVED], "isInMergeQueue": True},
        {"timelineItems": [REMOVED], "state": "MERGED"},
    ],
    ids=["a commit", "a force push", "queued again", "in the queue", "merged"],
)
async def test_the_removal_is_moot_once_something_came_after_it(changed: dict[str, Any]) -> None:
    assert "queue-ejected" not in pulls.keys(await pulls.observed(pulls.pull(**changed)))


# --- the stack --------------------------------------------------------------------------------------------------------


def stack(parent: dict[str, Any]) -> dict[str, Any]:
    """A world in which pull request 41 is the parent of 42, and 43 its child."""
    child = pulls.pull(baseRefName="parent", **merge_of("p1", "h1"))
    grandchild = pulls.pull(title="On top", baseRefName="thing", headRefName="top", headRefOid="t1")
    found = pulls.world(child, repositories={"acme/api": {"refs": {"parent": "p1", "top": "t1"}}})
    found["repositories"]["acme/api"]["pullRequests"] |= {
        "41": pulls.pull(title="Below", headRefName="parent", headRefOid="p1", **parent),
        "43": grandchild,
    }
    return found


@pytest.mark.parametrize(
    ("parent", "reason"),
    [
        ({"isDraft": True}, "it is a draft"),
        ({"reviewDecision": "REVIEW_REQUIRED", "mergeStateStatus": "BLOCKED"}, "REVIEW_REQUIRED"),
        ({"mergeable": "CONFLICTING"}, "CONFLICTING"),
        (rollup(check(conclusion="FAILURE"), state="FAILURE"), "its checks are FAILURE"),
    ],
)
async def test_a_parent_that_is_not_ready_is_an_entry_of_the_child(parent: dict[str, Any], reason: str) -> None:
    result = await pulls.Desk(stack(parent)).seen()
    found = pulls.entry(result, "parent-not-ready:41")
    assert (found.resets_on, found.hold) == ("Never", "settle")
    assert reason in found.brief


async def test_a_parent_whose_checks_run_is_pending() -> None:
    result = await pulls.Desk(stack(rollup(check("unit", None), state="PENDING"))).seen()
    assert (pulls.keys(result), result.pending) == ([], 1)


async def test_a_parent_that_is_ready_does_not_keep_the_child() -> None:
    assert pulls.keys(await pulls.Desk(stack({})).seen()) == ["ready"]


async def test_parents_and_children_are_facts_in_the_evidence() -> None:
    evidence = await pulls.Desk(stack({})).evidence()
    assert "Parent in the stack: #41 Below" in evidence
    assert "Child in the stack: #43 On top" in evidence


async def test_the_branch_of_a_fork_has_no_children_here() -> None:
    found = stack({})
    found["repositories"]["acme/api"]["pullRequests"]["42"]["isCrossRepository"] = True
    assert "Child in the stack" not in await pulls.Desk(found).evidence()


async def test_auto_merge_is_a_fact_in_the_evidence() -> None:
    desk = pulls.Desk(
        pulls.world(pulls.pull(autoMergeRequest={"mergeMethod": "SQUASH", "enabledAt": pulls.at("10:00")}))
    )
    assert "Auto-merge is on." in await desk.evidence()
