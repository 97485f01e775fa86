"""The real command in a process of its own, and a local service for it to watch."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
from collections.abc import AsyncIterator
from typing import Any

import yaml
from aiohttp import test_utils, web
from click import testing

from tests.controlplane import plane
from vigil import __main__

VIGIL = (sys.executable, "-m", "vigil")
SECONDS = 60.0
LOOPBACK = ("--allow-address", "127.0.0.0/8")


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The standard output as JSON, one object a line."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def verdicts(self) -> list[tuple[str, str]]:
        """Type and reason of each verdict of a `vigil run --json`."""
        return [(one["verdict"]["type"], one["verdict"]["reason"]) for one in self.objects]


class Service:
    """A service with one document, `{"state": …}`; `status` is that of its answers."""

    def __init__(self) -> None:
        self.state = "running"
        self.status = 200
        self.asked = 0
        self.url = ""

    async def show(self, _request: web.Request) -> web.Response:
        """The document."""
        self.asked += 1
        return web.json_response({"state": self.state}, status=self.status)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Service"]:
        """Serve until the context ends."""
        application = web.Application()
        application.router.add_get("/state", self.show)
        async with test_utils.TestServer(application, host="127.0.0.1") as server:
            self.url = f"http://127.0.0.1:{server.port}/state"
            yield self


class Shell:
    """A folder in which commands run, with nothing of the environment that they take settings from."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.state_dir = folder / "state"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("VIGIL_", "KUBE", "XDG_"))}
        self.environment = kept | {"HOME": str(folder), "PYTHONUNBUFFERED": "1", "COLUMNS": "200"}

    def write(self, name: str, *watches: dict[str, Any]) -> str:
        """A file with these Watches; gives its name."""
        (self.folder / name).write_text(yaml.safe_dump_all(watches))
        return name

    def invoke(self, *arguments: str, stdin: str | bytes = "") -> Ended:
        """The same in this process, which is quicker: for what ends before anything is started."""
        environment = {name: None for name in os.environ if name.startswith(("VIGIL_", "KUBE", "XDG_"))}
        with contextlib.chdir(self.folder):
            result = testing.CliRunner().invoke(
                __main__.main,
                list(arguments),
                input=stdin,
                env=environment | {"HOME": str(self.folder)},
                prog_name="vigil",
            )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        """Start `vigil` with these arguments."""
        return await asyncio.create_subprocess_exec(
            *VIGIL,
            *arguments,
            cwd=self.folder,
            env=self.environment | environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def vigil(self, *arguments: str, stdin: str = "", **environment: str) -> Ended:
        """Run `vigil` with these arguments to its end."""
        return await ended(await self.start(*arguments, **environment), stdin)

    async def run(self, name: str, *arguments: str) -> Ended:
        """`vigil run` of a file, with the state folder of this shell."""
        return await self.vigil("run", "-f", name, "--state-dir", str(self.state_dir), *LOOPBACK, *arguments)

    @contextlib.asynccontextmanager
    async def running(self, name: str, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """A `vigil run` that has told its first line; it is killed at the end if it still runs."""
        process = await self.start("run", "-f", name, "--state-dir", str(self.state_dir), *LOOPBACK, *arguments)
        try:
            assert process.stdout is not None
            await asyncio.wait_for(process.stdout.readline(), SECONDS)
            yield process
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGKILL)
                await process.communicate()


async def ended(process: asyncio.subprocess.Process, stdin: str = "") -> Ended:
    """Wait for the end of a command; no command ever ends in a traceback."""
    out, err = await asyncio.wait_for(process.communicate(stdin.encode()), SECONDS)
    assert process.returncode is not None
    told = Ended(process.returncode, out.decode(), err.decode())
    assert "Traceback" not in told.out + told.err, told.err
    return told


def watch(url: str, name: str = "api", **spec: Any) -> dict[str, Any]:
    """A Watch of the service: red wakes, succeeded and broken are its ends; without a session it is recorded."""
    rules = [
        {"name": "red", "when": 'body.state == "red"', "brief": "it is red"},
        {"name": "done", "when": 'body.state == "succeeded"', "severity": "Terminal", "outcome": "Succeeded"},
        {"name": "broke", "when": 'body.state == "broken"', "severity": "Terminal", "outcome": "Failed"},
    ]
    return {
        "apiVersion": "vigil.dev/v1alpha1",
        "kind": "Watch",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {
            "kind": "http_json",
            "objective": "reached",
            "subjects": [{"url": url}],
            "options": {"pending": 'body.state == "running"', "rules": rules},
            "cadence": {"interval": "10s", "quietInterval": "10s"},
            "policy": {"coalesce": {"window": "0s"}},
            **spec,
        },
    }


def create_in(control_plane: plane.ControlPlane, namespace: str) -> None:
    """The definition and the Watch `api` on the API server, where nobody evaluates it."""
    crd = "crds/vigil.dev_watches.yaml"
    control_plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", crd)
    control_plane.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", crd)
    body = watch("https://api.example.com/state")
    body["metadata"] = {"name": "api"}
    control_plane.kubectl("create", "-n", namespace, "-f", "-", input=json.dumps(body))
