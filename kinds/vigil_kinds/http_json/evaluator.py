"""A small pool of worker processes that evaluate expressions, with limits that hold.

Pure to its caller: the answers are a function of the document, the time and the expressions, and no worker remembers
one request at the next. It blocks, is safe to use from many threads, starts a worker when it is first needed, replaces
one that ended, and closes at exit.
"""

import atexit
import contextlib
import dataclasses
import functools
import signal
import threading
from collections.abc import Generator, Mapping, Sequence, Set
from typing import Any, Final, TypeAlias

from vigil.model import failures, ids
from vigil_kinds.http_json import process, worker


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """One expression to evaluate; with a condition, the name of an earlier one, only where that one gave true."""

    name: str
    source: str
    shape: worker.Shape
    condition: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """Why an expression gave no value."""

    category: failures.Category
    sentence: str


Answer: TypeAlias = bool | int | str | Problem


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """What the expressions are about: the variables `body`, `status` and `now`."""

    body: Any
    status: int
    now: ids.Instant


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """What one evaluation may use.

    `each` and `all` are seconds of CPU time, of one expression and of all of them in one process. `wall` is in seconds,
    for a machine that gives no CPU time. `processes` is how many may be spent: after one that ended, the rest is
    evaluated in the next.
    """

    each: ids.Seconds = 0.5
    all: ids.Seconds = 2.0
    wall: ids.Seconds = 6.0
    processes: int = 3


class Evaluator:
    """A pool of at most `workers` processes."""

    def __init__(self, limits: Limits = Limits(), workers: int = 2) -> None:
        self._limits = limits
        self._slots = threading.BoundedSemaphore(workers)
        self._lock = threading.Lock()
        self._idle: list[process.Process] = []

    def evaluate(self, state: State, expressions: Sequence[Expression]) -> Mapping[str, Answer]:
        """The answers by name; without those whose condition did not give true."""
        job = _Job(state, expressions, self._limits)
        with self._slots:
            for _ in range(self._limits.processes):
                if not job.left:
                    break
                with self._worker(job) as used:
                    if used is not None:
                        job.run(used)
        job.give_up()
        return job.answers

    @property
    def idle(self) -> Sequence[int]:
        """The process ids of the workers that wait for work."""
        with self._lock:
            return [one.pid for one in self._idle]

    def close(self) -> None:
        """End the processes that are idle; the pool can still be used, and then starts others."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.end()

    @contextlib.contextmanager
    def _worker(self, job: "_Job") -> Generator[process.Process | None]:
        try:
            used = self._take() or process.Process()
        except OSError as error:
            job.stop(
                Problem(failures.Category.TRANSIENT, f"no process could be started to evaluate it: {error.strerror}")
            )
            yield None
            return
        try:
            yield used
        except BaseException:
            used.end()
            raise
        if used.ended is None:
            with self._lock:
                self._idle.append(used)

    def _take(self) -> process.Process | None:
        """An idle process; one that ended meanwhile is reaped and passed over."""
        with self._lock:
            while self._idle:
                used = self._idle.pop()
                if used.runs():
                    return used
                used.end()
        return None


@functools.cache
def shared() -> Evaluator:
    """The pool of this process; it is closed at exit."""
    pool = Evaluator()
    atexit.register(pool.close)
    return pool


_EXHAUSTED: Final = Problem(failures.Category.TIMEOUT, "it was not evaluated: the ones before it took too long")
_STILL: Final = "the machine gave it no time"


class _Job:
    """One evaluation: what was answered and what is left."""

    def __init__(self, state: State, expressions: Sequence[Expression], limits: Limits) -> None:
        self._state = state
        self._limits = limits
        self._final = _EXHAUSTED
        self.left = list(expressions)
        self.answers: dict[str, Answer] = {}

    def run(self, used: process.Process) -> None:
        """Evaluate what is left in this process, as far as it comes."""
        answered = 0
        with used.watched(self._limits.wall) as watch:
            asked = used.ask(self._request())
            while asked and self.left and (answer := used.answer()) is not None:
                self._take(answer)
                answered += 1
        if watch.late:
            used.end()
            self.stop(Problem(failures.Category.TIMEOUT, f"{_STILL} within {self._limits.wall:g} s"))
        elif asked and used.ended is not None:
            self._blame(used.ended, answered)

    def stop(self, problem: Problem) -> None:
        """Leave the rest unevaluated, for this reason."""
        self._final = problem
        self.give_up()

    def give_up(self) -> None:
        """Answer what is left: nothing that could still hold is passed over in silence."""
        self.answers |= {
            one.name: self._final for one in self.left if not one.condition or one.condition in self._known
        }
        self.left = []

    @property
    def _known(self) -> Set[str]:
        return {name for name, answer in self.answers.items() if answer is True}

    def _request(self) -> Mapping[str, Any]:
        return {
            "body": self._state.body,
            "status": self._state.status,
            "now": self._state.now,
            "each": self._limits.each,
            "all": self._limits.all,
            "known": sorted(self._known),
            "expressions": [(one.name, one.source, one.shape, one.condition) for one in self.left],
        }

    def _take(self, answer: Mapping[str, Any]) -> None:
        asked = self.left.pop(0)
        if "value" in answer:
            self.answers[asked.name] = answer["value"]
        elif "error" in answer:
            self.answers[asked.name] = Problem(failures.Category.MALFORMED, answer["error"])

    def _blame(self, ended: int, answered: int) -> None:
        """Name the expression at which the process ended, unless others before it took the time of all."""
        if self.left and not (ended == -signal.SIGPROF and answered):
            self.answers[self.left.pop(0).name] = self._problem(ended)

    def _problem(self, ended: int) -> Problem:
        match -ended:
            case signal.SIGVTALRM:
                return Problem(failures.Category.TIMEOUT, f"it needs more than {self._limits.each:g} s of CPU time")
            case signal.SIGPROF:
                return Problem(failures.Category.TIMEOUT, f"it needs more than {self._limits.all:g} s of CPU time")
            case number if number > 0:
                bound = worker.MEMORY // 1024 // 1024
                return Problem(failures.Category.TOO_LARGE, f"it ended its process: it may need more than {bound} MiB")
            case _:
                return Problem(failures.Category.UNKNOWN, "the process that evaluates it failed")
