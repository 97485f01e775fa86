"""A run of a GitHub Actions workflow: by its id, or the newest of a workflow on a branch or commit. See README.md."""

from vigil.kind import api
from vigil.model import observations
from vigil_kinds.github_workflow_run import evidence, observe, read, subject
from vigil_providers.github import app, names

_WAKE = frozenset({observations.Severity.WAKE})
_TERMINAL = frozenset({observations.Severity.TERMINAL})
_REVISION = frozenset({observations.ResetsOn.REVISION})


def _key(pattern: str, severities: frozenset[observations.Severity], meaning: str) -> api.Key:
    return api.Key(pattern, "ci", severities, _REVISION, meaning)


KIND = api.Kind(
    name="github_workflow_run",
    summary="A run of a GitHub Actions workflow: by its id, or the newest of a workflow on a branch or commit.",
    subject=subject.WorkflowRunSubject,
    options=subject.WorkflowRunOptions,
    objectives={subject.RUN_COMPLETE: api.Objective("The run has completed, well or not.")},
    keys=(
        _key("run-succeeded", _TERMINAL, "It concluded with success, neutral or skipped. Succeeded."),
        _key("run-failed", _TERMINAL, "It concluded with failure, stale, or what is not known to pass. Failed."),
        _key("run-cancelled", _TERMINAL, "It was cancelled, perhaps before it started. Failed."),
        _key("run-timed-out", _TERMINAL, "It took too long. Failed."),
        _key("startup-failure", _TERMINAL, "Its workflow could not be started at all. Failed."),
        _key("approval-gate", _WAKE, "It waits until a person approves it."),
        _key("job-failed:<job>", _WAKE, "A job has failed while others still run: episode the job's id."),
    ),
    reader=read.WorkflowRunReader,
    observe=observe.observe,
    default_host=names.API,
    partition=subject.partition,
    evidence=evidence.render,
    sign_in=app.AppSignIn(),
)
