"""The names of hosts, repositories and people, each in the one spelling by which it is known."""

import re
from typing import Annotated, Final

import pydantic

API: Final = "api.github.com"
"""The host that answers for github.com."""

_BOT: Final = "[bot]"
_OWNER = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,98}[A-Za-z0-9_])?"
_NAME = r"[A-Za-z0-9._-]{1,100}"

_LOGIN = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$"
_REPOSITORY = rf"^{_OWNER}/{_NAME}$"


def _shaped(pattern: str, sentence: str) -> pydantic.AfterValidator:
    """Checks the shape of a text, and says in words what it has to be: a pattern is no help to whoever mistyped."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern.removesuffix("$"), text):
            raise ValueError(sentence)
        return text

    return pydantic.AfterValidator(check)


RepositoryName = Annotated[
    str,
    pydantic.Field(max_length=201, json_schema_extra={"pattern": _REPOSITORY}),
    _shaped(_REPOSITORY, "must be owner/name, such as acme/api"),
]
"""`owner/name`."""

Login = Annotated[
    str,
    pydantic.Field(max_length=105, json_schema_extra={"pattern": _LOGIN}),
    _shaped(_LOGIN, "must be the login of an account, such as renovate[bot]"),
]
"""The name of an account; that of an app with or without `[bot]`."""


def api_host(host: str) -> str:
    """The host whose API answers for a Watch's `source.host`: GitHub's own, a company's on ghe.com, or a server's."""
    name = host.lower()
    if name in {"", "github.com", "www.github.com", API}:
        return API
    return f"api.{name}" if name.endswith(".ghe.com") and not name.startswith("api.") else name


def graphql_path(api: str) -> str:
    """Where an API host answers GraphQL; an enterprise server has its API below /api."""
    return "/graphql" if _of_github(api) else "/api/graphql"


def rest_path(api: str, path: str) -> str:
    """Where an API host answers this REST path, which starts with a slash."""
    return path if _of_github(api) else f"/api/v3{path}"


def _of_github(api: str) -> bool:
    return api == API or api.endswith(".ghe.com")


def split(repository: str) -> tuple[str, str]:
    """The owner and the name of `owner/name`."""
    owner, _, name = repository.partition("/")
    return owner, name


def login(name: str) -> str:
    """An account's name without the mark of a bot, which only some of GitHub's interfaces add, in lower case."""
    return name.lower().removesuffix(_BOT)
