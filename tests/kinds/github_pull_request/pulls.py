"""Pull requests as worlds, in GitHub's own schema words, and what the kind makes of them."""

from collections.abc import Mapping
from typing import Any

from tests import githubsim
from tests.githubsim import times, worlds
from vigil.kind import api
from vigil.model import failures, ids, observations
from vigil_kinds.github_pull_request import KIND, subject

NOW = "2026-03-01T11:00:00Z"
START = times.seconds(NOW)
SUBJECT = subject.PullRequestSubject(repository="acme/api", number=42)
SCOPE = api.Scope("team-a", "github.com")
ID = KIND.subject_id(SUBJECT, SCOPE)
World = dict[str, Any]


def at(clock: str) -> str:
    """A time of the day: `10:02` or `10:02:30`."""
    return f"2026-03-01T{clock}{':00' if clock.count(':') == 1 else ''}Z"


def run(number: int, workflow: str = "ci", started: str = "10:00", **said: Any) -> dict[str, Any]:
    """A check suite of a workflow run; it has succeeded unless it says otherwise."""
    named = {"databaseId": sum(map(ord, workflow)), "name": workflow}
    return {
        "databaseId": number * 10,
        "status": "COMPLETED",
        "conclusion": "SUCCESS",
        "createdAt": at(started),
        "app": {"slug": said.pop("app", "github-actions")},
        "workflowRun": {
            "databaseId": number,
            "createdAt": at(started),
            "event": said.pop("event", "push"),
            "workflow": named,
        },
        **said,
    }


def check(
    name: str = "unit",
    conclusion: str | None = "SUCCESS",
    *,
    of: Mapping[str, Any] | None = None,
    started: str | None = "10:00",
    ended: str | None = "10:10",
    **said: Any,
) -> dict[str, Any]:
    """A check run; one without a conclusion is in progress."""
    done = conclusion is not None
    return {
        "__typename": "CheckRun",
        "databaseId": said.pop("id", 1),
        "name": name,
        "status": "COMPLETED" if done else "IN_PROGRESS",
        "conclusion": conclusion,
        "startedAt": at(started) if started else None,
        "completedAt": at(ended) if done and ended else None,
        "url": f"https://github.com/acme/api/runs/{name}",
        "checkSuite": run(900) if of is None else dict(of),
        **said,
    }


def bare(name: str, conclusion: str | None = "SUCCESS", app: str = "scanner", **said: Any) -> dict[str, Any]:
    """A check run of an app that is no workflow."""
    suite = {
        "databaseId": 7,
        "status": "COMPLETED",
        "conclusion": "SUCCESS",
        "createdAt": at("10:00"),
        "app": {"slug": app},
    }
    return check(name, conclusion, of=suite, **said)


def status(context: str, state: str = "SUCCESS", **said: Any) -> dict[str, Any]:
    """A commit status."""
    return {"__typename": "StatusContext", "context": context, "state": state, "createdAt": at("10:01"), **said}


def rollup(*rows: Mapping[str, Any], state: str = "SUCCESS", **said: Any) -> dict[str, Any]:
    """The checks of the head."""
    return {"statusCheckRollup": {"state": state, "contexts": list(rows), **said}}


def user(login: str) -> dict[str, Any]:
    """A person."""
    return {"__typename": "User", "login": login}


def bot(login: str) -> dict[str, Any]:
    """A bot."""
    return {"__typename": "Bot", "login": login}


def said(number: int, by: Mapping[str, Any], body: str = "Please look.", **more: Any) -> dict[str, Any]:
    """A comment."""
    fields = {"fullDatabaseId": str(number), "author": dict(by), "body": body}
    return fields | {"createdAt": at("09:00"), "updatedAt": at("09:00")} | more


def review(number: int, by: str, state: str, oid: str = "h1", body: str = "", clock: str = "09:30") -> dict[str, Any]:
    """A review."""
    fields = said(number, user(by), body, createdAt=at(clock), updatedAt=at(clock))
    return fields | {"state": state, "submittedAt": at(clock), "commit": {"oid": oid}}


