"""REST answers are held to GitHub's own description, are paged, cached and redirected as GitHub does."""

import json
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests import githubsim
from tests.githubsim import openapi, server
from vigil.kind import transport
from vigil.model import failures
from vigil_providers.github import app

NOW = "2026-03-01T11:00:00Z"
RUNS = "/repos/acme/api/actions/runs"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PUBLIC = KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
).decode()


def world(**more: Any) -> dict[str, Any]:
    """A world with three runs."""
    runs = [
        {"id": number, "status": "completed", "conclusion": "success", "head_branch": "main", "created_at": NOW}
        for number in (1, 2, 3)
    ]
    return {"now": NOW, "repositories": {"acme/api": {"id": "R_1", "workflowRuns": runs}}, **more}


def get(github: server.GitHub, path: str, **headers: str) -> server.Reply:
    """The answer to a GET."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return github.handle("GET", path, {"authorization": "Bearer t", **named}, b"")


def test_what_a_world_leaves_out_is_filled_in_and_the_whole_is_what_github_describes() -> None:
    body = json.loads(get(githubsim.GitHub(world()), f"{RUNS}/2").body)
    assert (body["id"], body["conclusion"], body["head_branch"], body["run_attempt"]) == (2, "success", "main", 1)
    openapi.check(openapi.schema_of("GET", "/repos/{owner}/{repo}/actions/runs/{run_id}", 200), body)


@pytest.mark.parametrize("said", [{"status": 7}, {"created_at": 1}, {"pull_requests": "none"}])
def test_what_github_describes_otherwise_is_refused(said: dict[str, Any]) -> None:
    broken = world()
    broken["repositories"]["acme/api"]["workflowRuns"][0] |= said
    reply = get(githubsim.GitHub(broken), f"{RUNS}/1")
    assert reply.status == 500
    assert f"not what GitHub describes: {next(iter(said))}".encode() in reply.body


def test_a_list_has_pages_and_says_where_the_next_one_is() -> None:
    reply = get(githubsim.GitHub(world()), f"{RUNS}?per_page=2")
    body = json.loads(reply.body)
    assert (body["total_count"], [one["id"] for one in body["workflow_runs"]]) == (3, [3, 2])
    assert 'page=2>; rel="next"' in reply.headers["link"]
    assert "link" not in get(githubsim.GitHub(world()), f"{RUNS}?per_page=2&page=2").headers


def test_an_etag_is_a_credentials_own_and_what_has_not_changed_costs_nothing() -> None:
    github = githubsim.GitHub(world())
    first = get(github, RUNS)
    again = get(github, RUNS, if_none_match=first.headers["etag"])
    assert (again.status, again.body) == (304, b"")
    assert again.headers["x-ratelimit-remaining"] == first.headers["x-ratelimit-remaining"] == "4999"
    other = github.handle("GET", RUNS, {"authorization": "Bearer u", "if-none-match": first.headers["etag"]}, b"")
    assert other.status == 200


def test_the_hours_requests_are_counted_apart_from_the_points() -> None:
    github = githubsim.GitHub(world(limits={"core": 1}))
    assert get(github, RUNS).status == 200
    refused = get(github, RUNS)
    assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert refused.headers["x-ratelimit-resource"] == "core"


def test_a_rename_is_a_redirect_to_the_number_of_the_repository() -> None:
    github = githubsim.GitHub(world(renamed={"old/api": "acme/api"}))
    moved = get(github, "/repos/old/api/actions/runs/2?x=1")
    assert moved.status == 301
    assert moved.headers["location"].endswith("/actions/runs/2?x=1")
    assert json.loads(moved.body)["message"] == "Moved Permanently"
    assert json.loads(get(github, moved.headers["location"]).body)["id"] == 2


@pytest.mark.parametrize(
    "path", ["/repos/no/api/actions/runs", f"{RUNS}/77", "/repositories/1/actions/runs", "/nothing"]
)
def test_what_is_not_there_is_githubs_404(path: str) -> None:
    reply = get(githubsim.GitHub(world()), path)
    assert (reply.status, json.loads(reply.body)["message"]) == (404, "Not Found")


async def exchanged(github: server.GitHub, **changed: Any) -> Any:
    """What the app's key is exchanged for."""
    secret = json.dumps({"appId": 7, "installationId": 99, "privateKey": PEM, **changed})
    return await app.AppSignIn().exchange(secret, "api.github.com", github.transport(), github.clock.now(), 5)


async def test_an_apps_key_is_exchanged_for_a_token_that_is_then_known() -> None:
    github = githubsim.GitHub(world(app={"id": 7, "installationId": 99, "publicKey": PUBLIC.decode()}))
    grant = await exchanged(github)
    assert grant.header.startswith("Bearer ghs_99_")
    assert grant.expires_at == github.clock.now() + 3600


@pytest.mark.parametrize(
    ("changed", "category"),
    [({"installationId": 98}, failures.Category.NOT_FOUND), ({"appId": 8}, failures.Category.AUTH)],
)
async def test_another_apps_key_is_refused(changed: dict[str, Any], category: failures.Category) -> None:
    github = githubsim.GitHub(world(app={"id": 7, "installationId": 99, "publicKey": PUBLIC.decode()}))
    with pytest.raises(transport.ReadError) as raised:
        await exchanged(github, **changed)
    assert raised.value.failure.category is category
