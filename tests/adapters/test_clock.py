"""The clock of the machine."""

import asyncio
import datetime

from vigil import ports
from vigil.adapters import clock


def test_now_is_the_time_of_the_epoch_in_utc() -> None:
    before = datetime.datetime.now(datetime.UTC).timestamp()
    now = clock.SystemClock().now()
    assert before <= now <= datetime.datetime.now(datetime.UTC).timestamp()


def test_monotonic_never_steps_back() -> None:
    machine: ports.Clock = clock.SystemClock()
    readings = [machine.monotonic() for _ in range(100)]
    assert readings == sorted(readings)


async def test_sleep_waits_at_least_so_long() -> None:
    machine = clock.SystemClock()
    start = machine.monotonic()
    await machine.sleep(0.02)
    assert machine.monotonic() - start >= 0.015


async def test_a_sleep_of_nothing_or_less_only_yields_to_others() -> None:
    seen: list[str] = []
    other = asyncio.create_task(_note(seen))
    await clock.SystemClock().sleep(-5)
    assert seen == ["ran"]
    await other


async def _note(seen: list[str]) -> None:
    seen.append("ran")