def thread(name: str, *comments: Mapping[str, Any], resolved: bool = False) -> dict[str, Any]:
    """A thread."""
    return {"id": name, "isResolved": resolved, "path": "a.py", "line": 3, "comments": list(comments)}


def pull(**changed: Any) -> dict[str, Any]:
    """A pull request that is ready but for what is changed."""
    return {
        "title": "Add a thing",
        "author": user("ana"),
        "headRefOid": "h1",
        "headRefName": "thing",
        "mergeable": "MERGEABLE",
        "mergeStateStatus": "CLEAN",
        "reviewDecision": "APPROVED",
        "potentialMergeCommit": {"oid": "m1", "parents": [{"oid": "b1"}, {"oid": changed.get("headRefOid", "h1")}]},
        "createdAt": at("08:00"),
        "updatedAt": at("10:10"),
        "commits": [{"commit": {"committedDate": at("08:00"), "messageHeadline": "Add", "parents": [{"oid": "b0"}]}}],
        **rollup(check()),
        **changed,
    }


def world(of: Mapping[str, Any] | None = None, **changed: Any) -> World:
    """A world with this pull request, number 42 of acme/api; `changed` is merged over the world."""
    base: World = {
        "now": NOW,
        "viewer": {"login": "vigil-bot"},
        "repositories": {
            "acme/api": {
                "id": "R_1",
                "defaultBranchRef": "main",
                "refs": {"main": "b1", "thing": "h1"},
                "pullRequests": {"42": dict(of) if of is not None else pull()},
            }
        },
    }
    merged: World = worlds.merged(base, changed)
    return merged


class Desk:
    """A reader at a GitHub, in virtual time."""

    def __init__(self, of: World) -> None:
        self.github = githubsim.GitHub(of)
        self.reader = KIND.reader(self.github.transport())
        self.anchor = ""

    def show(self, of: Mapping[str, Any], after: float = 0.0, **changed: Any) -> None:
        """From now on, after so many seconds, the pull request is this one."""
        self.github.set_world(world(of, **changed))
        self.github.clock.advance(after)

    async def read(self, after: float = 0.0, requests: int = 50) -> api.Snapshot | failures.Failure:
        """What is read after so many seconds more."""
        self.github.clock.advance(after)
        wanted = {ID: api.Wanted(SUBJECT, SCOPE, self.anchor)}
        answers = await self.reader.read(wanted, api.ReadBudget(30.0, requests, self.github.clock.now()))
        assert answers.keys() == wanted.keys()
        answer = answers[ID]
        self.anchor = answer.anchor if isinstance(answer, api.Snapshot) else self.anchor
        return answer

    async def seen(
        self, after: float = 0.0, objective: str = subject.REVIEW_READY, **options: Any
    ) -> observations.ProbeResult:
        """What is observed after so many seconds more."""
        snapshot = await self.read(after)
        assert isinstance(snapshot, api.Snapshot), snapshot
        return KIND.observe(snapshot, objective, KIND.options.model_validate(options), self.github.clock.now())

    async def evidence(self) -> str:
        """The evidence as it would be told now."""
        snapshot = await self.read()
        assert isinstance(snapshot, api.Snapshot), snapshot
        return KIND.evidence(snapshot)


async def observed(
    of: Mapping[str, Any], objective: str = subject.REVIEW_READY, **options: Any
) -> observations.ProbeResult:
    """What a first read of this pull request shows."""
    return await Desk(world(of)).seen(objective=objective, **options)


def keys(result: observations.ProbeResult) -> list[str]:
    """The keys of the entries."""
    return [one.key for one in result.observations]


def entry(result: observations.ProbeResult, key: str) -> observations.Observation:
    """The entry of a key."""
    (found,) = [one for one in result.observations if one.key == key]
    return found


def numbered(number: int) -> tuple[ids.SubjectId, api.Wanted]:
    """Another pull request of the repository, as it is wanted."""
    one = subject.PullRequestSubject(repository="acme/api", number=number)
    return KIND.subject_id(one, SCOPE), api.Wanted(one, SCOPE)
