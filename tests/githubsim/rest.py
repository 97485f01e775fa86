"""The REST paths that are used: what a world says in GitHub's own field names, as GitHub answers it."""

import re
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jwt

from tests.githubsim import graph, openapi, times

HOUR = 3600.0


class Answer(NamedTuple):
    """A status, a body, and headers beside the usual."""

    status: int
    body: Any
    headers: Mapping[str, str] = {}


class Route(NamedTuple):
    """A path as GitHub describes it, and what answers it."""

    method: str
    template: str
    answer: Callable[[graph.Scene, Mapping[str, str], Mapping[str, str]], Answer]


NOT_FOUND = Answer(404, {"message": "Not Found", "documentation_url": "https://docs.github.com/rest", "status": "404"})


def answer(scene: graph.Scene, method: str, target: str, authorization: str) -> Answer:
    """What GitHub answers; every 200 and 201 is held to its description."""
    path, _, query = target.partition("?")
    asked = dict(urllib.parse.parse_qsl(query))
    if path.startswith("/app/"):
        return _granted(scene, path, authorization)
    by_id = re.fullmatch(r"/repositories/([0-9]+)(/.*)?", path)
    if by_id:
        full = next((name for name in scene.world.get("repositories") or {} if number_of(name) == int(by_id[1])), None)
        if full is None:
            return NOT_FOUND
        path = f"/repos/{full}{by_id[2] or ''}"
    for route in ROUTES:
        found = re.fullmatch(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", route.template), path)
        if found and route.method == method:
            return _routed(scene, route, found.groupdict(), asked, query)
    return NOT_FOUND


def number_of(full: str) -> int:
    """The database id of a repository."""
    return sum(map(ord, full.lower())) + 4000


def _routed(scene: graph.Scene, route: Route, named: Mapping[str, str], asked: Mapping[str, str], query: str) -> Answer:
    full = f"{named['owner']}/{named['repo']}"
    moved = {old.lower(): new for old, new in (scene.world.get("renamed") or {}).items()}.get(full.lower())
    if moved is not None:
        rest = route.template.removeprefix("/repos/{owner}/{repo}").format(**named)
        place = f"{scene.base}/repositories/{number_of(moved)}{rest}{f'?{query}' if query else ''}"
        return Answer(301, {"message": "Moved Permanently", "url": place}, {"location": place})
    if scene.repository(full) is None:
        return NOT_FOUND
    found = route.answer(scene, named, asked)
    if found.status == 200:
        schema = openapi.schema_of(route.method, route.template, 200)
        body = openapi.filled(schema, found.body, scene.now)
        openapi.check(schema, body)
        return found._replace(body=body)
    return found


def _of_repository(scene: graph.Scene, named: Mapping[str, str]) -> Mapping[str, Any]:
    found = scene.repository(f"{named['owner']}/{named['repo']}")
    assert found is not None
    return found.said


def _runs(scene: graph.Scene, named: Mapping[str, str], asked: Mapping[str, str]) -> Answer:
    """The newest first, filtered as it is asked, in pages."""
    found = [_whole(scene, named, one) for one in _of_repository(scene, named).get("workflowRuns") or []]
    if "workflow_id" in named:
        found = [one for one in found if _of_workflow(one, named["workflow_id"])]
    filters = {"branch": "head_branch", "head_sha": "head_sha", "event": "event"}
    for name, field in filters.items():
        if name in asked:
            found = [one for one in found if one.get(field) == asked[name]]
    if "status" in asked:
        found = [one for one in found if asked["status"] in {one.get("status"), one.get("conclusion")}]
    found.sort(key=lambda one: (str(one.get("created_at")), int(one["id"])), reverse=True)
    page, total = _paged(found, asked)
    return Answer(200, {"total_count": total, "workflow_runs": page}, _link(scene, named, asked, total))


def _of_workflow(run: Mapping[str, Any], workflow: str) -> bool:
    file = str(run.get("path", "")).rpartition("/")[2].partition("@")[0]
    return workflow in {str(run.get("workflow_id")), file}


def _paged(found: list[Any], asked: Mapping[str, str]) -> tuple[list[Any], int]:
    size, page = min(100, int(asked.get("per_page", 30))), int(asked.get("page", 1))
    return found[(page - 1) * size : page * size], len(found)


def _link(scene: graph.Scene, named: Mapping[str, str], asked: Mapping[str, str], total: int) -> dict[str, str]:
    size, page = min(100, int(asked.get("per_page", 30))), int(asked.get("page", 1))
    if page * size >= total:
        return {}
    query = urllib.parse.urlencode({**asked, "page": page + 1})
    full = f"{named['owner']}/{named['repo']}"
    return {"link": f'<{scene.base}/repositories/{number_of(full)}/next?{query}>; rel="next"'}


def _whole(scene: graph.Scene, named: Mapping[str, str], run: Mapping[str, Any]) -> dict[str, Any]:
    """A run with what GitHub works out by itself."""
    full, number = f"{named['owner']}/{named['repo']}", run["id"]
    web = f"https://github.com/{full}/actions/runs/{number}"
    began = {"created_at": times.text(scene.now), "run_started_at": run.get("created_at") or times.text(scene.now)}
    repository = {
        "id": number_of(full),
        "node_id": _of_repository(scene, named).get("id") or f"R_{full}",
        "full_name": full,
    }
    worked = {
        "node_id": f"WFR_{number}",
        "run_attempt": 1,
        "status": "completed",
        "html_url": web,
        "repository": repository,
    }
    return {**worked, **began, **{name: value for name, value in run.items() if name != "jobs"}}


def _run(scene: graph.Scene, named: Mapping[str, str], asked: Mapping[str, str]) -> Answer:
    runs = _of_repository(scene, named).get("workflowRuns") or []
    found = next((one for one in runs if str(one["id"]) == named["run_id"]), None)
    return NOT_FOUND if found is None else Answer(200, _whole(scene, named, found))


def _jobs(scene: graph.Scene, named: Mapping[str, str], asked: Mapping[str, str]) -> Answer:
    runs = _of_repository(scene, named).get("workflowRuns") or []
    run = next((one for one in runs if str(one["id"]) == named["run_id"]), None)
    if run is None:
        return NOT_FOUND
    web = f"https://github.com/{named['owner']}/{named['repo']}/actions/runs/{run['id']}/job"
    jobs = [
        {"id": index, "run_id": run["id"], "html_url": f"{web}/{one.get('id', index)}", "status": "completed", **one}
        for index, one in enumerate(run.get("jobs") or [], start=1)
    ]
    page, total = _paged(jobs, asked)
    return Answer(200, {"total_count": total, "jobs": page}, _link(scene, named, asked, total))


def _repository(scene: graph.Scene, named: Mapping[str, str], asked: Mapping[str, str]) -> Answer:
    full = f"{named['owner']}/{named['repo']}"
    return Answer(200, {"id": number_of(full), "full_name": full, "name": named["repo"]})


ROUTES = (
    Route("GET", "/repos/{owner}/{repo}", _repository),
    Route("GET", "/repos/{owner}/{repo}/actions/runs", _runs),
    Route("GET", "/repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs", _runs),
    Route("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}", _run),
    Route("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}/jobs", _jobs),
)


def _granted(scene: graph.Scene, path: str, authorization: str) -> Answer:
    """A token of an installation, for whoever signs as the app of the world."""
    app = scene.world.get("app")
    found = re.fullmatch(r"/app/installations/([0-9]+)/access_tokens", path)
    if app is None or found is None or int(found[1]) != app["installationId"]:
        return NOT_FOUND
    try:
        token = authorization.partition(" ")[2]
        claims = jwt.decode(
            token, app["publicKey"], algorithms=["RS256"], options={"verify_exp": False, "verify_iat": False}
        )
    except jwt.PyJWTError:
        return Answer(401, {"message": "A JSON web token could not be decoded"})
    fits = claims["iat"] <= scene.now < claims["exp"] <= claims["iat"] + 600 and claims["iss"] == str(app["id"])
    if not fits:
        return Answer(401, {"message": "'Expiration time' claim ('exp') is too far in the future, or past"})
    schema = openapi.schema_of("POST", "/app/installations/{installation_id}/access_tokens", 201)
    said = {"token": f"ghs_{found[1]}_{int(scene.now)}", "expires_at": times.text(scene.now + HOUR)}
    body = openapi.filled(schema, said, scene.now)
    openapi.check(schema, body)
    return Answer(201, body)
