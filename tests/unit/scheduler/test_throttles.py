"""Failures of a whole group, and throttles: whose they are, and what they hold."""

import pytest

from tests.unit import gauges
from tests.unit.scheduler.office import Office
from vigil.model import failures
from vigil.tick import enrolment

Category = failures.Category


async def test_a_failure_of_a_whole_group_of_several_watches_is_shared_and_nobodys_error() -> None:
    office = Office()
    office.provider.fails = lambda _: failures.Failure(Category.TRANSIENT, "503")
    async with office.open():
        await office.enrol(gauges.watch("a"), gauges.watch("b", uid="w2"))
        for uid, name in (("w1", "a"), ("w2", "b")):
            of = office.known(uid).current.reading[gauges.subject_id(name)]
            assert isinstance(of, failures.Failure)
            assert of.shared
            assert office.known(uid).state.subject(gauges.subject_id(name)).errors == 0


async def test_a_failure_of_the_only_watch_of_a_group_is_its_own() -> None:
    office = Office()
    office.provider.fails = lambda _: failures.Failure(Category.TRANSIENT, "503")
    async with office.open():
        await office.enrol(gauges.watch("a", "b"))
        assert office.known().state.subject(gauges.subject_id("a")).errors == 1


@pytest.mark.parametrize("category", ["auth", "not_found"])
async def test_a_failure_that_does_not_heal_is_never_shared(category: str) -> None:
    office = Office()
    office.provider.fails = lambda _: failures.Failure(Category(category), "401")
    async with office.open():
        await office.enrol(gauges.watch("a"), gauges.watch("b", uid="w2"))
        of = office.known().current.reading[gauges.subject_id("a")]
        assert isinstance(of, failures.Failure)
        assert not of.shared


async def test_a_group_in_which_one_subject_was_read_shares_no_failure() -> None:
    office = Office()
    office.provider.show("a")
    office.provider.show("b", category="transient")
    async with office.open():
        await office.enrol(gauges.watch("a"), gauges.watch("b", uid="w2"))
        assert office.known("w2").state.subject(gauges.subject_id("b")).errors == 1


async def test_a_throttle_holds_the_whole_account_until_retry_after_and_is_nobodys_error() -> None:
    office = Office()
    office.provider.show("a", category="throttled", retryAfter=300)
    office.provider.show("b")
    async with office.open():
        await office.enrol(gauges.watch("a", hall="north"))
        await office.enrol(gauges.watch("b", uid="w2", hall="south"))
        assert office.asked() == [["a"]]
        assert office.category("b", "w2") is Category.THROTTLED
        await office.clock.advance(299)
        assert office.asked() == []
        office.provider.show("a")
        await office.clock.advance(1)
        assert sorted(office.asked()) == [["a"], ["b"]]
        assert office.category("a") is None
        for uid, name in (("w1", "a"), ("w2", "b")):
            assert office.known(uid).state.subject(gauges.subject_id(name)).errors == 0


async def test_the_longest_of_several_throttles_holds() -> None:
    office = Office()
    office.provider.show("a", category="throttled", retryAfter=300)
    office.provider.show("b", category="throttled", retryAfter=30)
    async with office.open():
        await office.enrol(gauges.watch("a"), gauges.watch("b", uid="w2"))
        office.asked()
        await office.clock.advance(299)
        assert office.asked() == []
        await office.clock.advance(1)
        assert office.asked() == [["a", "b"]]


async def test_a_throttle_of_one_account_holds_no_other() -> None:
    office = Office()
    office.provider.show("a", category="throttled", retryAfter=300)
    office.provider.show("b")
    async with office.open():
        await office.enrol(gauges.watch("a", token="one"), gauges.watch("b", uid="w2", token="two"))
        assert office.category("b", "w2") is None


async def test_a_throttle_that_names_no_time_holds_for_a_minute() -> None:
    office = Office()
    office.provider.show("a", category="throttled")
    async with office.open():
        await office.enrol(gauges.watch("a", cadence=enrolment.Cadence(interval=10)))
        office.asked()
        await office.clock.advance(59)
        assert office.asked() == []
        await office.clock.advance(11)
        assert office.asked() == [["a"]]


async def test_a_throttle_between_two_chunks_spares_the_rest_their_requests() -> None:
    office = Office()
    for name in "abcdefgh":
        office.provider.show(name)
    office.provider.show("a", category="throttled", retryAfter=60)
    async with office.open():
        await office.enrol(gauges.watch(*"abcdefgh"))
        assert office.asked() == [["a", "b", "c", "d"]]
        assert (office.category("b"), office.category("e")) == (None, Category.THROTTLED)
