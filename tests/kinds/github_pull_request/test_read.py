"""The reader: two stages, pages, chunks, and every way in which GitHub refuses."""

import asyncio
from typing import Any

import graphql
import pytest

from tests.githubsim import graph, limits
from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import check, rollup, said, thread, user
from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.github_pull_request import KIND, read
from vigil_providers.github import batch

THROTTLED = {
    "status": 403,
    "headers": {"retry-after": "60"},
    "body": {"message": "You have exceeded a secondary limit."},
}
BAD_GATEWAY = {"status": 502, "body": "<html>Bad Gateway</html>"}


class Meter:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.quotas: list[api.Quota] = []

    def report(self, quota: api.Quota) -> None:
        self.quotas.append(quota)


def many(count: int, **world: Any) -> pulls.Desk:
    """A repository with so many open pull requests."""
    found = pulls.world(pulls.pull(), **world)
    found["repositories"]["acme/api"]["pullRequests"] = {
        str(number): pulls.pull(headRefName=f"thing-{number}") for number in range(1, count + 1)
    }
    return pulls.Desk(found)


async def read_all(
    desk: pulls.Desk, count: int, after: float = 0.0, meter: api.Meter = api.UNMETERED, requests: int = 50
) -> dict[int, api.Snapshot | failures.Failure]:
    """What a read of the pull requests 1 to `count` gives, by number."""
    desk.github.clock.advance(after)
    numbers = {pulls.numbered(number)[0]: number for number in range(1, count + 1)}
    wanted = dict(pulls.numbered(number) for number in numbers.values())
    budget = api.ReadBudget(30.0, requests, desk.github.clock.now(), meter)
    answers = await desk.reader.read(wanted, budget)
    assert answers.keys() == wanted.keys()
    return {numbers[name]: answer for name, answer in answers.items()}


def operations(desk: pulls.Desk) -> list[tuple[str, int]]:
    """What was asked since the last time that this was asked: the operation and for how many."""
    asked = [(one.operation, one.subjects) for one in desk.github.requests]
    desk.github.requests.clear()
    return asked


def category(answer: api.Snapshot | failures.Failure) -> failures.Category | None:
    """Why a pull request could not be read, None if it could."""
    return answer.category if isinstance(answer, failures.Failure) else None


# --- two stages -------------------------------------------------------------------------------------------------------


async def test_twenty_five_are_read_with_one_query_a_stage_and_a_point_for_the_first() -> None:
    desk, meter = many(25), Meter()
    assert not any(map(category, (await read_all(desk, 25, meter=meter)).values()))
    assert operations(desk) == [("Overview", 25), ("Details", 25)]
    assert [(one.resource, one.limit) for one in meter.quotas] == [("graphql", 5000), ("graphql", 5000)]
    assert meter.quotas[0].cost == 1.0
    assert meter.quotas[0].remaining == 4999


async def test_what_is_green_and_has_not_changed_needs_no_second_stage() -> None:
    desk = many(3)
    await read_all(desk, 3)
    operations(desk)
    again = await read_all(desk, 3, after=120)
    assert operations(desk) == [("Overview", 3)]
    assert not any(map(category, again.values()))


@pytest.mark.parametrize(
    "changed",
    [
        rollup(check(conclusion="FAILURE"), state="FAILURE"),
        {"reviewThreads": [thread("T1", said(1, user("bob"), state="SUBMITTED"))]},
        {"mergeable": "UNKNOWN"},
        {"isInMergeQueue": True},
        {"reviewDecision": "REVIEW_REQUIRED"},
        {"statusCheckRollup": None},
        {"checkSuites": [pulls.run(1, status="QUEUED", conclusion=None)]},
        {"reactions": [{"content": "EYES", "createdAt": pulls.at("10:59")}]},
    ],
)
async def test_what_is_not_green_is_read_whole_each_time(changed: dict[str, Any]) -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(**changed)))
    await desk.read()
    await desk.read(120)
    assert operations(desk) == [("Overview", 1), ("Details", 1)] * 2


@pytest.mark.parametrize(
    "changed",
    [
        {"updatedAt": pulls.at("11:01")},
        {"headRefOid": "h2"},
        {"comments": [said(1, user("bob"))]},
        {"reviewThreads": [thread("T1", said(1, user("bob"), state="SUBMITTED"))]},
        {"checkSuites": [pulls.run(900), pulls.run(901)]},
        {"mergeStateStatus": "BLOCKED"},
    ],
)
async def test_what_was_green_and_changed_is_read_whole(changed: dict[str, Any]) -> None:
    desk = pulls.Desk(pulls.world(pulls.pull()))
    await desk.read()
    operations(desk)
    desk.show(pulls.pull(**changed))
    await desk.read(120)
    assert operations(desk) == [("Overview", 1), ("Details", 1)]


