"""When a Watch is due again: its cadence, brought forward by whatever will change by the clock alone."""

import dataclasses
from typing import Any

import pytest

from tests.unit import gauges
from tests.unit.clock import START
from vigil.model import failures, limits, observations, states, verdicts
from vigil.scheduler import due
from vigil.tick import enrolment, memory

A, B = gauges.subject_id("a"), gauges.subject_id("b")
HOUR = 3600.0
RED = verdicts.Identity(A, "red:unit", "r1")
SEEN = observations.Observation("red:unit", observations.Severity.WAKE, observations.ResetsOn.REVISION)
HELD = dataclasses.replace(SEEN, hold=observations.SETTLE)
READ = observations.ProbeResult((), "r1")
OPEN = observations.ProbeResult((SEEN,), "r1")

ENDLESS = limits.Limits(budgets=limits.Budgets(lifetime=None))


def failed(category: str, retry_after: float | None = None) -> failures.Failure:
    return failures.Failure(failures.Category(category), "no answer", retry_after)


UNTOLD = states.SubjectState("r1")


def known(
    reading: dict[Any, Any],
    memory_of: states.SubjectState = UNTOLD,
    window: float | None = None,
    under: limits.Limits = ENDLESS,
    started: float = START - HOUR,
    **changes: Any,
) -> memory.Memory:
    """A Watch of gauges after a read."""
    begun = memory.begin(gauges.watch("a", "b", limits=under, **changes), memory.Stored(), START)
    members = {} if window is None else {RED: states.Member(RED, window)}
    state = dataclasses.replace(begun.state, subjects={A: memory_of}, window=members, started=started)
    return begun.with_current(reading=reading, state=state)


def errors(row: int) -> states.SubjectState:
    return states.SubjectState("r1", errors=row)


def told(at: float) -> states.SubjectState:
    return states.SubjectState("r1", alerted={RED: states.Stamp(at, at)})


def holding(since: float) -> states.SubjectState:
    return states.SubjectState("r1", held={RED: states.Held(since, "")})


