"""Hosts, repositories and logins."""

import pydantic
import pytest

from vigil_providers.github import names


@pytest.mark.parametrize(
    ("host", "api", "graphql", "rest"),
    [
        ("", "api.github.com", "/graphql", "/repos/a/b"),
        ("github.com", "api.github.com", "/graphql", "/repos/a/b"),
        ("GitHub.com", "api.github.com", "/graphql", "/repos/a/b"),
        ("api.github.com", "api.github.com", "/graphql", "/repos/a/b"),
        ("acme.ghe.com", "api.acme.ghe.com", "/graphql", "/repos/a/b"),
        ("api.acme.ghe.com", "api.acme.ghe.com", "/graphql", "/repos/a/b"),
        ("git.example.com", "git.example.com", "/api/graphql", "/api/v3/repos/a/b"),
        ("git.example.com:8443", "git.example.com:8443", "/api/graphql", "/api/v3/repos/a/b"),
    ],
)
def test_every_host_has_one_place_for_its_api(host: str, api: str, graphql: str, rest: str) -> None:
    found = names.api_host(host)
    assert (found, names.graphql_path(found), names.rest_path(found, "/repos/a/b")) == (api, graphql, rest)


@pytest.mark.parametrize("name", ["acme/api", "Acme/.github", "a/b", "acme_corp/x", "a-b/c.d_e-f"])
def test_owner_and_name_are_a_repository(name: str) -> None:
    assert pydantic.TypeAdapter(names.RepositoryName).validate_python(name) == name


@pytest.mark.parametrize(
    "name", ["", "acme", "acme/", "/api", "acme/api/x", "acme/a b", "-a/b", "acme/api\n", "https://github.com/acme/api"]
)
def test_anything_else_is_no_repository(name: str) -> None:
    with pytest.raises(pydantic.ValidationError):
        pydantic.TypeAdapter(names.RepositoryName).validate_python(name)


def test_a_bot_has_one_name_with_its_mark_and_without() -> None:
    assert names.login("Renovate[bot]") == names.login("renovate") == "renovate"
