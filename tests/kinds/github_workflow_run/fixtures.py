"""`python -m tests.kinds.github_workflow_run.fixtures`: writes the fixtures of the kind, as a reader gives them."""

import asyncio
import pathlib
from typing import Any, Final

import vigil_kinds.github_workflow_run
from tests.kinds import fixtures
from tests.kinds.github_workflow_run.runs import Desk, job, run, wanted
from vigil.kind import api

FOLDER: Final = pathlib.Path(vigil_kinds.github_workflow_run.__file__).parent / "fixtures"

STATES: Final[dict[str, dict[str, Any]]] = {
    "succeeded": {},
    "failed": {"conclusion": "failure", "jobs": [job(1, "unit", "failure"), job(2, "lint")]},
    "cancelled-before-it-started": {"conclusion": "cancelled", "jobs": []},
    "timed-out": {"conclusion": "timed_out", "jobs": [job(1, "e2e", "cancelled")]},
    "could-not-be-started": {"conclusion": "failure", "name": ".github/workflows/ci.yaml", "jobs": []},
    "queued": {"status": "queued", "conclusion": None, "jobs": []},
    "running-with-a-failed-job": {
        "status": "in_progress",
        "conclusion": None,
        "jobs": [job(1, "unit", "failure"), job(2, "e2e", None)],
    },
    "waits-for-an-approval": {"status": "waiting", "conclusion": None, "jobs": []},
}
"""What differs from a run that has succeeded, by the name of its state."""

FORBIDDEN: Final = {
    "match": {"path": "/repos/acme/api/actions/runs/900/jobs"},
    "status": 403,
    "body": {"message": "Resource not accessible by integration"},
}


async def payloads() -> dict[str, Any]:
    """The payload of each state."""
    found = {name: await _payload(Desk(run(**said)), run=900) for name, said in STATES.items()}
    return found | {
        "not-there-yet": await _payload(Desk(), workflow="ci.yaml", branch="main"),
        "jobs-forbidden": await _payload(Desk(run(conclusion="failure"), faults=[FORBIDDEN]), run=900),
        "not-a-run": {"message": "Not Found"},
    }


async def _payload(desk: Desk, **fields: Any) -> Any:
    (snapshot,) = await desk.read(wanted(**fields))
    assert isinstance(snapshot, api.Snapshot), snapshot
    return snapshot.payload


if __name__ == "__main__":
    fixtures.write(FOLDER, asyncio.run(payloads()))