# a sentence, the Watch, for how long it is unchanged, how often in a row its provider was computing, seconds until due
Row = tuple[str, memory.Memory, float, int, float]
LONG = 2 * HOUR
ROWS: list[Row] = [
    ("what changed lately is read each interval", known({A: READ}), 0, 0, 120),
    ("what is quiet for long is read each quiet interval", known({A: READ}), 1800, 0, 600),
    ("what is quiet for a second less is not", known({A: READ}), 1799, 0, 120),
    ("what is open is read each interval, however long", known({A: OPEN}), LONG, 0, 120),
    ("what is pending is", known({A: dataclasses.replace(READ, pending=1)}), LONG, 0, 120),
    ("what is incomplete is", known({A: dataclasses.replace(READ, complete=False)}), LONG, 0, 120),
    ("one subject that is open suffices", known({A: READ, B: OPEN}), LONG, 0, 120),
    ("nothing was read yet", known({}), LONG, 0, 600),
    ("the cadence is the Watch's own", known({A: READ}, cadence=enrolment.Cadence(10, 20, 30)), 30, 0, 20),
    ("a first failure is tried again after the interval", known({A: failed("transient")}, errors(1)), LONG, 0, 120),
    ("a second one after twice that", known({A: failed("transient")}, errors(2)), LONG, 0, 240),
    ("a third one after four times that", known({A: failed("timeout")}, errors(3)), LONG, 0, 480),
    ("and never later than the quiet interval", known({A: failed("timeout")}, errors(9)), LONG, 0, 600),
    (
        "nor than the interval, where that is longer",
        known({A: failed("timeout")}, errors(9), cadence=enrolment.Cadence(900, 600)),
        LONG,
        0,
        900,
    ),
    (
        "a long quiet interval ends at eight times the interval",
        known({A: failed("timeout")}, errors(50), cadence=enrolment.Cadence(10, 600)),
        LONG,
        0,
        80,
    ),
    ("a shared failure is no reason to back off", known({A: failed("transient")}, errors(0)), LONG, 0, 120),
    ("a failure beside a success backs off", known({A: failed("transient"), B: READ}, errors(3)), LONG, 0, 480),
    ("what does not heal is read slowly", known({A: failed("not_found")}), 0, 0, 600),
    (
        "and more slowly, where the interval is longer",
        known({A: failed("auth")}, cadence=enrolment.Cadence(900, 1200)),
        0,
        0,
        900,
    ),
    ("one subject that does not heal slows the Watch down", known({A: failed("forbidden"), B: OPEN}), 0, 0, 600),
    ("a throttle is no failure", known({A: failed("throttled")}), 0, 0, 120),
    ("retry-after holds", known({A: failed("throttled", 900)}), 0, 0, 900),
    (
        "retry-after of any failure holds",
        known({A: failed("transient", 900), B: failed("throttled", 60)}, errors(1)),
        0,
        0,
        900,
    ),
    ("retry-after brings nothing forward", known({A: failed("throttled", 5)}), 0, 0, 120),
    (
        "retry-after of a part holds",
        known({A: dataclasses.replace(READ, complete=False, error=failed("throttled", 900))}),
        0,
        0,
        900,
    ),
    (
        "a part without a time does not",
        known({A: dataclasses.replace(READ, complete=False, error=failed("forbidden"))}),
        0,
        0,
        120,
    ),
    ("retry-after goes before a window", known({A: OPEN, B: failed("throttled", 900)}, window=START - 180), 0, 0, 900),
    ("a recheck brings it forward", known({A: dataclasses.replace(READ, recheck_after=7)}), 0, 1, 7),
    ("a third one in a row", known({A: dataclasses.replace(READ, recheck_after=7)}), 0, 3, 7),
    ("and no fourth", known({A: dataclasses.replace(READ, recheck_after=7)}), 0, 4, 120),
    (
        "a recheck later than the interval does not put it off",
        known({A: dataclasses.replace(READ, recheck_after=500)}),
        0,
        1,
        120,
    ),
    ("a recheck of nothing waits a second", known({A: dataclasses.replace(READ, recheck_after=0)}), 0, 1, 1),
    ("the end of the window", known({A: OPEN}, window=START - 180), 0, 0, 60),
    ("the cap of the window", known({A: OPEN}, window=START - 1750), 0, 0, 50),
    ("a window that has passed", known({A: OPEN}, window=START - 1800), 0, 0, 120),
    ("the end of a hold", known({A: observations.ProbeResult((HELD,), "r1")}, holding(START - 270)), 0, 0, 30),
    (
        "a hold of its own length",
        known({A: observations.ProbeResult((dataclasses.replace(SEEN, hold=50),), "r1")}, holding(START - 20)),
        0,
        0,
        30,
    ),
    ("a hold that was served", known({A: observations.ProbeResult((HELD,), "r1")}, holding(START - 300)), 0, 0, 120),
    (
        "a hold of what is not shown",
        known({A: dataclasses.replace(READ, complete=False)}, holding(START - 270)),
        0,
        0,
        120,
    ),
    ("a hold of a subject that was not read", known({A: failed("timeout")}, holding(START - 270)), 0, 0, 120),
    ("realertAfter of what is open", known({A: OPEN}, told(START - 6 * HOUR + 40)), 0, 0, 40),
    ("realertAfter of what is not", known({A: READ}, told(START - 6 * HOUR + 40)), 0, 0, 120),
    (
        "the end of the lifetime",
        known({A: READ}, under=limits.Limits(budgets=limits.Budgets(lifetime=HOUR + 30))),
        LONG,
        0,
        30,
    ),
    (
        "the end of the lifetime goes before retry-after",
        known({A: failed("throttled", LONG)}, under=limits.Limits(budgets=limits.Budgets(lifetime=HOUR + 30))),
        0,
        0,
        30,
    ),
    (
        "a lifetime that is over",
        known({A: READ}, under=limits.Limits(budgets=limits.Budgets(lifetime=HOUR))),
        0,
        0,
        120,
    ),
    ("nothing is due sooner than in a second", known({A: OPEN}, window=START - 239.5), 0, 0, 1),
]


@pytest.mark.parametrize(("sentence", "of", "quiet", "rechecks", "seconds"), ROWS, ids=[row[0] for row in ROWS])
def test_next_due(sentence: str, of: memory.Memory, quiet: float, rechecks: int, seconds: float) -> None:
    assert due.next_due(of, START, START - quiet, rechecks) - START == pytest.approx(seconds)
