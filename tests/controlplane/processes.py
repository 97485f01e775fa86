"""Start processes that end no later than the process that started them, even when that one is killed."""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

POLL_SECONDS = 0.05
# The guard leads the group that every other process joins. Its standard input ends when its parent ends, however that
# happened; it then kills the group. Unlike PR_SET_PDEATHSIG this is not tied to the thread that started the process.
GUARD = "import os, signal, sys; sys.stdin.buffer.read(); os.killpg(0, signal.SIGKILL)"


class ProcessError(Exception):
    """A process ended on its own, or was not ready in time; the message has the end of its log."""


@dataclasses.dataclass(frozen=True)
class Process:
    """One running process and the file that its output goes to."""

    name: str
    popen: subprocess.Popen[bytes]
    log: pathlib.Path

    @property
    def pid(self) -> int:
        """The process id."""
        return self.popen.pid

    def running(self) -> bool:
        """Whether it has not ended yet."""
        return self.popen.poll() is None

    def tail(self, lines: int = 20) -> str:
        """The end of its log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def stop(self, grace: float = 5.0) -> None:
        """Ask it to end, and kill it when it has not within `grace` seconds."""
        self.popen.terminate()
        try:
            self.popen.wait(grace)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


class Group:
    """The processes that one owner started, with their logs in one folder."""

    def __init__(self, logs: pathlib.Path) -> None:
        self._logs = logs
        self._guard: subprocess.Popen[bytes] | None = None
        self._processes: list[Process] = []

    @property
    def processes(self) -> tuple[Process, ...]:
        """What was started and not stopped, oldest first."""
        return tuple(self._processes)

    def start(self, name: str, command: Sequence[str | pathlib.Path], environment: Mapping[str, str]) -> Process:
        """Start one process with its output in `<name>.log`."""
        log = self._logs / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(
                [os.fspath(part) for part in command],
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=self._leader(),
            )
        process = Process(name, popen, log)
        self._processes.append(process)
        return process

    def wait_until(self, ready: Callable[[], bool], what: str, seconds: float, of: Process) -> None:
        """Wait until `ready()`; raises ProcessError when a process of the group ends or the time is over."""
        deadline = time.monotonic() + seconds
        while not ready():
            for process in self._processes:
                if not process.running():
                    code = process.popen.returncode
                    raise ProcessError(f"{process.name} ended with exit code {code}, its log ends:\n{process.tail()}")
            if time.monotonic() > deadline:
                raise ProcessError(f"{what} not within {seconds:.0f} s; the log of {of.name} ends:\n{of.tail()}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop every process, the latest first; may be called twice."""
        while self._processes:
            self._processes.pop().stop()
        if self._guard is not None:
            guard, self._guard = self._guard, None
            with contextlib.suppress(BrokenPipeError):
                guard.communicate()

    def _leader(self) -> int:
        if self._guard is None:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", GUARD], stdin=subprocess.PIPE, process_group=0
            )
        return self._guard.pid


def alive(pid: int) -> bool:
    """Whether a process with that id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