async def test_what_has_ended_needs_no_second_stage() -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(state="MERGED")))
    await desk.read()
    assert operations(desk) == [("Overview", 1)]


# --- pages ------------------------------------------------------------------------------------------------------------


async def test_a_list_is_read_to_its_end() -> None:
    """C013."""
    desk = pulls.Desk(pulls.world(pulls.pull(**rollup(*(check(f"unit-{n}", id=n) for n in range(250))))))
    result = await desk.seen()
    assert pulls.entry(result, "ready").brief.startswith("250 checks passed")
    assert operations(desk) == [("Overview", 1), ("Details", 1), ("MoreChecks", 0), ("MoreChecks", 0)]


async def test_the_last_page_counts_as_the_first_does() -> None:
    rows = [check(f"unit-{n}", "FAILURE" if n == 249 else "SUCCESS", id=n) for n in range(250)]
    assert pulls.keys(await pulls.observed(pulls.pull(**rollup(*rows, state="FAILURE")))) == ["red:ci/unit-249"]


@pytest.mark.parametrize(
    ("changed", "operation"),
    [
        ({"comments": [said(n, user("bob")) for n in range(1, 102)]}, "MoreComments"),
        (
            {"reviewThreads": [thread(f"T{n}", said(n, user("bob"), state="SUBMITTED")) for n in range(1, 102)]},
            "MoreThreads",
        ),
        ({"reviews": [pulls.review(n, "bob", "COMMENTED", body="Hm.") for n in range(1, 102)]}, "MoreReviews"),
    ],
)
async def test_every_list_is_read_to_its_end(changed: dict[str, Any], operation: str) -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(**changed)))
    result = await desk.seen()
    assert result.complete
    assert len([key for key in pulls.keys(result) if key != "ready"]) == 101
    assert operations(desk)[2:] == [(operation, 0)]


async def test_a_list_past_its_bound_is_not_read_whole() -> None:
    rows = [check(f"unit-{n}", "FAILURE" if n == 0 else "SUCCESS", id=n) for n in range(1100)]
    desk = pulls.Desk(pulls.world(pulls.pull(**rollup(*rows, state="FAILURE"))))
    result = await desk.seen()
    assert (pulls.keys(result), result.complete) == (["red:ci/unit-0"], False)
    assert result.error is not None
    assert result.error.category is failures.Category.TOO_LARGE
    assert len(operations(desk)) == 2 + 9


async def test_a_list_that_goes_on_and_does_not_say_where_is_malformed_and_asked_for_once() -> None:
    """C013, the variant."""
    fault = {"pageCursorNull": {"field": "contexts"}}
    rows = rollup(*(check(f"unit-{n}", id=n) for n in range(102)))
    desk = pulls.Desk(pulls.world(pulls.pull(**rows), faults=[fault]))
    result = await desk.seen()
    assert (pulls.keys(result), result.complete) == ([], False)
    assert result.error is not None
    assert result.error.category is failures.Category.MALFORMED
    assert operations(desk) == [("Overview", 1), ("Details", 1)]


async def test_a_limit_in_the_middle_of_the_pages_keeps_what_is_certain_and_holds_what_follows() -> None:
    """C049."""
    fault = {"match": {"path": "/graphql", "contains": "MoreChecks", "nth": 2}, **THROTTLED}
    rows = [check(f"unit-{n}", "FAILURE" if n == 5 else "SUCCESS", id=n) for n in range(250)]
    desk = pulls.Desk(pulls.world(pulls.pull(**rollup(*rows, state="FAILURE")), faults=[fault]))
    result = await desk.seen()
    assert (pulls.keys(result), result.complete) == (["red:ci/unit-5"], False)
    assert result.error is not None
    assert (result.error.category, result.error.retry_after) == (failures.Category.THROTTLED, 60.0)
    operations(desk)
    held = await desk.read(30)
    assert isinstance(held, failures.Failure)
    assert (held.category, held.retry_after) == (failures.Category.THROTTLED, 30.0)
    assert operations(desk) == []
    assert isinstance(await desk.read(30), api.Snapshot)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (THROTTLED, failures.Category.THROTTLED),
        ({"status": 401, "body": {"message": "Bad credentials"}}, failures.Category.AUTH),
        ({"status": 403, "headers": {"x-github-sso": "required"}}, failures.Category.AUTH_SSO),
        ({"status": 200, "body": "<html><title>Sign in</title></html>"}, failures.Category.MALFORMED),
        ({"status": 200, "body": ""}, failures.Category.MALFORMED),
        (BAD_GATEWAY, failures.Category.TRANSIENT),
        (
            {"status": 200, "body": {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}},
            failures.Category.THROTTLED,
        ),
    ],
)
async def test_a_first_stage_that_is_refused_is_the_failure_of_the_whole_chunk(
    fault: dict[str, Any], wanted: failures.Category
) -> None:
    """C047, C050 and their like."""
    desk = pulls.Desk(pulls.world(pulls.pull(), faults=[{"match": {"path": "/graphql"}, **fault}]))
    with pytest.raises(transport.ReadError) as raised:
        await desk.read()
    assert raised.value.failure.category is wanted


