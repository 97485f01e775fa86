"""One run of a command for one turn: what it is given, what it prints, and what it reports."""

import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from typing import BinaryIO, Final

import click
import pydantic

from vigil.api import turn

TAIL_LIMIT: Final = 256 * 1024
"""Bytes of the output that are kept for the report in its last line."""
GRACE_SECONDS: Final = 2.0
"""How long output is still read after the command ended: a child that it left behind may hold the pipe open."""


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """How a run ended: `code` is negative for a signal."""

    code: int
    report: turn.Report


class Command:
    """A command that is run once for each turn; `log` is where its output is appended, None for ours."""

    def __init__(self, arguments: tuple[str, ...], log: pathlib.Path | None) -> None:
        self._arguments = arguments
        self._log = log
        self._process: asyncio.subprocess.Process | None = None
        self._terminated = False

    async def run(self, envelope: str, environment: Mapping[str, str]) -> Result:
        """Run it with the envelope on its standard input. Raises OSError when it cannot be started."""
        async with self._output() as output:
            process = await asyncio.create_subprocess_exec(
                *self._arguments,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=output if self._log is not None else None,
                env={**os.environ, **environment},
                start_new_session=True,  # a signal for us is not one for the command
            )
            self._process = process
            if self._terminated:
                self.terminate()  # it came while the command was being started
            reading = asyncio.create_task(_copy(process, output))
            try:
                await _feed(process, envelope.encode(errors="replace"))
                code = await process.wait()
                done, _ = await asyncio.wait((reading,), timeout=GRACE_SECONDS)
                tail = bytes(reading.result()) if done else b""
            finally:
                self._process = None
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
        return Result(code, report_of(tail))

    def terminate(self) -> None:
        """End the command and what it started, and one that is started from now on at once."""
        self._terminated = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)

    @contextlib.asynccontextmanager
    async def _output(self) -> AsyncGenerator[BinaryIO]:
        if self._log is None:
            yield sys.stdout.buffer
            return
        handle = await asyncio.to_thread(_append, self._log)
        try:
            yield handle
        finally:
            handle.close()


def _append(path: pathlib.Path) -> BinaryIO:
    return path.open("ab", buffering=0)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    stdin = process.stdin
    assert stdin is not None
    # A command need not read its input.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    stdin.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await stdin.wait_closed()


async def _copy(process: asyncio.subprocess.Process, output: BinaryIO) -> bytearray:
    """Pass the output on as it comes, and keep its end."""
    stdout = process.stdout
    assert stdout is not None
    tail = bytearray()
    while chunk := await stdout.read(64 * 1024):
        output.write(chunk)
        output.flush()
        tail += chunk
        del tail[:-TAIL_LIMIT]
    return tail


def report_of(output: bytes) -> turn.Report:
    """The report in the last line that is not blank; no JSON object is no report, and a wrong one is told."""
    lines = output.decode(errors="replace").strip().rsplit("\n", 1)
    last = lines[-1].strip()
    if not last.startswith("{"):
        return turn.Report()
    try:
        json.loads(last)
    except ValueError:
        return turn.Report()
    try:
        return turn.Report.model_validate_json(last)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        click.echo(f"vigil: the report in the last line counts for nothing: {where}: {first['msg']}", err=True)
        return turn.Report()
