"""When each Watch is looked at next."""

import random

from vigil.model import ids
from vigil.scheduler import agenda

A, B, C = (ids.WatchUid(name) for name in "abc")


def made(**times: float) -> agenda.Agenda:
    """An agenda with these."""
    plan = agenda.Agenda()
    for name, at in times.items():
        plan.put(ids.WatchUid(name), at)
    return plan


def test_what_is_due_is_taken_off_in_the_order_of_the_times() -> None:
    plan = made(a=3, b=1, c=4)
    assert plan.first() == 1
    assert plan.take(3) == [B, A]
    assert plan.first() == 4
    assert plan.take(3) == []
    assert plan.take(4) == [C]
    assert plan.first() is None


def test_what_was_said_last_of_a_watch_counts() -> None:
    plan = made(a=1, b=2)
    plan.put(A, 5)
    plan.put(B, 1)
    assert plan.first() == 1
    assert plan.take(4) == [B]
    assert plan.take(5) == [A]


def test_a_watch_that_is_removed_is_not_looked_at_until_it_is_put_again() -> None:
    plan = made(a=1, b=2)
    plan.remove(A)
    plan.remove(C)
    assert (plan.first(), len(plan)) == (2, 1)
    plan.put(A, 1)
    assert plan.take(2) == [A, B]
    assert plan.take(2) == []


def test_any_course_of_puts_and_removals_ends_as_if_there_had_been_the_last_ones_only() -> None:
    chance = random.Random(20)
    plan, wanted = agenda.Agenda(), dict[ids.WatchUid, float]()
    for _ in range(5000):
        uid, at = ids.WatchUid(f"w{chance.randrange(20)}"), float(chance.randrange(50))
        if chance.random() < 0.2:
            plan.remove(uid)
            wanted.pop(uid, None)
        elif chance.random() < 0.1:
            now = at / 4
            due = sorted((when, name) for name, when in wanted.items() if when <= now)
            assert plan.take(now) == [name for _, name in due]
            for _, name in due:
                del wanted[name]
        else:
            plan.put(uid, at)
            wanted[uid] = at
        assert plan.first() == min(wanted.values(), default=None)
        assert len(plan) == len(wanted)


def test_an_agenda_does_not_grow_with_what_was_said_before() -> None:
    plan = made(a=0)
    for at in range(1, 10_000):
        plan.put(A, at)
    assert len(plan._heap) < 100
