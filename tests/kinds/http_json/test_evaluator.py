"""The limits of an evaluation hold: time, memory, processes; and what is not at fault is evaluated all the same."""

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures

import pytest

from vigil.model import failures
from vigil_kinds.http_json import evaluator, worker

LIST = evaluator.State(body=list(range(2000)), status=200, now=0.0)
NESTED = "body.all(a, body.all(b, body.all(c, a + b + c >= 0)))"
"""Eight thousand million steps over a list of 2,000: an hour of CPU time."""
PLENTY = evaluator.Limits(each=60, all=60, wall=60)


@pytest.fixture
def pool() -> Iterator[evaluator.Evaluator]:
    """A pool with the default limits of CPU time, on however busy a machine; closed at the end."""
    made = evaluator.Evaluator(evaluator.Limits(wall=60))
    yield made
    made.close()


def truths(**sources: str) -> list[evaluator.Expression]:
    """Expressions that give true or false, by name."""
    return [evaluator.Expression(name, source, worker.Shape.TRUTH) for name, source in sources.items()]


def problem(answers: Mapping[str, evaluator.Answer], name: str) -> evaluator.Problem:
    """The answer of this name, which has to be a problem."""
    answer = answers[name]
    assert isinstance(answer, evaluator.Problem)
    return answer


def test_an_expression_that_takes_too_long_is_ended_and_named_and_the_others_are_evaluated(
    pool: evaluator.Evaluator,
) -> None:
    answers = pool.evaluate(LIST, truths(before="true", hog=NESTED, after="size(body) == 2000"))
    assert answers["before"] is True
    assert answers["after"] is True
    assert problem(answers, "hog") == evaluator.Problem(
        failures.Category.TIMEOUT, "it needs more than 0.5 s of CPU time"
    )


def test_the_process_of_an_expression_that_takes_too_long_is_gone(pool: evaluator.Evaluator) -> None:
    pool.evaluate(LIST, truths(first="true"))
    (used,) = pool.idle
    pool.evaluate(LIST, truths(hog=NESTED))
    assert used not in pool.idle
    with pytest.raises(ProcessLookupError):
        os.kill(used, 0)


def test_after_as_many_processes_as_are_allowed_the_rest_is_not_evaluated() -> None:
    pool = evaluator.Evaluator(evaluator.Limits(each=0.1, wall=60, processes=2))
    extra = evaluator.Expression("extra", "'a'", worker.Shape.TEXT, condition="late")
    answers = pool.evaluate(LIST, [*truths(one=NESTED, early="true", two=NESTED, late="true"), extra])
    pool.close()
    assert answers["early"] is True
    assert {name: problem(answers, name).category for name in ("one", "two", "late")} == dict.fromkeys(
        ("one", "two", "late"), failures.Category.TIMEOUT
    )
    assert "not evaluated" in problem(answers, "late").sentence
    assert "extra" not in answers


def test_many_expressions_that_are_each_fast_enough_are_bounded_together() -> None:
    pool = evaluator.Evaluator(evaluator.Limits(each=60, all=0.2, wall=60, processes=2))
    cheap = {f"cheap-{index}": "body.all(a, body.all(b, b >= 0) || true)" for index in range(100)}
    answers = pool.evaluate(evaluator.State(list(range(250)), 200, 0.0), truths(**cheap))
    pool.close()
    unevaluated = [name for name, one in answers.items() if isinstance(one, evaluator.Problem)]
    assert answers["cheap-0"] is True
    assert 0 < len(unevaluated) < 100
    assert len(answers) == 100
    assert {problem(answers, name).category for name in unevaluated} == {failures.Category.TIMEOUT}


def test_a_machine_that_gives_no_time_is_a_timeout_and_no_endless_wait() -> None:
    pool = evaluator.Evaluator(evaluator.Limits(each=60, all=60, wall=0.3))
    answers = pool.evaluate(LIST, truths(hog=NESTED, after="true"))
    assert pool.idle == []
    assert problem(answers, "hog").category is failures.Category.TIMEOUT
    assert "0.3 s" in problem(answers, "after").sentence


