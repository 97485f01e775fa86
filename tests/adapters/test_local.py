"""Credentials from a folder, and transports without a cluster or beside one."""

import ipaddress
import pathlib
from collections.abc import AsyncIterator

import pytest
from aiohttp import test_utils, web

from tests.unit.api import toys
from vigil import ports
from vigil.adapters import local
from vigil.adapters.http import client
from vigil.kind import api
from vigil.model import failures, wakes

GITHUB = wakes.SecretKey("github", "token")


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with one credential, as a Secret is mounted."""
    (tmp_path / "github").mkdir()
    (tmp_path / "github" / "token").write_text("s3cret\n")
    return tmp_path


@pytest.fixture
async def guarded() -> AsyncIterator[client.GuardedClient]:
    """The guarded client; it may reach loopback."""
    async with client.GuardedClient(client.Settings((ipaddress.ip_network("127.0.0.0/8"),))) as made:
        yield made


@pytest.fixture
async def provider() -> AsyncIterator[str]:
    """The host of a provider that answers with the credential that it was shown, once it is not `old`."""

    async def handle(request: web.Request) -> web.Response:
        shown = request.headers.get("Authorization", "")
        return web.Response(text=shown, status=401 if shown == "Bearer old" else 200)

    application = web.Application()
    application.router.add_get("/", handle)
    async with test_utils.TestServer(application, host="127.0.0.1") as server:
        yield f"127.0.0.1:{server.port}"


async def asked(of: ports.Bound, host: str) -> str:
    """What the provider answers."""
    return (await of.transport.request("GET", f"http://{host}/", timeout=10)).body.decode()


def bound(of: ports.Bound | failures.Failure) -> ports.Bound:
    """What was bound."""
    assert isinstance(of, ports.Bound), of
    return of


def refused(of: ports.Bound | failures.Failure) -> str:
    """Why it was not; always `config`, which does not heal by itself."""
    assert isinstance(of, failures.Failure), of
    assert of.category is failures.Category.CONFIG
    return of.message


# --- the folder ------------------------------------------------------------------------------------------------------


async def test_a_key_is_read_without_the_white_space_around_it(folder: pathlib.Path) -> None:
    assert await local.Folder(folder).read("team-a", GITHUB) == "s3cret"


async def test_every_namespace_sees_the_same_folder(folder: pathlib.Path) -> None:
    of = local.Folder(folder)
    assert await of.read("team-a", GITHUB) == await of.read("team-b", GITHUB)


async def test_a_key_is_read_anew_each_time(folder: pathlib.Path) -> None:
    of = local.Folder(folder)
    await of.read("team-a", GITHUB)
    (folder / "github" / "token").write_text("rotated")
    assert await of.read("team-a", GITHUB) == "rotated"


@pytest.mark.parametrize("source", [wakes.SecretKey("github", "other"), wakes.SecretKey("gitlab", "token")])
async def test_a_key_that_is_not_there_is_named(folder: pathlib.Path, source: wakes.SecretKey) -> None:
    failure = await local.Folder(folder).read("team-a", source)
    assert failure == failures.Failure(
        failures.Category.CONFIG,
        f"the credential {source.name}/{source.key} cannot be read: No such file or directory",
    )


async def test_a_key_that_is_no_text_is_refused_without_showing_it(folder: pathlib.Path) -> None:
    (folder / "github" / "token").write_bytes(b"s3cret\xff")
    failure = await local.Folder(folder).read("team-a", GITHUB)
    assert isinstance(failure, failures.Failure)
    assert failure.category is failures.Category.CONFIG
    assert "s3cret" not in failure.message


async def test_without_a_folder_the_option_is_named() -> None:
    failure = await local.Folder(None).read("team-a", GITHUB)
    assert isinstance(failure, failures.Failure)
    assert failure.message == "the Watch names the credential github/token: give --credentials FOLDER"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a.example.com", {"a.example.com"}),
        ("a.example.com, b.example.com\nc.example.com\n", {"a.example.com", "b.example.com", "c.example.com"}),
        ("", set()),
    ],
)
def test_allowed_hosts_are_separated_by_commas_or_white_space(folder: pathlib.Path, text: str, hosts: set[str]) -> None:
    (folder / "github" / local.ALLOWED_HOSTS).write_text(text)
    token = local.Folder(folder).token(GITHUB)
    assert not isinstance(token, failures.Failure)
    assert token.allowed_hosts == hosts
    assert "s3cret" not in repr(token)


def test_allowed_hosts_that_are_no_text_allow_nothing(folder: pathlib.Path) -> None:
    (folder / "github" / local.ALLOWED_HOSTS).write_bytes(b"\xff")
    token = local.Folder(folder).token(GITHUB)
    assert not isinstance(token, failures.Failure)
    assert token.allowed_hosts == frozenset()


# --- transports ------------------------------------------------------------------------------------------------------


async def test_a_watch_without_a_credential_shows_none(guarded: client.GuardedClient, provider: str) -> None:
    made = local.LocalTransports(guarded, local.Folder(None), None)
    at = bound(await made.bind(toys.kind(), provider, "team-a", None))
    assert await asked(at, provider) == ""
    assert bound(await made.bind(toys.kind(), provider, "team-b", None)) is at


async def test_a_credential_is_shown_and_read_anew_when_it_is_refused(
    guarded: client.GuardedClient, folder: pathlib.Path, provider: str
) -> None:
    (folder / "github" / local.ALLOWED_HOSTS).write_text(provider)
    (folder / "github" / "token").write_text("old")
    made = local.LocalTransports(guarded, local.Folder(folder), None)
    at = bound(await made.bind(toys.kind(), f"http://{provider}", "team-a", GITHUB))
    (folder / "github" / "token").write_text("new")
    assert await asked(at, provider) == "Bearer new"


async def test_a_credential_goes_only_to_the_hosts_that_it_allows(
    guarded: client.GuardedClient, folder: pathlib.Path
) -> None:
    made = local.LocalTransports(guarded, local.Folder(folder), None)
    kind = toys.kind(default_host="api.example.com")
    bound(await made.bind(kind, "api.example.com", "team-a", GITHUB))
    why = refused(await made.bind(kind, "ghe.example.com", "team-a", GITHUB))
    assert why == "the credential github/token is not for ghe.example.com: the file github/allowed-hosts must name it"
    (folder / "github" / local.ALLOWED_HOSTS).write_text("ghe.example.com")
    bound(await made.bind(kind, "ghe.example.com", "team-a", GITHUB))


async def test_a_credential_that_is_not_there_is_a_failure_of_its_watch(guarded: client.GuardedClient) -> None:
    made = local.LocalTransports(guarded, local.Folder(None), None)
    assert "--credentials" in refused(await made.bind(toys.kind(), "api.example.com", "team-a", GITHUB))


async def test_the_same_token_is_one_account_wherever_it_lies(
    guarded: client.GuardedClient, folder: pathlib.Path
) -> None:
    (folder / "copy").mkdir()
    (folder / "copy" / "key").write_text("s3cret")
    made = local.LocalTransports(guarded, local.Folder(folder), None)
    kind = toys.kind(default_host="api.example.com")
    one = bound(await made.bind(kind, "api.example.com", "team-a", GITHUB))
    other = bound(await made.bind(kind, "api.example.com", "team-b", wakes.SecretKey("copy", "key")))
    assert one.account == other.account
    assert "s3cret" not in one.account


async def test_a_kind_of_a_cluster_needs_one_and_is_told_how(guarded: client.GuardedClient) -> None:
    made = local.LocalTransports(guarded, local.Folder(None), None)
    inside = toys.kind("inside", access=api.Access.CLUSTER)
    why = refused(await made.bind(inside, "cluster", "team-a", None))
    assert why == "the kind inside reads a cluster, and there is none: give --kubeconfig"


async def test_a_kind_of_a_cluster_is_bound_to_it_and_no_other_kind_is(guarded: client.GuardedClient) -> None:
    anonymous = await local.LocalTransports(guarded, local.Folder(None), None).bind(toys.kind(), "h.test", "a", None)
    cluster = ports.Bound("cluster", bound(anonymous).transport)
    made = local.LocalTransports(guarded, local.Folder(None), cluster)
    inside = toys.kind("inside", access=api.Access.CLUSTER)
    assert await made.bind(inside, "cluster", "team-a", None) is cluster
    assert await made.bind(toys.kind(), "api.example.com", "team-a", None) is not cluster
