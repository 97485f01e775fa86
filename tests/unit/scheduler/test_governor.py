"""The governor of a credential: an allowance lasts until its reset, and nobody is starved for it."""

import itertools
from typing import Any

import pytest

from tests.unit import clock, gauges
from tests.unit.scheduler.office import Office
from vigil import ports
from vigil.kind import api
from vigil.model import ids, limits
from vigil.scheduler import governor
from vigil.tick import memory

NOW = 1_000_000.0
HOUR = 3600.0


def quota(remaining: int, cost: float = 1.0, resource: str = "core", resets_in: float = HOUR) -> api.Quota:
    """What a provider says of 5,000 an hour."""
    return api.Quota(resource, 5000, remaining, NOW + resets_in, cost)


def governed(remaining: int, subjects: int, cost: float, **more: Any) -> governor.Governor:
    """A governor after one read of so many subjects that cost so much in all."""
    made = governor.Governor()
    made.report(quota(remaining, cost, **more))
    made.read([ids.SubjectId(f"s{number}") for number in range(subjects)], NOW)
    return made


@pytest.mark.parametrize(
    ("remaining", "subjects", "cost", "interval"),
    [
        # 4,500 are to be used in an hour: a round of 1,000 fits 4.5 times.
        (5000, 1000, 1000.0, 800.0),
        (5000, 1000, 40.0, 32.0),
        (2750, 1000, 1000.0, 1600.0),
        # Less is left than a round and the reserve take: the rest of the hour is waited for.
        (1000, 1000, 1000.0, HOUR),
        (0, 1, 1.0, HOUR),
    ],
)
def test_what_is_left_less_the_reserve_is_spread_over_the_time_until_the_reset(
    remaining: int, subjects: int, cost: float, interval: float
) -> None:
    assert governed(remaining, subjects, cost).interval(NOW) == pytest.approx(interval)


def test_a_reset_in_the_past_means_that_all_of_it_is_there_again() -> None:
    assert governed(0, 10, 10.0).interval(NOW + HOUR) == 0.0


def test_nothing_is_short_before_anything_was_said() -> None:
    made = governor.Governor()
    made.read([ids.SubjectId("a")], NOW)
    assert made.interval(NOW) == 0.0


def test_the_tightest_resource_counts() -> None:
    made = governed(5000, 100, 1.0)
    made.report(quota(600, 100.0, "graphql"))
    made.read([ids.SubjectId(f"s{number}") for number in range(100)], NOW)
    assert made.interval(NOW) == HOUR


def test_what_others_use_of_it_is_followed() -> None:
    made = governed(5000, 1000, 1000.0)
    before = made.interval(NOW)
    made.report(quota(2000, 1000.0))
    made.read([ids.SubjectId(f"s{number}") for number in range(1000)], NOW)
    assert made.interval(NOW) == pytest.approx(HOUR * 1000 / 1500)
    assert made.interval(NOW) > before


def test_what_is_read_no_more_counts_no_more() -> None:
    made = governed(5000, 1000, 1000.0)
    later = NOW + governor.REMEMBERED + 1
    made.report(api.Quota("core", 5000, 5000, later + HOUR, 1.0))
    made.read([ids.SubjectId("s0")], later)
    assert made.interval(later) == pytest.approx(HOUR * 0.7 / 4500 + HOUR * 0.3 / 4500)


def test_a_clock_that_steps_back_makes_no_interval_longer_than_the_rest_of_the_period() -> None:
    made = governed(5000, 1000, 1000.0)
    assert made.interval(NOW - 60) == pytest.approx((HOUR + 60) * 1000 / 4500)


class Account:
    """A provider's account of 5,000 an hour, at a cost of one a subject."""

    def __init__(self, office: Office) -> None:
        self.office = office
        self.began = clock.START
        self.spent = 0
        self.lowest = 5000
        self.reads: dict[str, list[float]] = {}

    def told(self, names: list[str]) -> dict[str, Any]:
        now = self.office.clock.now()
        if now >= self.began + HOUR:
            self.began, self.spent = now, 0
        self.spent += len(names)
        self.lowest = min(self.lowest, 5000 - self.spent)
        for name in names:
            self.reads.setdefault(name, []).append(now)
        return {
            "resource": "core",
            "limit": 5000,
            "remaining": 5000 - self.spent,
            "resets_at": self.began + HOUR,
            "cost": len(names),
        }


async def test_a_thousand_watches_of_one_account_are_all_read_as_often_as_its_allowance_lets_them() -> None:
    office = Office(spread=0.0)
    account = Account(office)
    office.provider.quota = account.told
    async with office.open():
        for number in range(1000):
            office.scheduler.enrol(gauges.watch(f"g{number}", uid=f"w{number}"), memory.Stored())
        for _ in range(120):
            await office.clock.advance(60.0)
    gaps = [b - a for times in account.reads.values() for a, b in itertools.pairwise(times)]
    assert len(account.reads) == 1000
    assert account.lowest >= 500 - 40
    assert max(gaps) <= 1.5 * 800
    assert min(map(len, account.reads.values())) >= 7


async def test_a_stretched_cadence_is_told_once_and_its_end_too() -> None:
    office = Office()
    office.provider.show("a")
    said = {"resource": "core", "limit": 5000, "remaining": 520, "resets_at": clock.START + HOUR, "cost": 1}
    office.provider.quota = lambda names: said
    async with office.open():
        await office.enrol(gauges.watch("a"))
        assert office.known().current.paced == pytest.approx(180.0)
        await office.clock.advance(900)
        assert office.known().current.paced == pytest.approx(180.0)
        assert len(office.asked()) == 6
        assert len(office.store.saved) == 1
        await office.clock.advance(900)
        assert office.known().current.paced is None
    assert [one.paced for one in office.records(ports.PacedChanged)] == [True, False]
    assert len(office.store.saved) == 2


async def test_the_last_read_at_the_end_of_a_lifetime_does_not_wait_for_a_stretched_cadence() -> None:
    office = Office()
    office.provider.show("a")
    said = {"resource": "core", "limit": 5000, "remaining": 501, "resets_at": clock.START + HOUR, "cost": 1}
    office.provider.quota = lambda names: said
    budgets = limits.Budgets(lifetime=1200.0)
    async with office.open():
        await office.enrol(gauges.watch("a", limits=limits.Limits(budgets=budgets)))
        await office.clock.advance(1199)
        assert len(office.asked()) == 1
        await office.clock.advance(2)
        assert len(office.asked()) == 1
        assert office.known().state.ended == "lifetime"


async def test_a_poke_does_not_wait_for_a_stretched_cadence() -> None:
    office = Office()
    said = {"resource": "core", "limit": 5000, "remaining": 501, "resets_at": clock.START + HOUR, "cost": 1}
    office.provider.quota = lambda names: said
    async with office.open():
        await office.enrol(gauges.watch("a"))
        await office.clock.advance(600)
        office.asked()
        office.scheduler.poke(ids.WatchUid("w1"))
        await clock.idle()
        assert office.asked() == [["a"]]
