"""The GitHub to test against refuses what GitHub refuses, and counts as GitHub counts."""

import json
import pathlib
import subprocess
import sys
import urllib.request
from typing import Any

import aiohttp
import graphql
import pytest

from tests import githubsim
from tests.githubsim import faults, graph, limits, server, times, worlds

NOW = "2026-03-01T11:00:00Z"
COMMENTS = [{"fullDatabaseId": str(number), "body": f"{number}"} for number in range(250)]


def world(**pull: Any) -> dict[str, Any]:
    """A world with pull request 42 of acme/api."""
    api = {"id": "R_1", "refs": {"main": "b1"}, "pullRequests": {42: {"headRefOid": "h1", **pull}}}
    return {"now": NOW, "viewer": {"login": "vigil-bot"}, "repositories": {"acme/api": api}}


def ask(github: server.GitHub, query: str, token: str = "t", **variables: Any) -> dict[str, Any]:
    """The body of the answer to a query."""
    reply = github.handle(
        "POST",
        "/graphql",
        {"authorization": f"Bearer {token}"},
        json.dumps({"query": query, "variables": variables}).encode(),
    )
    body: dict[str, Any] = json.loads(reply.body)
    return {"status": reply.status, "headers": reply.headers, **body}


def of_pull(selection: str) -> str:
    """A query for the pull request."""
    return f'query Q {{ repository(owner: "acme", name: "api") {{ pullRequest(number: 42) {{ {selection} }} }} }}'


def types(answer: dict[str, Any]) -> list[str]:
    """The types of the errors."""
    return [one.get("type") or one["extensions"]["code"] for one in answer["errors"]]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "kind"),
    [
        ("noSuchField", "undefinedField"),
        ("comments { nodes { id } }", "MISSING_PAGINATION_BOUNDARIES"),
        ("comments(first: 101) { nodes { id } }", "EXCESSIVE_PAGINATION"),
        ("comments(last: 0) { nodes { id } }", "EXCESSIVE_PAGINATION"),
        ("comments(first: 1, last: 1) { nodes { id } }", "UNPROCESSABLE"),
        (
            "reviewThreads(first: 100) { nodes { comments(first: 100) {"
            " nodes { reactions(first: 100) { nodes { id } } } } } }",
            "MAX_NODE_LIMIT_EXCEEDED",
        ),
        ('comments(first: 1, after: "x") { nodes { id } }', "INVALID_CURSOR_ARGUMENTS"),
    ],
)
def test_a_query_that_github_refuses_is_refused(selection: str, kind: str) -> None:
    answer = ask(githubsim.GitHub(world(comments=COMMENTS)), of_pull(selection))
    assert types(answer) == [kind]
    assert not ((answer.get("data") or {}).get("repository") or {}).get("pullRequest")


def test_a_syntax_error_is_refused() -> None:
    assert "Syntax Error" in ask(githubsim.GitHub(world()), "query {")["errors"][0]["message"]


def test_how_many_there_are_can_be_asked_without_a_page() -> None:
    answer = ask(githubsim.GitHub(world(comments=COMMENTS)), of_pull("comments { totalCount }"))
    assert answer["data"]["repository"]["pullRequest"]["comments"]["totalCount"] == 250


@pytest.mark.parametrize(("token", "status"), [("", 401), ("known", 200), ("other", 401)])
def test_whoever_is_not_known_is_refused(token: str, status: int) -> None:
    github = githubsim.GitHub({**world(), "tokens": {"known": {"login": "ana"}}})
    assert ask(github, "query Q { viewer { login } }", token)["status"] == status


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"titel": "x"}, "PullRequest|knows no titel"),
        ({"mergeable": "MAYBE"}, "MergeableState has no MAYBE"),
        ({"statusCheckRollup": {"state": "SUCCESS", "contexts": [{"name": "unit"}]}}, "names its __typename"),
        ({"reviews": [{"verdict": "ok"}]}, "knows no verdict"),
    ],
)
def test_a_typo_in_a_world_is_an_error(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(worlds.WorldError, match=sentence):
        githubsim.GitHub(world(**changed))


def test_a_fault_of_a_kind_that_there_is_not_is_an_error() -> None:
    with pytest.raises(faults.FaultError, match="staus"):
        githubsim.GitHub({**world(), "faults": [{"staus": 502}]})


# --- what is counted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "cost", "nodes"),
    [
        # The two examples of GitHub's page about rate limits and node limits.
        (
            "query Q { viewer { repositories(first: 100) { edges { node { issues(first: 50) { edges { node {"
            " labels(first: 60) { edges { node { id } } } } } } } } } } }",
            51,
            100 + 100 * 50 + 100 * 50 * 60,
        ),
        (
            "query Q { viewer { repositories(first: 50) { edges { node { pullRequests(first: 20) { edges { node {"
            " comments(first: 10) { edges { node { id } } } } } } issues(first: 20) { edges { node {"
            " comments(first: 10) { edges { node { id } } } } } } } } }"
            " followers(first: 10) { edges { node { id } } } } }",
            21,
            22_060,
        ),
    ],
)
def test_points_and_nodes_are_counted_by_githubs_formulas(query: str, cost: int, nodes: int) -> None:
    weight = limits.weigh(graph.schema(), graphql.parse(query), {})
    assert (weight.cost, weight.nodes, weight.refusals) == (cost, nodes, ())


