"""`make demo`: a local service, a `vigil run` that watches it, and a session that takes the turns."""

import asyncio
import contextlib
import os
import pathlib
import sys
import tempfile
from collections.abc import AsyncGenerator
from typing import IO

from aiohttp import web

from demo import service

HERE = pathlib.Path(__file__).parent
LIMIT_SECONDS = 55
ATTACH_SECONDS = 40.0


async def main() -> int:
    """Play the demonstration; gives the exit code of `vigil run`."""
    with tempfile.TemporaryDirectory(prefix="vigil-demo-") as name:
        state = pathlib.Path(name) / "state"
        async with _served() as address:
            manifest = pathlib.Path(name) / "watch.yaml"
            manifest.write_text((HERE / "watch.yaml").read_text().replace("ADDRESS", address))
            print(f"a pipeline runs at http://{address}/pipelines/42; Vigil watches it, with no cluster:\n")
            return await _played(manifest, state, address)


async def _played(manifest: pathlib.Path, state: pathlib.Path, address: str) -> int:
    allowed = ["--allow-address", "127.0.0.0/8"]
    run = await _vigil(
        "run", "-f", str(manifest), "--state-dir", str(state), "--until-done", "--timeout", str(LIMIT_SECONDS), *allowed
    )
    await _until_exists(state / "sidecar" / "attach.json", run)
    agent = [sys.executable, "-u", str(HERE / "agent.py"), f"http://{address}"]
    complaints = state.with_name("session.log")
    with complaints.open("wb") as log:
        session = await _vigil("attach", "supervisor", "-n", "demo", "--state-dir", str(state), "--", *agent, log=log)
        try:
            code = await run.wait()
        finally:
            with contextlib.suppress(ProcessLookupError):
                session.terminate()
            await session.wait()
    if code != 0:
        # The session outlives the run and says so; that is worth reading only if something went wrong.
        print(complaints.read_text(), file=sys.stderr)
    print()
    for evidence in sorted((state / "sidecar" / "evidence").rglob("*.txt")):
        mode = evidence.stat().st_mode & 0o777
        print(f"evidence {evidence.relative_to(state)}, mode {mode:04o}, {evidence.stat().st_size} bytes")
    print("the pipeline succeeded, and the Watch with it" if code == 0 else f"vigil run ended with exit code {code}")
    return code


@contextlib.asynccontextmanager
async def _served() -> AsyncGenerator[str]:
    """The service on a free port of loopback, with its pipeline running."""
    pipeline = service.Pipeline()
    runner = web.AppRunner(service.application(pipeline), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    progress = asyncio.create_task(pipeline.run())
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        progress.cancel()
        await runner.cleanup()


async def _vigil(*arguments: str, log: IO[bytes] | None = None) -> asyncio.subprocess.Process:
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "vigil", *arguments]
    return await asyncio.create_subprocess_exec(*command, env=environment, stderr=log)


async def _until_exists(path: pathlib.Path, run: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(ATTACH_SECONDS):
        while not path.exists():
            if run.returncode is not None:
                raise SystemExit(run.returncode)
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
