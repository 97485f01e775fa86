"""Check rows: what each stands for, and which of them a newer attempt has replaced.

The identity of a row is (row type, app, workflow, name). Row A is superseded by row B of the same identity only if B
started later and A (or A's run) was cancelled, or B started after A completed. GraphQL does not tell the attempt of a
run; a run can only be run again once it has completed, so a higher attempt of it always starts after the rows before
it. Otherwise both count. A cancelled run with a newer run of the same workflow on the same head loses all its rows.
"""

import dataclasses
import enum
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from vigil.model import ids
from vigil_kinds.github_pull_request import raw
from vigil_providers.github import times

PASSING: Final = frozenset({"SUCCESS", "NEUTRAL", "SKIPPED"})
"""What GitHub counts as passed for a required check."""

CANCELLED: Final = "CANCELLED"
COMPLETED: Final = "COMPLETED"
WAITING: Final = "WAITING"
ACTION_REQUIRED: Final = "ACTION_REQUIRED"


class Standing(enum.Enum):
    """What a row says; whatever is not known to have passed has not."""

    PASSED = enum.auto()
    FAILED = enum.auto()
    RUNNING = enum.auto()
    EXPECTED = enum.auto()
    GATED = enum.auto()
    """It waits until a person approves it."""


class Identity(NamedTuple):
    """What makes two rows attempts at one thing."""

    type: str
    app: str
    workflow: str
    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One row, or a whole run that has none.

    `label` is its name for people and keys. `word` is GitHub's own for its state. `started` is infinite for what is
    still to start. `run` is the number of its workflow run, 0 for none.
    """

    identity: Identity
    label: str
    standing: Standing
    word: str
    id: str
    run: int
    started: ids.Instant
    ended: ids.Instant
    url: str = ""
    workflow: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """A workflow run on the head; `order` is that of its creation."""

    number: int
    workflow: str
    name: str
    app: str
    order: tuple[ids.Instant, int]
    status: str
    conclusion: str | None

    @property
    def standing(self) -> Standing:
        """What the run as a whole says."""
        return _standing(self.status, self.conclusion, in_workflow=True)

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.status == COMPLETED and self.conclusion == CANCELLED


def runs_of(suites: Iterable[raw.Suite]) -> Mapping[int, Run]:
    """The workflow runs among the check suites of a commit, by their numbers."""
    found = (_run(suite) for suite in suites)
    return {run.number: run for run in found if run is not None}


def _run(suite: raw.Suite) -> Run | None:
    run = suite.workflow_run
    if run is None:
        # An app that is installed has a suite on each commit, queued for ever, whether it ever checks anything or not.
        return None
    number = run.database_id or 0
    return Run(
        number=number,
        workflow=_workflow(run),
        name=run.workflow.name,
        app=suite.app.slug if suite.app else "",
        order=(times.instant(run.created_at) or 0.0, number),
        status=suite.status,
        conclusion=suite.conclusion,
    )


def _workflow(run: raw.WorkflowRun) -> str:
    return str(run.workflow.database_id) if run.workflow.database_id is not None else run.workflow.name


def replaced(runs: Mapping[int, Run]) -> frozenset[int]:
    """The cancelled runs that have a newer run of their workflow: nothing of them counts."""
    return frozenset(one.number for one in runs.values() if one.cancelled and not _newest(one, runs))


def _newest(run: Run, runs: Mapping[int, Run]) -> bool:
    return all(other.order <= run.order for other in runs.values() if other.workflow == run.workflow)


def standing_rows(contexts: Sequence[raw.Row], runs: Mapping[int, Run]) -> list[Row]:
    """The rows that count, and a row for each run that has something to say beyond them."""
    gone = replaced(runs)
    rows = list(_newest_attempts([row for row in map(_row, contexts) if row.run not in gone], runs))
    return rows + [_bare(run, rows) for run in runs.values() if run.number not in gone and _adds(run, rows, runs)]


def _adds(run: Run, rows: Sequence[Row], runs: Mapping[int, Run]) -> bool:
    """Whether a run is more than its rows: between two jobs, before the first, or failed without any."""
    own = [row.standing for row in rows if row.run == run.number]
    if run.standing is Standing.FAILED:
        return not own and _newest(run, runs)
    return run.standing in {Standing.RUNNING, Standing.GATED} and run.standing not in own


def _bare(run: Run, rows: Sequence[Row]) -> Row:
    last = max([run.order[0], *(row.ended for row in rows if row.run == run.number and row.ended < math.inf)])
    return Row(
        identity=Identity("WorkflowRun", run.app, run.workflow, ""),
        label=run.name,
        standing=run.standing,
        word=run.conclusion or run.status,
        id=str(run.number),
        run=run.number,
        started=last,
        ended=math.inf if run.standing is Standing.RUNNING else last,
        workflow=run.name,
    )


def _newest_attempts(rows: Sequence[Row], runs: Mapping[int, Run]) -> Iterable[Row]:
    ordered = sorted(rows, key=lambda row: row.identity)
    for _, group in itertools.groupby(ordered, key=lambda row: row.identity):
        same = list(group)
        yield from (row for row in same if not any(_supersedes(other, row, runs) for other in same))


def _supersedes(newer: Row, older: Row, runs: Mapping[int, Run]) -> bool:
    if newer.started <= older.started:
        return False
    run = runs.get(older.run)
    cancelled = older.word == CANCELLED or (run is not None and run.cancelled)
    return cancelled or newer.started >= older.ended


def _row(one: raw.Row) -> Row:
    return _of_status(one) if isinstance(one, raw.StatusContext) else _of_check(one)


def _of_check(one: raw.CheckRun) -> Row:
    suite, run = one.check_suite, one.check_suite.workflow_run
    done = one.status == COMPLETED
    started = times.instant(one.started_at)
    ended = times.instant(one.completed_at)
    return Row(
        identity=Identity("CheckRun", suite.app.slug if suite.app else "", _workflow(run) if run else "", one.name),
        label=f"{run.workflow.name}/{one.name}" if run else one.name,
        standing=_standing(one.status, one.conclusion, in_workflow=run is not None),
        word=(one.conclusion or "no conclusion") if done else one.status,
        id=str(one.database_id or ""),
        run=(run.database_id or 0) if run else 0,
        started=_first_of(started, times.instant(suite.created_at), 0.0) if done or started else math.inf,
        ended=_first_of(ended, math.inf) if done else math.inf,
        url=one.url,
        workflow=run.workflow.name if run else "",
    )


def _first_of(*candidates: ids.Instant | None) -> ids.Instant:
    return next(one for one in candidates if one is not None)


def _standing(status: str, conclusion: str | None, *, in_workflow: bool) -> Standing:
    if status == COMPLETED:
        if conclusion in PASSING:
            return Standing.PASSED
        gated = conclusion == ACTION_REQUIRED and in_workflow
        return Standing.GATED if gated else Standing.FAILED
    return Standing.GATED if status == WAITING and in_workflow else Standing.RUNNING


_STATES: Final[Mapping[str, Standing]] = {
    "SUCCESS": Standing.PASSED,
    "FAILURE": Standing.FAILED,
    "ERROR": Standing.FAILED,
    "EXPECTED": Standing.EXPECTED,
}


def _of_status(one: raw.StatusContext) -> Row:
    created = times.instant(one.created_at) or 0.0
    standing = _STATES.get(one.state, Standing.RUNNING)
    return Row(
        identity=Identity("StatusContext", "", "", one.context),
        label=one.context,
        standing=standing,
        word=one.state,
        # A status is posted again and again with the same result: the page of its build tells the builds apart.
        id=(one.target_url or "")[:200],
        run=0,
        started=created,
        ended=math.inf if standing is Standing.RUNNING else created,
        url=one.target_url or "",
    )