def test_an_expression_that_needs_too_much_memory_ends_its_process_only() -> None:
    pool = evaluator.Evaluator(PLENTY)
    state = evaluator.State("x" * 900_000, 200, 0.0)
    answers = pool.evaluate(state, truths(hog="lists.range(400).map(a, body + body).size() > 0", after="true"))
    pool.close()
    assert answers["after"] is True
    assert problem(answers, "hog").category is failures.Category.TOO_LARGE
    assert "256 MiB" in problem(answers, "hog").sentence


def test_a_process_that_ended_while_it_was_idle_is_replaced(pool: evaluator.Evaluator) -> None:
    pool.evaluate(LIST, truths(a="true"))
    (idle,) = pool.idle
    os.kill(idle, signal.SIGKILL)
    os.waitid(os.P_PID, idle, os.WEXITED | os.WNOWAIT)
    assert pool.evaluate(LIST, truths(a="true")) == {"a": True}
    assert pool.idle != [idle]


def test_a_process_is_used_again(pool: evaluator.Evaluator) -> None:
    pool.evaluate(LIST, truths(a="true"))
    used = pool.idle
    pool.evaluate(LIST, truths(a="true"))
    assert pool.idle == used


def test_one_evaluation_knows_nothing_of_the_one_before(pool: evaluator.Evaluator) -> None:
    pool.evaluate(evaluator.State({"secret": 1}, 200, 0.0), truths(a="has(body.secret)"))
    assert pool.evaluate(evaluator.State({}, 200, 0.0), truths(a="has(body.secret)")) == {"a": False}


def test_no_more_processes_run_than_the_pool_has_places() -> None:
    pool = evaluator.Evaluator(PLENTY, workers=2)
    started = threading.Barrier(8)

    def evaluate(index: int) -> bool:
        started.wait()
        return pool.evaluate(evaluator.State(index, 200, 0.0), truths(a=f"body == {index}")) == {"a": True}

    with futures.ThreadPoolExecutor(8) as threads:
        assert all(threads.map(evaluate, range(8)))
    assert 1 <= len(pool.idle) <= 2
    pool.close()


def test_a_closed_pool_has_no_process_left(pool: evaluator.Evaluator) -> None:
    pool.evaluate(LIST, truths(a="true"))
    (used,) = pool.idle
    pool.close()
    with pytest.raises(ProcessLookupError):
        os.kill(used, 0)


async def test_the_event_loop_runs_while_an_expression_is_evaluated(pool: evaluator.Evaluator) -> None:
    evaluating = asyncio.create_task(asyncio.to_thread(pool.evaluate, LIST, truths(hog=NESTED)))
    turns = 0
    while not evaluating.done():
        await asyncio.wait({evaluating}, timeout=0.01)
        turns += 1
    assert problem(await evaluating, "hog").category is failures.Category.TIMEOUT
    assert turns > 5


