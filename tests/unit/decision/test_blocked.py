"""A failure that retrying does not heal is told once, by a notice that is no verdict and gives way to any."""

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import LOST, MERGED, MINUTE, UNIT, Claim, End, Story, Tick, failed, partly, see, tell
from vigil.decision import flight, rearm
from vigil.model import ids, states, wakes

AUTH = failed("auth")
NEWS = story.policy(coalesce_window=0.0)


def notice(state: states.State) -> bool:
    """Whether the notice is in flight."""
    flown = state.in_flight
    return flown is not None and (flown.current.type, flown.current.reason) == (wakes.WakeType.NOTICE, flight.BLOCKED)


@pytest.mark.parametrize("category", ["auth", "auth_sso", "forbidden", "not_found", "moved", "config"])
def test_each_failure_that_does_not_heal_is_told(category: str) -> None:
    assert notice(tell(Story("told", [Tick(0, failed(category), "quiet unreadable")])))


@pytest.mark.parametrize("category", ["throttled", "transient", "timeout", "malformed", "tls", "unknown"])
def test_what_may_heal_is_not(category: str) -> None:
    verdict = "quiet throttled" if category == "throttled" else "quiet unreadable"
    assert tell(Story("not told", [Tick(0, failed(category), verdict)])).in_flight is None


def test_the_error_of_a_partial_read_is_told_too() -> None:
    assert notice(tell(Story("told", [Tick(0, partly(error=AUTH), "quiet incomplete")])))


def test_it_is_told_once_and_costs_no_turn() -> None:
    steps: list[story.Step] = [Tick(0, AUTH, "quiet unreadable"), Claim(), End(), Tick(600, AUTH, "quiet unreadable")]
    state = tell(Story("once", steps))
    assert state.in_flight is None
    assert state.spent.turns == 0
    assert state.blocked == states.Blocked(0, told=True)


def test_one_that_is_lost_is_offered_again() -> None:
    state = tell(
        Story("lost", [Tick(0, AUTH, "quiet unreadable"), Claim(), End(LOST), Tick(600, AUTH, "quiet unreadable")])
    )
    assert notice(state)


def test_another_kind_of_failure_between_is_the_same_spell() -> None:
    steps: list[story.Step] = [
        Tick(0, AUTH, "quiet unreadable"),
        End(),
        Tick(600, failed(), "quiet unreadable"),
        Tick(1200, AUTH, "quiet unreadable"),
    ]
    assert tell(Story("one spell", steps)).in_flight is None


def test_a_read_ends_the_spell_and_takes_an_unclaimed_notice_back() -> None:
    state = tell(Story("read", [Tick(0, AUTH, "quiet unreadable"), Tick(600, see(), "quiet nothing-open")]))
    assert state.in_flight is None
    assert state.blocked is None
    assert notice(tell(Story("again", [Tick(1200, AUTH, "quiet unreadable")]), state))


def test_news_of_another_subject_takes_its_place_and_it_is_offered_again() -> None:
    both: story.Reading = {"a": AUTH, "b": see(UNIT)}
    steps: list[story.Step] = [
        Tick(0, {"a": AUTH, "b": see()}, "quiet unreadable"),
        Tick(60, both, "wake undelayed: b#red:unit"),
        End(),
        Tick(120, both, "quiet unreadable"),
    ]
    state = tell(Story("gives way", steps, NEWS))
    assert notice(state)
    assert story.stamps(state) == {"b#red:unit": 60}


def test_a_window_is_waited_for() -> None:
    both: story.Reading = {"a": AUTH, "b": see(UNIT)}
    assert tell(Story("window", [Tick(0, both, "quiet unreadable")])).in_flight is None


def test_an_end_and_a_stop_take_an_unclaimed_notice_over() -> None:
    steps: list[story.Step] = [
        Tick(0, {"a": AUTH, "b": see()}, "quiet unreadable"),
        Tick(60, {"a": AUTH, "b": see(MERGED)}, "terminal succeeded: b#merged"),
    ]
    assert story.present(tell(Story("an end", steps))) == {"b#merged"}
    stopped: list[story.Step] = [Tick(0, AUTH, "quiet unreadable"), Tick(10 * MINUTE, AUTH, "stop lifetime")]
    state = tell(Story("a stop", stopped, story.budgets(lifetime=600.0)))
    assert state.in_flight is not None
    assert state.in_flight.current.reason == "lifetime"


def test_a_claimed_notice_is_waited_for() -> None:
    steps: list[story.Step] = [
        Tick(0, {"a": AUTH, "b": see()}, "quiet unreadable"),
        Claim(),
        Tick(60, {"a": AUTH, "b": see(UNIT)}, "quiet unreadable"),
        End(),
        Tick(120, {"a": AUTH, "b": see(UNIT)}, "wake undelayed: b#red:unit"),
    ]
    tell(Story("claimed", steps, NEWS))


def test_a_new_generation_begins_another_spell() -> None:
    state = tell(Story("told", [Tick(0, AUTH, "quiet unreadable"), End()]))
    armed = rearm.rearm(state, 2, "p", [ids.SubjectId("a")], 600)
    assert notice(tell(Story("again", [Tick(600, AUTH, "quiet unreadable")]), armed))


def test_a_stall_waits_for_a_claimed_notice() -> None:
    under = story.policy(stall_ticks=1, stall_min_duration=0.0)
    steps: list[story.Step] = [
        Tick(0, AUTH, "quiet unreadable"),
        Claim(),
        Tick(60, see(), "quiet in-flight"),
        End(),
        Tick(120, see(), "stop stalled"),
    ]
    tell(Story("claimed", steps, under))
