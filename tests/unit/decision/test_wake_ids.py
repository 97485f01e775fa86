"""The id of a wake: the same news has the same one after any crash, a repeat has another."""

import dataclasses

from tests.unit.decision import story
from tests.unit.decision.story import CONFLICT, HOUR, MERGED, MINUTE, UNIT, End, Story, Tick, see
from vigil.decision import digests
from vigil.model import ids, states, verdicts

A = ids.SubjectId("a")
RED = verdicts.Identity(A, "red:unit", "r1")
LIMITS = story.policy(coalesce_window=0.0)
WAKE = "wake undelayed: red:unit"


def ids_of(*steps: story.Step, state: states.State | None = None) -> list[str]:
    """The ids of the wakes of a story, each as often as it was decided."""
    seen: list[str] = []
    now = state or states.State(story.UID)
    for step in steps:
        now = story.tell(Story("a step", [step], LIMITS), now)
        if isinstance(step, Tick) and now.in_flight is not None and not step.verdict.startswith("quiet"):
            seen.append(now.in_flight.id)
    return seen


def test_the_same_news_has_the_same_id_whenever_it_is_decided() -> None:
    assert ids_of(Tick(0, see(UNIT), WAKE)) == ids_of(Tick(999, see(UNIT), WAKE))


def test_an_id_does_not_depend_on_the_order_or_the_texts_of_the_entries() -> None:
    told = dataclasses.replace(UNIT, brief="2 minutes")
    both = "wake immediate: conflict red:unit"
    assert ids_of(Tick(0, see(UNIT, CONFLICT), both)) == ids_of(Tick(0, see(CONFLICT, told), both))


def test_other_watches_reasons_and_entries_have_other_ids() -> None:
    def name(
        told: verdicts.Identity = RED,
        reason: str = "converged",
        watch: str = "w1",
        stamp: float | None = None,
        spells: tuple[tuple[str, float], ...] = (),
        repeats: tuple[int, int] = (0, 0),
    ) -> str:
        return digests.wake_id(ids.WatchUid(watch), reason, {told: stamp}, spells, repeats)

    names = {
        name(),
        name(reason="window-cap"),
        name(watch="w2"),
        name(RED._replace(revision="r2")),
        name(RED._replace(revision=None)),
        name(RED._replace(episode="2")),
        name(RED._replace(subject=ids.SubjectId("b"))),
        name(stamp=60.0),
        name(spells=(("b", 60.0),)),
        name(repeats=(1, 0)),
        name(repeats=(0, 1)),
    }
    assert len(names) == 11


def test_a_repeat_after_realert_after_has_another_id() -> None:
    first, second = ids_of(Tick(0, see(UNIT), WAKE), End(), Tick(6 * HOUR, see(UNIT), WAKE))
    assert first != second


def test_a_repeat_of_a_lost_wake_has_another_id_each_time() -> None:
    lost: list[story.Step] = [
        Tick(0, see(UNIT), WAKE),
        End(story.LOST),
        Tick(60, see(UNIT), WAKE),
        End(story.LOST),
        Tick(120, see(UNIT), WAKE),
    ]
    assert len(set(ids_of(*lost))) == 3


def test_a_wake_that_was_taken_back_and_comes_again_has_another_id() -> None:
    first, second = ids_of(Tick(0, see(UNIT), WAKE), Tick(60, see(), "quiet nothing-open"), Tick(120, see(UNIT), WAKE))
    assert first != second


def test_news_of_a_revision_that_came_back_has_another_id_than_when_it_was_told_first() -> None:
    first, second, third = ids_of(
        Tick(0, see(UNIT), WAKE),
        End(),
        Tick(60, see(revision="r2"), "quiet nothing-open"),
        Tick(120, see(UNIT), WAKE),
        End(),
        Tick(180, see(revision="r2"), "quiet nothing-open"),
        Tick(240, see(UNIT), WAKE),
    )
    assert len({first, second, third}) == 3


def test_news_whose_memory_was_pruned_has_another_id_than_when_it_was_told_first() -> None:
    first, second = ids_of(
        Tick(0, see(UNIT), WAKE), End(), Tick(6 * HOUR, see(), "quiet nothing-open"), Tick(7 * HOUR, see(UNIT), WAKE)
    )
    assert first != second


def test_the_same_end_has_the_same_id_until_it_is_lost() -> None:
    first, again = (ids_of(Tick(at, see(MERGED), "terminal succeeded: merged")) for at in (0, 60))
    assert first == again
    lost = ids_of(
        Tick(0, see(MERGED), "terminal succeeded: merged"), End(story.LOST), Tick(60, {}, "terminal succeeded: merged")
    )
    assert len(set(lost)) == 2


def test_the_notice_of_a_second_stop_has_another_id() -> None:
    stop = story.budgets(lifetime=60)
    state = story.tell(Story("a Stop", [Tick(0, see(), "quiet nothing-open"), Tick(60, see(), "stop lifetime")], stop))
    assert state.in_flight is not None
    first = state.in_flight.id
    told = story.tell(Story("told", [End(story.NOTIFIED)], stop), state)
    armed = dataclasses.replace(told, ended=None, started=100.0)
    again = story.tell(Story("a second Stop", [Tick(160, see(), "stop lifetime")], stop), armed)
    assert again.in_flight is not None
    assert again.in_flight.id != first


def test_an_order_of_identities_has_none_of_their_order_of_reading() -> None:
    many = [
        RED,
        RED._replace(revision=None),
        RED._replace(revision=""),
        RED._replace(episode="2"),
        RED._replace(key="a"),
    ]
    backwards = list(reversed(many))
    assert sorted(many, key=digests.sort_key) == sorted(backwards, key=digests.sort_key)


def test_a_wake_of_many_minutes_later_is_still_the_one_that_was_stored() -> None:
    state = story.tell(Story("stored", [Tick(0, see(UNIT), WAKE)], LIMITS))
    later = story.tell(Story("after a crash", [Tick(30 * MINUTE, see(UNIT), "quiet in-flight")], LIMITS), state)
    assert later.in_flight == dataclasses.replace(
        state.in_flight,  # type: ignore[type-var] # a wake is in flight
        sent=later.in_flight.sent if later.in_flight else (),
    )