async def test_an_answer_without_the_aliases_says_nothing_of_any_of_them() -> None:
    """C055: absence without an error is never a deletion."""
    desk = many(2, faults=[{"match": {"contains": "Overview"}, "dropData": True}])
    answers = await read_all(desk, 2)
    assert [category(one) for one in answers.values()] == [failures.Category.MALFORMED] * 2


async def test_one_that_is_not_there_spoils_nothing_for_the_others() -> None:
    desk = many(2)
    answers = await read_all(desk, 3)
    assert [category(answers[number]) for number in (1, 2, 3)] == [None, None, failures.Category.NOT_FOUND]


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        ({"type": "FORBIDDEN"}, failures.Category.FORBIDDEN),
        ({"type": "FORBIDDEN", "extensions": {"saml_failure": True}}, failures.Category.AUTH_SSO),
    ],
)
async def test_a_repository_that_is_refused_spoils_nothing_for_the_others(
    at: dict[str, Any], wanted: failures.Category
) -> None:
    """C058 and C061."""
    desk = many(2, faults=[{"errorAt": {"repository": "acme/api", "pullRequest": 1}, **at}])
    answers = await read_all(desk, 2)
    assert [category(answers[number]) for number in (1, 2)] == [wanted, None]
    assert "Resource not accessible" in str(answers[1]) or wanted is failures.Category.AUTH_SSO


async def test_a_field_that_the_token_may_not_read_is_a_part_that_is_missing_and_never_no_checks() -> None:
    """C059."""
    fault = {
        "errorAt": {"repository": "acme/api", "pullRequest": 42, "field": "statusCheckRollup"},
        "type": "FORBIDDEN",
    }
    desk = pulls.Desk(pulls.world(pulls.pull(comments=[said(77, user("bob"))]), faults=[fault]))
    result = await desk.seen()
    assert (pulls.keys(result), result.complete) == (["comment:77"], False)
    assert result.error is not None
    assert result.error.category is failures.Category.FORBIDDEN


@pytest.mark.parametrize("field", ["branchProtectionRule", "rules", "refUpdateRule", "compare", "reviewRequests"])
async def test_what_a_reader_may_well_not_see_makes_no_read_incomplete(field: str) -> None:
    protected = {"branchProtectionRule": {"requiresStrictStatusChecks": False}}
    fault = {"errorAt": {"repository": "acme/api", "pullRequest": 42, "field": field}, "type": "FORBIDDEN"}
    desk = pulls.Desk(pulls.world(pulls.pull(baseRef=protected), faults=[fault]))
    assert pulls.keys(await desk.seen()) == ["ready"]


async def test_a_query_that_is_too_large_is_halved_and_the_size_that_worked_is_kept() -> None:
    """C053."""
    found = many(25, faults=[{"match": {"contains": "Details"}, "maxAliases": 6}]).github.world
    draft = {
        number: {**one, "isDraft": True} for number, one in found["repositories"]["acme/api"]["pullRequests"].items()
    }
    desk = pulls.Desk(
        {**found, "repositories": {"acme/api": {**found["repositories"]["acme/api"], "pullRequests": draft}}}
    )
    assert not any(map(category, (await read_all(desk, 25)).values()))
    assert operations(desk)[:4] == [("Overview", 25), ("Details", 25), ("Details", 12), ("Details", 6)]
    assert not any(map(category, (await read_all(desk, 25, after=120)).values()))
    assert operations(desk)[1][1] < 25


