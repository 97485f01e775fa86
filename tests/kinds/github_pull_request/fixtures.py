"""`python -m tests.kinds.github_pull_request.fixtures`: writes the fixtures of the kind, as a reader gives them.

The payload of each state is what the real reader makes of a world, read from a GitHub that executes the real queries.
"""

import asyncio
import pathlib
from typing import Any, Final

import vigil_kinds.github_pull_request
from tests.kinds import fixtures
from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import bot, check, review, rollup, run, said, status, thread, user
from vigil.kind import api

FOLDER: Final = pathlib.Path(vigil_kinds.github_pull_request.__file__).parent / "fixtures"
BOB: Final = user("bob")
QUEUE: Final = {
    "__typename": "RemovedFromMergeQueueEvent",
    "id": "E1",
    "createdAt": pulls.at("10:50"),
    "reason": "no response for status checks",
}
MERGE: Final = {
    "committedDate": pulls.at("10:00"),
    "messageHeadline": "Merge branch 'main' into thing",
    "author": {"user": user("ana")},
    "committer": {"user": user("web-flow")},
    "parents": [{"oid": "h0"}, {"oid": "b1"}],
}
PARENT: Final = {
    "number": 41,
    "title": "Below",
    "isDraft": True,
    "mergeable": "MERGEABLE",
    "mergeStateStatus": "DRAFT",
    "reviewDecision": "REVIEW_REQUIRED",
}

STATES: Final[dict[str, dict[str, Any]]] = {
    "ready": {},
    "merged": {"state": "MERGED", "mergedBy": user("bob"), "mergedAt": pulls.at("10:30")},
    "closed": {"state": "CLOSED", "closedAt": pulls.at("10:30")},
    "draft": {"isDraft": True, "mergeStateStatus": "DRAFT"},
    "red-and-a-newer-attempt": rollup(
        check("unit", "FAILURE", of=run(900), ended="10:05"),
        check("unit", of=run(900), started="10:20", ended="10:25", id=2),
        check("e2e", "FAILURE", of=run(900), id=3),
        status("ext/build", "ERROR", targetUrl="https://ci.example.com/7"),
        state="FAILURE",
    ),
    "running": rollup(check("unit", None, started="10:50"), status("cla", "EXPECTED"), state="PENDING"),
    "missing": rollup(check(), status("cla", "EXPECTED"), state="EXPECTED") | {"mergeStateStatus": "BLOCKED"},
    "stuck": rollup(check("unit", None, started="08:30"), state="PENDING") | {"mergeStateStatus": "BLOCKED"},
    "no-checks": {"statusCheckRollup": None},
    "waits-for-an-approval": {
        "statusCheckRollup": None,
        "checkSuites": [run(1, "ci", conclusion="ACTION_REQUIRED")],
        "mergeStateStatus": "BLOCKED",
    },
    "under-discussion": {
        "comments": [said(501, bot("status-bot"), "coverage 81%"), said(502, user("vigil-bot"), "Looking.")],
        "reviewThreads": [thread("T1", said(7, BOB, "Why?", state="SUBMITTED"))],
    },
    "changes-requested-on-an-older-commit": {
        "reviews": [review(3, "bob", "CHANGES_REQUESTED", "h0", "Split it.")],
        "reviewDecision": "CHANGES_REQUESTED",
        "mergeStateStatus": "BLOCKED",
    },
    "conflict": {"mergeable": "CONFLICTING", "mergeStateStatus": "DIRTY", "potentialMergeCommit": None},
    "behind": {"mergeStateStatus": "BEHIND"},
    "base-has-moved": {"baseRefOid": "b0"},
    "mergeability-unknown": {"mergeable": "UNKNOWN", "mergeStateStatus": "UNKNOWN", "potentialMergeCommit": None},
    "base-merged-into-it": {"commits": [{"commit": MERGE}]},
    "taken-out-of-the-queue": {"timelineItems": [QUEUE]},
    "on-a-parent-that-is-a-draft": {"baseRef": {"associatedPullRequests": [PARENT]}},
    "checks-of-another-commit": rollup(check(), commit={"oid": "h0"}),
}
"""What differs from a pull request that is ready, by the name of its state."""

FORBIDDEN: Final = {
    "errorAt": {"repository": "acme/api", "pullRequest": 42, "field": "statusCheckRollup"},
    "type": "FORBIDDEN",
}


async def payloads() -> dict[str, Any]:
    """The payload of each state."""
    found = {name: await _payload(pulls.world(pulls.pull(**changed))) for name, changed in STATES.items()}
    found["checks-forbidden"] = await _payload(pulls.world(pulls.pull(), faults=[FORBIDDEN]))
    return found | {"not-a-pull-request": {"message": "Not Found"}}


async def _payload(world: pulls.World) -> Any:
    snapshot = await pulls.Desk(world).read()
    assert isinstance(snapshot, api.Snapshot), snapshot
    return snapshot.payload


if __name__ == "__main__":
    fixtures.write(FOLDER, asyncio.run(payloads()))
