"""Who bears a token."""

import pathlib

import pytest

from vigil.adapters.kube import review
from vigil.model import failures
from vigil.sidecar import auth


async def test_the_one_token_is_operator_and_session(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("first\n")
    known = auth.FileTokens(tmp_path / "token")
    assert await known.principal("first") == auth.EVERYTHING
    assert await known.principal("another") is None
    (tmp_path / "token").write_text("rotated\n")
    assert await known.principal("rotated") == auth.EVERYTHING
    assert await known.principal("first") is None


async def test_a_namespaces_token_is_a_session_of_it_and_no_operator(tmp_path: pathlib.Path) -> None:
    (tmp_path / "team-a").write_text("a-token")
    (tmp_path / "..data").write_text("no key")
    found = await auth.FileTokens(None, tmp_path).principal("a-token")
    assert isinstance(found, auth.Principal)
    assert not found.operator
    assert found.may_be_session_of("team-a")
    assert not found.may_be_session_of("team-b")
    assert await auth.FileTokens(None, tmp_path).principal("no key") is None


@pytest.mark.parametrize("content", [None, "", "  \n"])
async def test_a_token_that_is_missing_or_empty_lets_nobody_in(tmp_path: pathlib.Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content)
    for given in ("", " ", "x"):
        assert isinstance(await auth.FileTokens(tmp_path / "token").principal(given), failures.Failure)


class Reviewer:
    """An API server that knows these tokens."""

    def __init__(self, known: dict[str, review.Bearer | failures.Failure]) -> None:
        self._known = known

    async def review(self, token: str) -> review.Bearer | failures.Failure | None:
        return self._known.get(token)


DOWN = failures.Failure(failures.Category.TRANSIENT, "the API server is down")
REVIEWED = auth.ReviewedTokens(
    Reviewer(
        {
            "agent": review.Bearer("system:serviceaccount:team-a:agent", "team-a", "agent"),
            "operator": review.Bearer("system:serviceaccount:vigil:operator", "vigil", "operator"),
            "person": review.Bearer("jo"),
            "unsure": DOWN,
        }
    ),
    frozenset({"vigil/operator"}),
)


async def test_a_service_account_is_a_session_of_its_own_namespace() -> None:
    assert await REVIEWED.principal("agent") == auth.Principal(namespaces=frozenset({"team-a"}))
    assert await REVIEWED.principal("operator") == auth.Principal(operator=True, namespaces=frozenset({"vigil"}))
    assert await REVIEWED.principal("person") is None
    assert await REVIEWED.principal("nobody") is None


async def test_the_first_that_knows_decides_and_doubt_is_no_refusal() -> None:
    both = auth.FirstOf(REVIEWED, auth.StaticTokens({"static": auth.EVERYTHING, "unsure": auth.EVERYTHING}))
    assert await both.principal("static") == auth.EVERYTHING
    assert await both.principal("unsure") == auth.EVERYTHING
    assert await auth.FirstOf(REVIEWED, auth.StaticTokens({"static": auth.EVERYTHING})).principal("unsure") == DOWN
    assert await both.principal("nobody") is None
