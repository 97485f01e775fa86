"""One process that evaluates expressions: how it is started, asked, watched and ended."""

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import IO, Any, Self

from vigil.model import ids
from vigil_kinds.http_json import worker


class Watchdog:
    """A timer that kills a process which is late; `late` says that it did."""

    def __init__(self, process: subprocess.Popen[bytes], wall: ids.Seconds) -> None:
        self.late = False
        self._process = process
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(wall, self._kill)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
        self._timer.cancel()

    def _kill(self) -> None:
        with self._lock:
            if not self._over:
                self.late = True
                self._process.kill()


class Process:
    """One process; `ended` is its return code, None until it is known to have ended."""

    def __init__(self) -> None:
        self.ended: int | None = None
        self._process = subprocess.Popen(  # noqa: S603 - the command is this interpreter and a file of this package
            [sys.executable, "-I", worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def runs(self) -> bool:
        """Whether the process has not ended by now."""
        return self._process.poll() is None

    def watched(self, wall: ids.Seconds) -> Watchdog:
        """Kill the process after so many seconds, unless the block is over by then."""
        return Watchdog(self._process, wall)

    def ask(self, request: Mapping[str, Any]) -> bool:
        """Send a request; false if the process has ended before it took it."""
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        try:
            _opened(self._process.stdin).write(line)
            _opened(self._process.stdin).flush()
        except OSError:
            self.end()
            return False
        return True

    def answer(self) -> Mapping[str, Any] | None:
        """The next answer, or None when the process has ended."""
        line = _opened(self._process.stdout).readline()
        if not line.endswith(b"\n"):
            self.end()
            return None
        answer: Mapping[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End the process if it runs, and reap it."""
        if self.ended is not None:
            return
        self._process.kill()
        self.ended = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                _opened(pipe).close()


def _opened(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise TypeError("the pipe was not asked for")
    return pipe
