"""The operator as it is, with a way to kill the timer of a Watch from outside: a file that holds the Watch's uid.

In kopf a failed status patch inside a timer ends that timer's task for good and without a word (nolar/kopf#642).
Vigil's timers never patch, so the task is cancelled here, which has the same end. Usage:
`python -m tests.e2e.dying_timer FILE operator`.
"""

import asyncio
import gc
import pathlib
import sys
import threading
import time
from typing import Any

from vigil import __main__ as wiring

POLL_SECONDS = 0.1


def main() -> None:
    """Run the command line, and wait for victims beside it."""
    file = pathlib.Path(sys.argv.pop(1))
    threading.Thread(target=_wait, args=(file,), daemon=True).start()
    wiring.main(prog_name="vigil")


def _wait(file: pathlib.Path) -> None:
    while True:
        if file.exists():
            uid = file.read_text()
            for task in _timers(uid):
                task.get_loop().call_soon_threadsafe(task.cancel)
            file.rename(file.with_suffix(".done"))
        time.sleep(POLL_SECONDS)


def _timers(uid: str) -> list[asyncio.Task[Any]]:
    """The tasks of kopf that run the timers of one Watch: their first frame knows the object that they are for."""
    tasks = [
        one for one in gc.get_objects() if isinstance(one, asyncio.Task) and one.get_name().startswith("runner of")
    ]
    return [task for task in tasks if _uid_of(task) == uid]


def _uid_of(task: "asyncio.Task[Any]") -> str:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return "" if frame is None else str(frame.f_locals["cause"].body.metadata.uid)


if __name__ == "__main__":
    main()
