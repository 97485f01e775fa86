"""The evidence of a wake: the jobs that failed and where to look, then all that was read."""

import json
from collections.abc import Iterator

from vigil.kind import api
from vigil_kinds.github_workflow_run import read
from vigil_providers.github import values


def render(snapshot: api.Snapshot) -> str:
    """The failed jobs and steps line by line, then the payload as indented JSON."""
    told = json.dumps(snapshot.payload, indent=2, sort_keys=True, ensure_ascii=False)
    return "\n".join([*_failed(snapshot.payload), "", told])


def _failed(payload: object) -> Iterator[str]:
    for job in values.items(values.part(payload, "jobs")):
        if values.part(job, "status") == "completed" and values.part(job, "conclusion") not in read.PASSED:
            yield f"Job {values.part(job, 'name')}: {values.part(job, 'conclusion')}, {values.part(job, 'html_url')}"
            for step in values.items(values.part(job, "steps")):
                if values.part(step, "conclusion") not in {*read.PASSED, None}:
                    yield f"  step {values.part(step, 'name')}: {values.part(step, 'conclusion')}"
