"""The annotation `vigil.dev/reset`: a new value clears memory."""

from tests.unit.decision import story
from tests.unit.decision.story import HOUR, LOST, UNIT, Claim, End, Story, Tick, see, tell
from vigil.decision import rearm
from vigil.model import limits

NEWS = story.policy(coalesce_window=0.0)
WAKE = "wake undelayed: red:unit"


def test_it_makes_what_is_open_news_with_another_id() -> None:
    told = tell(Story("told", [Tick(0, see(UNIT), WAKE)], NEWS))
    cleared = rearm.reset(tell(Story("done", [End()], NEWS), told), "1")
    again = tell(Story("again", [Tick(60, see(UNIT), WAKE)], NEWS), cleared)
    assert told.in_flight is not None
    assert again.in_flight is not None
    assert told.in_flight.id != again.in_flight.id


def test_it_clears_what_was_spent_and_the_end() -> None:
    under = limits.Limits(limits.Policy(coalesce_window=0.0), limits.Budgets(turns=1))
    spent = tell(Story("spent", [Tick(0, see(UNIT), WAKE), End(), Tick(60, see(UNIT), "stop turns"), End()], under))
    tell(Story("again", [Tick(120, see(UNIT), WAKE)], under), rearm.reset(spent, "1"))


def test_a_value_that_is_known_or_none_changes_nothing() -> None:
    state = tell(Story("told", [Tick(0, see(UNIT), WAKE), End()], NEWS))
    cleared = rearm.reset(state, "1")
    assert rearm.reset(state, "") is state
    assert rearm.reset(cleared, "1") is cleared
    assert rearm.reset(cleared, "2") is not cleared


def test_a_wake_that_a_session_has_goes_on_and_stamps_nothing() -> None:
    claimed = tell(Story("claimed", [Tick(0, see(UNIT), WAKE), Claim()], NEWS))
    cleared = rearm.reset(claimed, "1")
    steps: list[story.Step] = [Tick(60, see(UNIT), "quiet in-flight"), End(), Tick(120, see(UNIT), WAKE)]
    assert tell(Story("goes on", steps, NEWS), cleared).spent.turns == 1


def test_a_wake_that_nobody_has_goes_on_as_it_is() -> None:
    cleared = rearm.reset(tell(Story("queued", [Tick(0, see(UNIT), WAKE)], NEWS)), "1")
    state = tell(
        Story("told", [Tick(60, see(UNIT), "quiet in-flight"), End(), Tick(HOUR, see(UNIT), "quiet handled")], NEWS),
        cleared,
    )
    assert story.stamps(state) == {"red:unit": 0}
    lost = tell(Story("lost", [Tick(60, see(UNIT), "quiet in-flight"), Claim(), End(LOST)], NEWS), cleared)
    assert story.window(lost) == {"red:unit": 0}
