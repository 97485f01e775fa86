"""The IO half: one list of runs for a repository of which several are watched, else a request a run; jobs where needed.

Answers with an ETag that have not changed cost nothing. Since when there is no run yet is remembered here.
"""

import asyncio
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.github_workflow_run import subject
from vigil_providers.github import client, errors, parts, reading, values

PAGES: Final = 10
"""Pages of jobs that are read."""

PASSED: Final = frozenset({"success", "neutral", "skipped"})
"""Conclusions of a run whose jobs are not asked for."""

Answer: TypeAlias = api.Snapshot | failures.Failure
Run: TypeAlias = dict[str, Any]


class WorkflowRunReader:
    """The reader of the runs of one repository with one credential."""

    def __init__(self, through: transport.Transport) -> None:
        self._transport = through
        self._etags = client.Etags()
        self._absent_since: dict[ids.SubjectId, ids.Instant] = {}
        self._pause = reading.Pause()

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, Answer]:
        """Every id's snapshot or failure. Raises ReadError where the list of the repository failed."""
        if (paused := self._pause.at(budget.now)) is not None:
            return dict.fromkeys(wanted, paused)
        github = reading.client_of(self._transport, next(iter(wanted.values())).scope, budget, self._etags)
        answers: dict[ids.SubjectId, Answer] = {}
        try:
            async with asyncio.timeout(budget.timeout * reading.SHARE):
                await self._read(github, wanted, budget.now, answers)
        except transport.ReadError as error:
            self._pause.note(error.failure, budget.now)
            raise
        except TimeoutError:
            if not answers:
                raise transport.ReadError(reading.NO_TIME) from None
        return dict.fromkeys(wanted, reading.NO_TIME) | answers

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
                self._pause.note(error.failure, now)
                answers[name] = error.failure
                if error.failure.category is failures.Category.THROTTLED:
                    answers.update(dict.fromkeys((other for other in wanted if other not in answers), error.failure))
                    return

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
                self._pause.note(error.failure, now)
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
        raise errors.malformed("GitHub's answer holds no list of runs")
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
    why = None if missing is None else parts.unread(missing)
    return {"asked": it.label(), "run": run, "jobs": jobs, "jobsError": why, "absentSince": absent_since}
