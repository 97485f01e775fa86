"""Who bears a ServiceAccount token."""

import pytest
from aiohttp import web

from tests.adapters.kube import conftest, servers
from tests.controlplane import plane
from vigil.adapters import clock
from vigil.adapters.kube import client, review
from vigil.model import failures

pytestmark = pytest.mark.e2e


@pytest.fixture
def reviewer(through: client.ApiClient) -> review.TokenReviewer:
    """A reviewer for the audience `vigil`, through the proxy."""
    return review.TokenReviewer(through, clock.SystemClock())


async def test_a_token_for_our_audience_names_its_service_account(
    control_plane: plane.ControlPlane, reviewer: review.TokenReviewer, namespace: str
) -> None:
    token = control_plane.service_account_token(namespace, "default", ["vigil"])
    found = await reviewer.review(token)
    assert found == review.Bearer(f"system:serviceaccount:{namespace}:default", namespace, "default")


async def test_a_token_for_the_api_server_is_not_for_us(
    control_plane: plane.ControlPlane, reviewer: review.TokenReviewer, namespace: str
) -> None:
    assert await reviewer.review(control_plane.service_account_token(namespace, "default")) is None


async def test_a_token_whose_authenticator_knows_nothing_of_audiences_is_not_for_us(
    control_plane: plane.ControlPlane, reviewer: review.TokenReviewer, proxy: servers.Proxy
) -> None:
    async def answer(_request: web.Request) -> web.StreamResponse | None:
        status = {"authenticated": True, "user": {"username": "system:serviceaccount:team-a:default"}}
        return web.json_response({"kind": "TokenReview", "status": status}, status=201)

    proxy.fault = answer
    assert await reviewer.review("some-token") is None


@pytest.mark.parametrize("token", ["", "nonsense", "a.b.c", "x" * (review.MAX_TOKEN + 1), "\ud800"])
async def test_nobody_bears_nonsense(reviewer: review.TokenReviewer, token: str) -> None:
    assert await reviewer.review(token) is None


async def test_an_answer_is_remembered_for_a_short_while(
    control_plane: plane.ControlPlane, through: client.ApiClient, proxy: servers.Proxy, namespace: str
) -> None:
    now = conftest.TurningClock()
    reviewer = review.TokenReviewer(through, now)
    token = control_plane.service_account_token(namespace, "default", ["vigil"])
    assert await reviewer.review(token) == await reviewer.review(token)
    assert len(proxy.requests) == 1
    now.turn(review.CACHE)
    await reviewer.review(token)
    assert len(proxy.requests) == 2


async def test_a_refusal_is_remembered_for_an_even_shorter_while(
    through: client.ApiClient, proxy: servers.Proxy
) -> None:
    now = conftest.TurningClock()
    reviewer = review.TokenReviewer(through, now)
    assert [await reviewer.review("nonsense") for _ in range(2)] == [None, None]
    assert len(proxy.requests) == 1
    now.turn(review.REFUSAL_CACHE)
    await reviewer.review("nonsense")
    assert len(proxy.requests) == 2


async def test_a_review_that_fails_is_a_failure_and_is_not_remembered(
    control_plane: plane.ControlPlane, reviewer: review.TokenReviewer, proxy: servers.Proxy, namespace: str
) -> None:
    async def fail(_request: web.Request) -> web.StreamResponse | None:
        return servers.refusal(503, "ServiceUnavailable")

    proxy.fault = fail
    token = control_plane.service_account_token(namespace, "default", ["vigil"])
    found = await reviewer.review(token)
    assert isinstance(found, failures.Failure)
    assert found.category is failures.Category.TRANSIENT
    proxy.fault = servers.no_fault
    assert isinstance(await reviewer.review(token), review.Bearer)


async def test_a_reviewer_without_the_right_to_review_says_so(
    control_plane: plane.ControlPlane, namespace: str
) -> None:
    async with await conftest.connected(control_plane.service_account_kubeconfig(namespace, "default")) as nobody:
        found = await review.TokenReviewer(nobody, clock.SystemClock()).review("some-token")
    assert isinstance(found, failures.Failure)
    assert found.category is failures.Category.FORBIDDEN
    assert "some-token" not in found.message
