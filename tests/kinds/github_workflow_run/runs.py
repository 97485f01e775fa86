"""Workflow runs as worlds, in GitHub's own REST field names, and what the kind makes of them."""

from typing import Any

from tests import githubsim
from tests.githubsim import times
from vigil.kind import api
from vigil.model import failures, ids, observations
from vigil_kinds.github_workflow_run import KIND, subject

NOW = "2026-03-01T11:00:00Z"
START = times.seconds(NOW)
SCOPE = api.Scope("team-a", "github.com")


def run(number: int = 900, **said: Any) -> dict[str, Any]:
    """A run that has succeeded, unless it says otherwise."""
    return {
        "id": number,
        "name": "ci",
        "path": ".github/workflows/ci.yaml",
        "workflow_id": 5,
        "head_branch": "main",
        "head_sha": "h1",
        "created_at": "2026-03-01T10:00:00Z",
        "updated_at": "2026-03-01T10:30:00Z",
        "run_started_at": "2026-03-01T10:00:00Z",
        "status": "completed",
        "conclusion": "success",
        **said,
    }


def job(number: int, name: str, conclusion: str | None = "success", **said: Any) -> dict[str, Any]:
    """A job; one without a conclusion is in progress."""
    status = "in_progress" if conclusion is None else "completed"
    began = {"created_at": "2026-03-01T10:00:00Z", "started_at": "2026-03-01T10:00:00Z"}
    return {"id": number, "name": name, "status": status, "conclusion": conclusion, **began, **said}


def world(*runs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A world with these runs in acme/api."""
    return {"now": NOW, "repositories": {"acme/api": {"id": "R_1", "workflowRuns": list(runs)}}, **more}


def wanted(anchor: str = "", **fields: Any) -> tuple[ids.SubjectId, api.Wanted]:
    """A run of acme/api, as it is wanted."""
    one = subject.WorkflowRunSubject.model_validate({"repository": "acme/api", **fields})
    return KIND.subject_id(one, SCOPE), api.Wanted(one, SCOPE, anchor)


class Desk:
    """A reader at a GitHub, in virtual time."""

    def __init__(self, *runs: dict[str, Any], **more: Any) -> None:
        self.github = githubsim.GitHub(world(*runs, **more))
        self.reader = KIND.reader(self.github.transport())

    def show(self, *runs: dict[str, Any], **more: Any) -> None:
        """From now on there are these runs."""
        self.github.set_world(world(*runs, **more))

    async def read(self, *of: tuple[ids.SubjectId, api.Wanted], after: float = 0.0) -> list[Any]:
        """The answers, in the order of what was asked."""
        self.github.clock.advance(after)
        answers = await self.reader.read(dict(of), api.ReadBudget(30.0, 50, self.github.clock.now()))
        assert answers.keys() == dict(of).keys()
        return [answers[name] for name, _ in of]

    async def seen(self, after: float = 0.0, **fields: Any) -> observations.ProbeResult:
        """What is observed of one run."""
        (answer,) = await self.read(wanted(**fields or {"run": 900}), after=after)
        assert isinstance(answer, api.Snapshot), answer
        return KIND.observe(answer, "run_complete", KIND.options(), self.github.clock.now())

    def asked(self) -> list[str]:
        """The paths that were asked for since the last time that this was asked, with 304 where nothing had changed."""
        paths = [f"{one.path}{' 304' if one.status == 304 else ''}" for one in self.github.requests]
        self.github.requests.clear()
        return paths


def keys(result: observations.ProbeResult) -> list[str]:
    """The keys of the entries."""
    return [one.key for one in result.observations]


def category(answer: object) -> failures.Category | None:
    """Why a run could not be read, None if it could."""
    return answer.category if isinstance(answer, failures.Failure) else None