def test_points_are_spent_by_token_and_come_back_after_an_hour() -> None:
    github = githubsim.GitHub({**world(), "limits": {"graphql": 2}})
    query = "query Q { rateLimit { cost limit remaining used resetAt } }"
    first, second, third = ask(github, query), ask(github, query), ask(github, query)
    rate = {"cost": 1, "limit": 2, "remaining": 0, "used": 2, "resetAt": "2026-03-01T12:00:00Z"}
    assert first["data"]["rateLimit"]["remaining"] == 1
    assert second["data"]["rateLimit"] == rate
    assert (second["headers"]["x-ratelimit-remaining"], types(third)) == ("0", ["RATE_LIMITED"])
    assert "data" in ask(github, query, "another")
    github.clock.advance(3600)
    assert "data" in ask(github, query)


def test_every_request_is_noted() -> None:
    github = githubsim.GitHub(world())
    ask(github, of_pull("id"))
    assert [(one.method, one.path, one.operation, one.status, one.cost) for one in github.requests] == [
        ("POST", "/graphql", "Q", 200, 1)
    ]
    assert (github.points(), github.points("t"), github.points("another")) == (1, 1, 0)


# --- what is answered -------------------------------------------------------------------------------------------------


def test_a_list_is_paged_by_real_cursors_in_both_directions() -> None:
    github = githubsim.GitHub(world(comments=COMMENTS))
    found, cursor = list[str](), None
    for _ in range(3):
        page = of_pull("comments(first: 100, after: $after) { nodes { body } pageInfo { hasNextPage endCursor } }")
        answer = ask(github, page.replace("query Q", "query Q($after: String)"), after=cursor)
        connection = answer["data"]["repository"]["pullRequest"]["comments"]
        found += [one["body"] for one in connection["nodes"]]
        cursor = connection["pageInfo"]["endCursor"]
    assert found == [str(number) for number in range(250)]
    assert connection["pageInfo"]["hasNextPage"] is False
    last = ask(github, of_pull("comments(last: 2) { edges { node { body } cursor } pageInfo { hasPreviousPage } }"))
    edges = last["data"]["repository"]["pullRequest"]["comments"]
    assert [one["node"]["body"] for one in edges["edges"]] == ["248", "249"]
    assert edges["pageInfo"]["hasPreviousPage"] is True


def test_what_a_world_does_not_say_is_githubs_default() -> None:
    asked = (
        "isDraft state mergeable baseRefName baseRefOid baseRef { target { oid } } statusCheckRollup { state } title"
    )
    pull = ask(githubsim.GitHub(world()), of_pull(asked))["data"]["repository"]["pullRequest"]
    assert pull == {
        "isDraft": False,
        "state": "OPEN",
        "mergeable": "UNKNOWN",
        "baseRefName": "main",
        "baseRefOid": "b1",
        "baseRef": {"target": {"oid": "b1"}},
        "statusCheckRollup": None,
        "title": "",
    }


@pytest.mark.parametrize(("owner", "number"), [("acme", 43), ("other", 42)])
def test_what_is_not_there_is_an_error_with_its_path_and_spoils_nothing_else(owner: str, number: int) -> None:
    query = f"""query Q {{
      a: repository(owner: "{owner}", name: "api") {{ pullRequest(number: {number}) {{ id }} }}
      b: repository(owner: "acme", name: "api") {{ pullRequest(number: 42) {{ headRefOid }} }}
    }}"""
    answer = ask(githubsim.GitHub(world()), query)
    assert types(answer) == ["NOT_FOUND"]
    assert answer["errors"][0]["path"] == (["a", "pullRequest"] if owner == "acme" else ["a"])
    assert answer["data"]["b"] == {"pullRequest": {"headRefOid": "h1"}}


