"""The pure half: what a workflow run, as it was read, says.

The payload: `asked` (the subject's label), `run` (GitHub's run, null if there is none yet), `jobs` (of the newest
attempt, null where they were not asked for), `jobsError` (why they are not all there), `absentSince` (seconds since the
epoch).
"""

from collections.abc import Iterator
from typing import Any, Final

from vigil.kind import api, durations, transport
from vigil.model import failures, ids, observations
from vigil_kinds.github_workflow_run import raw, read, subject
from vigil_providers.github import errors, parts, values

PARTS: Final = ("asked", "run", "jobs", "jobsError", "absentSince")
_REVISION: Final = observations.ResetsOn.REVISION
_ENDS: Final = {"cancelled": "run-cancelled", "timed_out": "run-timed-out", "startup_failure": "startup-failure"}


def observe(
    snapshot: api.Snapshot, _objective: str, options: subject.WorkflowRunOptions, now: ids.Instant
) -> observations.ProbeResult:
    """The entries of one run.

    Raises transport.ReadError: `malformed`; `not_found` for a workflow whose run did not appear in time.
    """
    payload = values.mapping(snapshot.payload) or {}
    absent = [part for part in PARTS if part not in payload]
    if absent:
        raise errors.malformed(f"the snapshot has no part {absent[0]}")
    if payload["run"] is None:
        return _awaited(payload, options, now)
    run = parts.parse(raw.Run, payload["run"], "the run")
    jobs = [parts.parse(raw.Job, one, "a job") for one in values.items(payload["jobs"])]
    return _of_run(run, jobs, payload)


def _of_run(run: raw.Run, jobs: list[raw.Job], payload: dict[str, Any]) -> observations.ProbeResult:
    done, why = run.status == "completed", payload["jobsError"]
    error = None if why is None else parts.parse(parts.Unread, why, "the snapshot")
    # What is over and passed needs no jobs; of anything else their absence has to be accounted for.
    unread = not (done and run.conclusion in read.PASSED) and (payload["jobs"] is None or error is not None)
    entries = list(_ended(run, jobs, unread=unread) if done else _running(run, jobs))
    gated = any(one.key == "approval-gate" for one in entries)
    return observations.ProbeResult(
        observations=tuple(sorted(entries, key=lambda one: (one.key, one.episode))),
        revision=f"{run.head_sha} run {run.id} attempt {run.run_attempt} {run.run_started_at}".strip(),
        complete=not unread,
        error=error.failure if unread and error is not None else None,
        pending=0 if done or gated else 1,
        activity=" ".join(f"{one.id}:{one.status}:{one.conclusion}" for one in jobs)[:2000],
        waiting="" if done else f"the run is {run.status or 'in no state that GitHub tells'}",
    )


def _ended(run: raw.Run, jobs: list[raw.Job], *, unread: bool) -> Iterator[observations.Observation]:
    if run.conclusion == "action_required":
        yield _wake("approval-gate", f"it waits until a person approves it: {run.html_url}")
        return
    if run.conclusion in read.PASSED:
        yield _end("run-succeeded", f"{run.conclusion}: {run.html_url}", observations.Outcome.SUCCEEDED)
        return
    none = not jobs and not unread
    key = _ENDS.get(run.conclusion or "", "run-failed")
    if key == "run-failed" and none and run.name and run.name == run.path:
        # A workflow that GitHub could not read has its path for a name, and no jobs.
        key = "startup-failure"
    failed = ", ".join(one.name for one in jobs if _failed(one))[:300]
    why = f" ({failed})" if failed else ", never started" if none else ""
    yield _end(key, f"{run.conclusion or 'no conclusion'}{why}: {run.html_url}", observations.Outcome.FAILED)


def _running(run: raw.Run, jobs: list[raw.Job]) -> Iterator[observations.Observation]:
    if run.status == "waiting":
        yield _wake("approval-gate", f"it waits until a person approves it: {run.html_url}")
    for one in jobs:
        if _failed(one):
            name = " ".join(one.name.split())[:180] or "(no name)"
            yield _wake(f"job-failed:{name}", f"{one.conclusion}: {one.html_url or run.html_url}", episode=str(one.id))


def _failed(job: raw.Job) -> bool:
    return job.status == "completed" and job.conclusion not in {*read.PASSED, "action_required"}


def _wake(key: str, brief: str, episode: str = "") -> observations.Observation:
    return observations.Observation(key, observations.Severity.WAKE, _REVISION, brief=brief, episode=episode)


def _end(key: str, brief: str, outcome: observations.Outcome) -> observations.Observation:
    return observations.Observation(key, observations.Severity.TERMINAL, _REVISION, brief=brief, outcome=outcome)


def _awaited(
    payload: dict[str, Any], options: subject.WorkflowRunOptions, now: ids.Instant
) -> observations.ProbeResult:
    since = payload["absentSince"]
    if not isinstance(since, int | float) or isinstance(since, bool):
        raise errors.malformed("the snapshot has neither a run nor the time since which there is none")
    if now - since < durations.seconds(options.appear_within):
        return observations.ProbeResult((), revision="", pending=1, waiting="there is no run yet")
    asked = str(payload["asked"])[:200]
    message = f"{asked}: no run appeared within {options.appear_within}"
    raise transport.ReadError(failures.Failure(failures.Category.NOT_FOUND, message))