def test_a_worker_inherits_no_secret_and_imports_nothing_of_vigil(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIGIL_TEST_SECRET", "s3cret")
    pool = evaluator.Evaluator(PLENTY)
    pool.evaluate(LIST, truths(a="true"))
    (used,) = pool.idle
    with open(f"/proc/{used}/environ", "rb") as environment:
        assert environment.read() == b""
    pool.close()
    shown = "import runpy, sys; runpy.run_path(sys.argv[1]); print(*(name for name in sys.modules if 'vigil' in name))"
    ran = subprocess.run([sys.executable, "-I", "-c", shown, worker.__file__], capture_output=True, check=True)
    assert ran.stdout.strip() == b""


@pytest.mark.parametrize(
    ("shape", "source", "value"),
    [
        (worker.Shape.TRUTH, "1 == 1.0", True),
        (worker.Shape.COUNT, "true", 1),
        (worker.Shape.COUNT, "[1, 2].size()", 2),
        (worker.Shape.NAME, "81", "81"),
        (worker.Shape.NAME, "true", "true"),
        (worker.Shape.TEXT, "1.5", "1.5"),
        (worker.Shape.DIGEST, "{'b': 1, 'a': [2]}", hashlib.sha256(b'{"a":[2],"b":1}').hexdigest()[:32]),
        (worker.Shape.DIGEST, "now", hashlib.sha256(b'"1970-01-01T00:00:00+00:00"').hexdigest()[:32]),
    ],
)
def test_a_value_is_given_in_the_shape_that_is_wanted(
    pool: evaluator.Evaluator, shape: worker.Shape, source: str, value: evaluator.Answer
) -> None:
    assert pool.evaluate(LIST, [evaluator.Expression("a", source, shape)]) == {"a": value}


@pytest.mark.parametrize(
    ("shape", "source", "said"),
    [
        (worker.Shape.TRUTH, "1", "it gives a whole number, and true or false is wanted"),
        (worker.Shape.TRUTH, "null", "it gives null, and true or false is wanted"),
        (worker.Shape.TRUTH, "'true'", "it gives a string, and true or false is wanted"),
        (worker.Shape.COUNT, "-1", "it gives a whole number, and a count from 0 to 1000000 is wanted"),
        (worker.Shape.COUNT, "1.0", "it gives a fraction, and a count from 0 to 1000000 is wanted"),
        (worker.Shape.NAME, "1.5", "it gives a fraction, and a string is wanted"),
        (worker.Shape.NAME, "null", "it gives null, and a string is wanted"),
        (worker.Shape.TEXT, "[1]", "it gives a list, and a string is wanted"),
        (worker.Shape.TRUTH, "body.open == 1", "there is no field 'open'"),
        (worker.Shape.TRUTH, "body[9] == 1", "index out of bounds: 9"),
        (worker.Shape.TRUTH, "string(body) == ''", "string does not take a value of this kind"),
        (worker.Shape.TRUTH, "1 / 0 == 1", "division by zero in CEL expression"),
    ],
)
def test_an_expression_without_an_answer_says_why(
    pool: evaluator.Evaluator, shape: worker.Shape, source: str, said: str
) -> None:
    state = evaluator.State([] if "[9]" in source or "string" in source else {}, 200, 0.0)
    answers = pool.evaluate(state, [evaluator.Expression("a", source, shape)])
    assert problem(answers, "a") == evaluator.Problem(failures.Category.MALFORMED, said)


def test_a_long_name_becomes_a_digest_and_a_long_text_is_cut(pool: evaluator.Evaluator) -> None:
    state = evaluator.State("x" * 5000, 200, 0.0)
    shapes = (worker.Shape.NAME, worker.Shape.TEXT)
    answers = pool.evaluate(state, [evaluator.Expression(shape, "body", shape) for shape in shapes])
    assert len(str(answers["name"])) == 32
    assert answers["text"] == "x" * worker.TEXT_LIMIT


def test_what_has_a_condition_is_evaluated_only_where_that_gives_true(pool: evaluator.Evaluator) -> None:
    extra = [evaluator.Expression(f"of-{name}", "'a'", worker.Shape.TEXT, condition=name) for name in "abc"]
    answers = pool.evaluate(LIST, [*truths(a="true", b="false", c="body.x"), *extra])
    assert {name for name in answers if name.startswith("of-")} == {"of-a"}


def test_a_document_that_cel_has_no_place_for_is_a_problem_of_every_expression(pool: evaluator.Evaluator) -> None:
    answers = pool.evaluate(evaluator.State(10**400, 200, 0.0), truths(a="true", b="true"))
    assert {problem(answers, name).category for name in "ab"} == {failures.Category.MALFORMED}