def test_a_rename_is_followed() -> None:
    old = 'query Q { repository(owner: "old", name: "name") { nameWithOwner } }'
    answer = ask(githubsim.GitHub({**world(), "renamed": {"old/name": "acme/api"}}), old)
    assert answer["data"]["repository"]["nameWithOwner"] == "acme/api"


def test_the_latest_opinion_of_each_reviewer_counts() -> None:
    def review(login: str, state: str, at: str) -> dict[str, Any]:
        return {"author": {"__typename": "User", "login": login}, "state": state, "submittedAt": f"2026-03-01T{at}:00Z"}

    reviews = [
        review("ana", "APPROVED", "09:00"),
        review("ana", "DISMISSED", "10:00"),
        review("bob", "COMMENTED", "10:00"),
    ]
    asked = of_pull("latestOpinionatedReviews(first: 9) { nodes { state author { login } } }")
    answer = ask(githubsim.GitHub(world(reviews=reviews)), asked)
    assert answer["data"]["repository"]["pullRequest"]["latestOpinionatedReviews"]["nodes"] == [
        {"state": "DISMISSED", "author": {"login": "ana"}}
    ]


# --- faults and time --------------------------------------------------------------------------------------------------


def test_faults_hit_the_requests_that_they_match_in_order() -> None:
    broken = {"match": {"path": "/graphql", "nth": 2, "count": 1}, "status": 502, "body": "<html></html>"}
    partly = {"errorAt": {"repository": "acme/api", "pullRequest": 42, "field": "title"}, "type": "FORBIDDEN"}
    github = githubsim.GitHub({**world(title="x"), "faults": [broken, {"match": {"nth": 3}, **partly}]})
    answers = [ask(github, of_pull("headRefOid body")) for _ in range(1)]
    reply = github.handle(
        "POST", "/graphql", {"authorization": "Bearer t"}, json.dumps({"query": of_pull("id")}).encode()
    )
    third = ask(github, of_pull("headRefOid url title"))
    assert answers[0]["data"]["repository"]["pullRequest"]["headRefOid"] == "h1"
    assert (reply.status, reply.headers["content-type"]) == (502, "text/html")
    assert types(third) == ["FORBIDDEN"]
    assert third["errors"][0]["path"] == ["repository", "pullRequest", "title"]


def test_a_timeline_is_a_list_of_worlds_by_time() -> None:
    patch = {"repositories": {"acme/api": {"pullRequests": {"42": {"headRefOid": "h2"}}}}}
    moving = {**json.loads(json.dumps(world())), "timeline": [{"at": "5m", "patch": patch}]}
    github = githubsim.GitHub(moving)
    heads = []
    for _ in range(2):
        heads.append(ask(github, of_pull("headRefOid"))["data"]["repository"]["pullRequest"]["headRefOid"])
        github.clock.set(times.seconds(NOW) + 300)
    assert heads == ["h1", "h2"]


async def test_it_answers_over_http_as_it_does_directly() -> None:
    async with githubsim.serve(world()) as github, aiohttp.ClientSession() as session:
        headers = {"authorization": "Bearer t"}
        async with session.post(
            f"{github.url}/api/graphql", json={"query": of_pull("headRefOid")}, headers=headers
        ) as answer:
            assert (await answer.json())["data"]["repository"]["pullRequest"]["headRefOid"] == "h1"
        async with session.get(f"{github.url}/nothing", headers=headers) as answer:
            assert answer.status == 404


def test_it_can_be_started_by_hand(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(json.dumps(json.loads(json.dumps(world()))))
    command = [sys.executable, "-m", "tests.githubsim", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=pathlib.Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[0]
            request = urllib.request.Request(url, json.dumps({"query": of_pull("headRefOid")}).encode())
            request.add_header("authorization", "Bearer t")
            with urllib.request.urlopen(request, timeout=10) as answer:
                assert b'"h1"' in answer.read()
        finally:
            process.terminate()


def test_a_world_that_is_none_is_refused_in_words(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "world.yaml"
    path.write_text("{repositories: {}}")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.githubsim", str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=pathlib.Path(__file__).parents[2],
    )
    assert ran.returncode == 2
    assert "now" in ran.stderr
