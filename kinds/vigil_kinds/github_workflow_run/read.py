"""The IO half: one list of runs for a repository of which several are watched, else a request a run; jobs where needed.

Answers with an ETag that have not changed cost nothing. Since when there is no run yet is remembered here.
"""

import asyncio
import dataclasses
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.github_workflow_run import subject
from vigil_providers.github import client, names, values

REQUEST_TIMEOUT: Final[ids.Seconds] = 15.0
PAGES: Final = 10
"""Pages of jobs that are read."""

PASSED: Final = frozenset({"success", "neutral", "skipped"})
"""Conclusions of a run whose jobs are not asked for."""

Answer: TypeAlias = api.Snapshot | failures.Failure
Run: TypeAlias = dict[str, Any]

_NO_TIME: Final = failures.Failure(failures.Category.TIMEOUT, "the read of its group ended before its turn came")


class WorkflowRunReader:
    """The reader of the runs of one repository with one credential."""

    def __init__(self, through: transport.Transport) -> None:
        self._transport = through
        self._etags = client.Etags()
        self._absent_since: dict[ids.SubjectId, ids.Instant] = {}
        self._held: tuple[ids.Instant, failures.Failure] | None = None

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, Answer]:
        """Every id's snapshot or failure. Raises ReadError where the list of the repository failed."""
        if self._held is not None and budget.now < self._held[0]:
            held = dataclasses.replace(self._held[1], retry_after=self._held[0] - budget.now)
            return dict.fromkeys(wanted, held)
        github = client.Client(
            self._transport,
            host=names.api_host(next(iter(wanted.values())).scope.host),
            now=budget.now,
            timeout=min(REQUEST_TIMEOUT, budget.timeout),
            meter=budget.meter,
            etags=self._etags,
            allowance=client.Allowance(budget.requests),
        )
        answers: dict[ids.SubjectId, Answer] = {}
        try:
            async with asyncio.timeout(budget.timeout * 0.9):
                await self._read(github, wanted, budget.now, answers)
        except transport.ReadError as error:
            self._hold(error.failure, budget.now)
            raise
        except TimeoutError:
            if not answers:
                raise transport.ReadError(_NO_TIME) from None
        return dict.fromkeys(wanted, _NO_TIME) | answers

    async def _read(
        self,
        github: client.Client,
        wanted: Mapping[ids.SubjectId, api.Wanted],
        now: ids.Instant,
        answers: dict[ids.SubjectId, Answer],
    ) -> None:
        listed: Sequence[Run] = await self._list(github, wanted) if len(wanted) > 1 else ()
        for name, one in wanted.items():
            try:
                answers[name] = await self._answer(github, name, one, listed, now)
            except transport.ReadError as error:
                self._hold(error.failure, now)
                answers[name] = error.failure
                if error.failure.category is failures.Category.THROTTLED:
                    answers.update(dict.fromkeys((other for other in wanted if other not in answers), error.failure))
                    return

    def _hold(self, failure: failures.Failure, now: ids.Instant) -> None:
        if failure.category is failures.Category.THROTTLED:
            self._held = (now + (failure.retry_after or 0.0), failure)

    async def _list(self, github: client.Client, wanted: Mapping[ids.SubjectId, api.Wanted]) -> Sequence[Run]:
        """The newest hundred runs of the repository, the newest first."""
        repository = subject.of(next(iter(wanted.values()))).repository
        return _runs(await github.get(f"/repos/{repository}/actions/runs?per_page=100"))

    async def _answer(
        self, github: client.Client, name: ids.SubjectId, wanted: api.Wanted, listed: Sequence[Run], now: ids.Instant
    ) -> Answer:
        it = subject.of(wanted)
        run = next((one for one in listed if _is(it, one)), None) or await _asked(github, it)
        if run is None:
            since = self._absent_since.setdefault(name, now)
            return api.Snapshot(_payload(it, None, None, since, None), wanted.anchor)
        self._absent_since.pop(name, None)
        anchor = str(run.get("node_id") if it.run is not None else values.part(run, "repository", "node_id"))
        if wanted.anchor and wanted.anchor != anchor:
            return _stranger(it)
        jobs, missing = await self._jobs(github, it, run, now)
        return api.Snapshot(_payload(it, run, jobs, None, missing), anchor)

    async def _jobs(
        self, github: client.Client, it: subject.WorkflowRunSubject, run: Run, now: ids.Instant
    ) -> tuple[list[Any] | None, failures.Failure | None]:
        """The jobs of the newest attempt, and why they are not all there; none are asked for of a run that passed."""
        if run.get("status") == "completed" and run.get("conclusion") in PASSED:
            return None, None
        found = list[Any]()
        path = f"/repos/{it.repository}/actions/runs/{run.get('id')}/jobs?filter=latest&per_page=100"
        for page in range(1, PAGES + 1):
            try:
                answer = await github.get(path if page == 1 else f"{path}&page={page}")
            except transport.ReadError as error:
                self._hold(error.failure, now)
                return found, error.failure
            found += values.items(values.part(answer, "jobs"))
            total = values.part(answer, "total_count")
            if not isinstance(total, int):
                return found, failures.Failure(
                    failures.Category.MALFORMED, "GitHub does not say how many jobs there are"
                )
            if len(found) >= total:
                return found, None
        return found, failures.Failure(failures.Category.TOO_LARGE, f"the run has more than {PAGES * 100} jobs")


async def _asked(github: client.Client, it: subject.WorkflowRunSubject) -> Run | None:
    """The run, asked for by itself; None for a workflow that has none there."""
    if it.run is not None:
        return values.mapping(await github.get(f"/repos/{it.repository}/actions/runs/{it.run}"))
    where = {"branch": it.branch} if it.branch is not None else {"head_sha": it.head}
    query = urllib.parse.urlencode({**where, "per_page": 1})
    return next(
        iter(_runs(await github.get(f"/repos/{it.repository}/actions/workflows/{it.workflow}/runs?{query}"))), None
    )


def _runs(answer: Any) -> Sequence[Run]:
    if not isinstance(values.part(answer, "workflow_runs"), list):
        raise transport.ReadError(
            failures.Failure(failures.Category.MALFORMED, "GitHub's answer holds no list of runs")
        )
    return [
        run for one in values.items(values.part(answer, "workflow_runs")) if (run := values.mapping(one)) is not None
    ]


def _is(it: subject.WorkflowRunSubject, run: Run) -> bool:
    """Whether a run of the list, which is the newest first, is the one that is wanted."""
    if it.run is not None:
        return run.get("id") == it.run
    file = str(run.get("path") or "").rpartition("/")[2].partition("@")[0]
    here = run.get("head_branch") == it.branch if it.branch is not None else run.get("head_sha") == it.head
    return here and it.workflow in {str(run.get("workflow_id")), file}


def _stranger(it: subject.WorkflowRunSubject) -> failures.Failure:
    message = f"{it.label()} is another one than was watched: the repository was moved, and its name is another's now"
    return failures.Failure(failures.Category.MOVED, message)


def _payload(
    it: subject.WorkflowRunSubject,
    run: Run | None,
    jobs: list[Any] | None,
    absent_since: ids.Instant | None,
    missing: failures.Failure | None,
) -> dict[str, Any]:
    why = missing and {
        "category": missing.category.value,
        "message": missing.message,
        "retryAfter": missing.retry_after,
    }
    return {"asked": it.label(), "run": run, "jobs": jobs, "jobsError": why, "absentSince": absent_since}
