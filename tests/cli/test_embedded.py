"""The sidecar of a `vigil run`, and the file that says where it is."""

import contextlib
import pathlib
import socket
import stat
from collections.abc import AsyncIterator

import aiohttp
import pytest

from vigil.adapters import clock, local
from vigil.adapters.http import client
from vigil.cli import address, embedded


@pytest.fixture
async def guarded() -> AsyncIterator[client.GuardedClient]:
    """The guarded client."""
    async with client.GuardedClient(client.Settings()) as made:
        yield made


def serving(
    folder: pathlib.Path, guarded: client.GuardedClient, listen: str = "127.0.0.1:0"
) -> contextlib.AbstractAsyncContextManager[embedded.Embedded]:
    """The sidecar over a folder."""
    return embedded.serving(folder, listen, clock.SystemClock(), guarded, local.Folder(None))


async def test_a_session_finds_it_by_the_file_and_only_with_its_token(
    tmp_path: pathlib.Path, guarded: client.GuardedClient
) -> None:
    async with serving(tmp_path, guarded) as running, aiohttp.ClientSession() as session:
        url, token = address.find(tmp_path)
        assert url == running.url
        path = f"{url}/v1/outcomes?after=0&wait=0"
        async with session.get(path) as refused:
            assert refused.status == 401
        async with session.get(path, headers={"authorization": f"Bearer {token}"}) as answer:
            assert answer.status == 200


async def test_each_run_has_a_token_of_its_own(tmp_path: pathlib.Path, guarded: client.GuardedClient) -> None:
    tokens: set[str] = set()
    for _ in range(2):
        async with serving(tmp_path, guarded):
            tokens.add(address.find(tmp_path)[1])
    assert len(tokens) == 2
    assert all(len(token) >= 32 for token in tokens)


async def test_an_address_of_ipv6_is_a_url(tmp_path: pathlib.Path, guarded: client.GuardedClient) -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with serving(tmp_path, guarded, "[::1]:0") as running, aiohttp.ClientSession() as session:
        assert running.url.startswith("http://[::1]:")
        async with session.get(f"{running.url}/healthz") as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "listen", ["", "nowhere", ":1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "127.0.0.1:²"]
)
async def test_an_address_that_is_none_is_refused(
    tmp_path: pathlib.Path, guarded: client.GuardedClient, listen: str
) -> None:
    with pytest.raises(embedded.SidecarError, match="--listen takes HOST:PORT such as "):
        async with serving(tmp_path, guarded, listen):
            pytest.fail("it is served")


async def test_an_address_that_is_not_of_this_machine_is_refused(
    tmp_path: pathlib.Path, guarded: client.GuardedClient
) -> None:
    with pytest.raises(embedded.SidecarError, match=r"192\.0\.2\.1"):
        async with serving(tmp_path, guarded, "192.0.2.1:0"):
            pytest.fail("it is served")


async def test_a_folder_that_cannot_be_written_is_told(tmp_path: pathlib.Path, guarded: client.GuardedClient) -> None:
    (tmp_path / "sidecar").write_text("")
    with pytest.raises(embedded.SidecarError, match=str(tmp_path)):
        async with serving(tmp_path, guarded):
            pytest.fail("it is served")


def test_the_file_is_for_its_owner_only(tmp_path: pathlib.Path) -> None:
    token = address.publish(tmp_path, "http://127.0.0.1:1")
    assert address.find(tmp_path) == ("http://127.0.0.1:1", token)
    (path,) = (tmp_path / "sidecar").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("content", [None, "", "[]", '{"url": "http://127.0.0.1:1"}', "{"])
def test_a_file_that_says_nothing_is_named(tmp_path: pathlib.Path, content: str | None) -> None:
    if content is not None:
        address.publish(tmp_path, "http://127.0.0.1:1")
        (tmp_path / "sidecar" / "attach.json").write_text(content)
    with pytest.raises(LookupError, match=f"no vigil run has its address in {tmp_path}/sidecar/attach.json"):
        address.find(tmp_path)
