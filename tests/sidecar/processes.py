"""`vigil` as real processes, which can be killed."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
from collections.abc import AsyncGenerator, Mapping

from tests.sidecar import servers
from vigil.adapters import session, sidecar, wire

START_SECONDS = 60.0


def environment(**more: str) -> dict[str, str]:
    """The environment without what the machine's own settings say of Vigil."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("VIGIL_", "KUBE"))} | more


async def vigil(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: pathlib.Path | None = None
) -> asyncio.subprocess.Process:
    """Start a command of Vigil, its output and errors in pipes."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "vigil",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment() if env is None else env,
        cwd=cwd,
    )


@dataclasses.dataclass(frozen=True)
class Sidecar:
    """A `vigil sidecar` that listens, and a connection to it."""

    process: asyncio.subprocess.Process
    url: str
    connection: wire.Wire

    @property
    def operator(self) -> sidecar.SidecarClient:
        """The operator's client."""
        return sidecar.SidecarClient(self.connection)

    @property
    def session(self) -> session.SessionClient:
        """A session's client."""
        return session.SessionClient(self.connection, "team-a", "supervisor")

    async def kill(self) -> None:
        """End it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@contextlib.asynccontextmanager
async def sidecar_process(folder: pathlib.Path, **env: str) -> AsyncGenerator[Sidecar]:
    """Run `vigil sidecar` over this folder until the context ends."""
    (folder / "token").write_text(servers.TOKEN)
    arguments = ("--listen", "127.0.0.1:0", "--data-dir", str(folder), "--token-file", str(folder / "token"))
    process = await vigil("sidecar", *arguments, env=environment(**env))
    rest: asyncio.Task[bytes] | None = None
    try:
        async with asyncio.timeout(START_SECONDS):
            address = await _address(process)
        assert process.stderr is not None
        rest = asyncio.ensure_future(process.stderr.read())
        async with wire.Wire(f"http://{address}", lambda: servers.TOKEN) as connection:
            yield Sidecar(process, f"http://{address}", connection)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if rest is not None:
            await rest


async def _address(process: asyncio.subprocess.Process) -> str:
    """The address that it says it listens at."""
    assert process.stderr is not None
    seen = b""
    while line := await process.stderr.readline():
        seen += line
        if b"the sidecar listens" in line:
            return str(json.loads(line)["address"])
    raise AssertionError(f"the sidecar did not start: {seen.decode()}")