async def test_only_the_one_that_is_too_heavy_by_itself_is_not_read() -> None:
    """C056."""
    heavy = {"match": {"contains": "Details"}, "maxAliases": 0}
    desk = many(1, faults=[heavy])
    answers = await read_all(desk, 1)
    assert [category(one) for one in answers.values()] == [failures.Category.TRANSIENT]


async def test_an_outage_of_the_second_stage_costs_a_bounded_number_of_requests() -> None:
    desk = many(25, faults=[{"match": {"contains": "Details"}, **BAD_GATEWAY}])
    answers = await read_all(desk, 25)
    assert set(map(category, answers.values())) == {failures.Category.TRANSIENT}
    assert len(operations(desk)) <= 9


async def test_no_more_is_sent_than_the_read_may_send() -> None:
    desk = pulls.Desk(pulls.world(pulls.pull(**rollup(*(check(f"unit-{n}", id=n) for n in range(500))))))
    snapshot = await desk.read(requests=3)
    assert isinstance(snapshot, api.Snapshot)
    assert [one["part"] for one in snapshot.payload["missing"]] == ["statusCheckRollup"]
    assert len(operations(desk)) == 3


async def test_the_answer_that_uses_up_the_allowance_counts() -> None:
    """C052."""
    desk, meter = many(1, limits={"graphql": 1}), Meter()
    desk.github.set_world({**desk.github.world, "limits": {"graphql": 1}})
    merged = pulls.world(pulls.pull(state="MERGED"), limits={"graphql": 1})
    desk.github.set_world(merged)
    result = await desk.seen()
    assert pulls.keys(result) == ["merged"]
    wanted = {pulls.ID: api.Wanted(pulls.SUBJECT, pulls.SCOPE)}
    with pytest.raises(transport.ReadError) as raised:
        await desk.reader.read(wanted, api.ReadBudget(30.0, 5, desk.github.clock.now(), meter))
    assert raised.value.failure.category is failures.Category.THROTTLED
    assert raised.value.failure.retry_after == 3600.0


async def test_a_read_that_runs_out_of_time_hands_over_what_it_has() -> None:
    class Slow:
        """A transport that never answers the second stage."""

        def __init__(self, through: transport.Transport) -> None:
            self._through = through

        async def request(self, method: str, url: str, **more: Any) -> transport.Response:
            if b"query Details" in more["body"]:
                await asyncio.Event().wait()
            return await self._through.request(method, url, **more)

    desk = many(2)
    ended = pulls.world(pulls.pull(state="MERGED"))["repositories"]["acme/api"]["pullRequests"]["42"]
    found = pulls.world()
    found["repositories"]["acme/api"]["pullRequests"] = {"1": pulls.pull(), "2": ended}
    desk.github.set_world(found)
    desk.reader = KIND.reader(Slow(desk.github.transport()))
    wanted = dict(pulls.numbered(number) for number in (1, 2))
    answers = await desk.reader.read(wanted, api.ReadBudget(0.2, 5, desk.github.clock.now()))
    assert [category(answers[name]) for name in wanted] == [failures.Category.TIMEOUT, None]


# --- a thousand -------------------------------------------------------------------------------------------------------


async def test_a_thousand_cost_forty_queries_and_forty_points_in_the_first_stage_one_after_another() -> None:
    desk = many(1000)
    for _ in range(2):
        numbers = range(1, 1001)
        for start in range(0, 1000, KIND.chunk):
            chunk = dict(pulls.numbered(number) for number in numbers[start : start + KIND.chunk])
            answers = await desk.reader.read(chunk, api.ReadBudget(30.0, 50, desk.github.clock.now()))
            assert not any(map(category, answers.values()))
        points = desk.github.points()
        asked = operations(desk)
    assert asked == [("Overview", 25)] * 40
    assert points == 40


# --- the queries ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "subjects"),
    [
        *((operation, 0) for operation in read.DOCUMENTS.operations),
        *((operation, subjects) for operation in ("Overview", "Details") for subjects in (1, 25)),
    ],
)
def test_every_query_is_one_that_github_accepts(operation: str, subjects: int) -> None:
    document = graphql.parse(read.DOCUMENTS.text(operation, subjects))
    assert graphql.validate(graph.schema(), document) == []
    weight = limits.weigh(graph.schema(), document, batch.variables([{}] * subjects))
    assert weight.refusals == ()
    if operation == "Overview":
        assert weight.cost == 1


def test_ids_are_those_of_the_pull_requests() -> None:
    assert ids.SubjectId("github_pull_request://api.github.com/acme/api/42") == pulls.ID
