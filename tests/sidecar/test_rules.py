"""The pure rules: when a session may be woken, which rung a wake is on, and what a turn is about."""

import dataclasses

import pytest

from tests.sidecar import support
from vigil.api import turn
from vigil.model import ids, wakes
from vigil.sidecar import ladder, sessions, turns

NOW = support.NOW
RULES = turns.Rules()
IDLE = turns.Ground()
BUSY, NO_RECIPIENT = wakes.QueuedReason.BUSY, wakes.QueuedReason.NO_RECIPIENT


def candidate(name: str = "w1", **changes: object) -> ladder.Candidate:
    made = ladder.Candidate(
        id=ids.WakeId(name),
        watch=ids.WatchUid("uid-api-42"),
        namespace="team-a",
        type=wakes.WakeType.WAKE,
        deliver=support.TO_SESSION,
        queued_at=NOW,
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # the tests name real fields


RIDING = dataclasses.replace(support.TO_SESSION, wake=False)
FRESH = dataclasses.replace(support.TO_BOTH, mode=wakes.Mode.FRESH)


@pytest.mark.parametrize(
    ("case", "ground", "held"),
    [
        ("an idle session may be woken", IDLE, None),
        ("a busy one may not", turns.Ground(busy=True), turns.Hold(BUSY)),
        ("one that has a turn may not", turns.Ground(outstanding=True), turns.Hold(BUSY)),
        ("the pause after a turn is kept", turns.Ground(last_turn_ended=NOW - 4), turns.Hold(BUSY, NOW + 1)),
        ("it is over after 5 seconds", turns.Ground(last_turn_ended=NOW - 5), None),
        ("a clock that stepped back makes no pause", turns.Ground(last_turn_ended=NOW + 1000), None),
        (
            "a suspended one may not",
            turns.Ground(suspended=True, busy=True),
            turns.Hold(wakes.QueuedReason.WAKING_SUSPENDED),
        ),
        (
            "a spent budget holds until it has a turn again",
            turns.Ground(spent_until=NOW + 9),
            turns.Hold(wakes.QueuedReason.BUDGET_EXCEEDED, NOW + 9),
        ),
    ],
)
def test_turn_rules(case: str, ground: turns.Ground, held: turns.Hold | None) -> None:
    assert turns.hold(ground, RULES, NOW) == held


@pytest.mark.parametrize(
    ("case", "wake", "ground", "taken"),
    [
        ("without deliver it is recorded", candidate(deliver=None), None, ladder.Record()),
        ("a live idle session takes it", candidate(), IDLE, ladder.Offer()),
        ("a busy one queues it", candidate(deliver=support.TO_BOTH), turns.Ground(busy=True), turns.Hold(BUSY)),
        ("a session that is gone is notified", candidate(deliver=support.TO_BOTH), None, ladder.Notify()),
        ("without a receiver it has no recipient", candidate(), None, turns.Hold(NO_RECIPIENT)),
        (
            "a notification that failed waits for its time",
            candidate(deliver=support.TO_BOTH, notify_at=NOW + 7),
            None,
            turns.Hold(NO_RECIPIENT, NOW + 7),
        ),
        (
            "and the session that came back takes it before",
            candidate(deliver=support.TO_BOTH, notify_at=NOW + 7),
            IDLE,
            ladder.Offer(),
        ),
        (
            "but not while the notification is on its way",
            candidate(deliver=support.TO_BOTH, notifying_until=NOW + 7),
            IDLE,
            turns.Hold(NO_RECIPIENT, NOW + 7),
        ),
        ("what may not wake rides", candidate(deliver=RIDING), IDLE, ladder.Ride()),
        ("a notice never starts a turn", candidate(type=wakes.WakeType.NOTICE), IDLE, ladder.Ride()),
        (
            "a notice with a receiver is notified",
            candidate(type=wakes.WakeType.NOTICE, deliver=support.TO_BOTH),
            IDLE,
            ladder.Notify(),
        ),
        (
            "a notice waits for its event, receiver or not",
            candidate(type=wakes.WakeType.NOTICE, deliver=support.TO_BOTH, behind=True),
            None,
            turns.Hold(BUSY),
        ),
        ("a fresh context is not allowed", candidate(deliver=FRESH), IDLE, turns.Hold(wakes.QueuedReason.NOT_ALLOWED)),
    ],
)
def test_rungs(case: str, wake: ladder.Candidate, ground: turns.Ground | None, taken: ladder.Rung) -> None:
    assert ladder.rung(wake, ground, RULES, NOW) == taken


def test_every_rung_but_an_offer_says_why_it_waits() -> None:
    assert ladder.reason(ladder.Offer()) is None
    assert ladder.reason(ladder.Ride()) is BUSY
    assert ladder.reason(ladder.Notify()) is NO_RECIPIENT
    assert ladder.reason(turns.Hold(wakes.QueuedReason.NOT_ALLOWED)) is wakes.QueuedReason.NOT_ALLOWED


def chosen(queue: list[ladder.Candidate], ground: turns.Ground = IDLE, *, user_turn: bool = False) -> object:
    found = ladder.choose(queue, ground, RULES, NOW, user_turn)
    return [each.id for each in found] if isinstance(found, tuple) else found


def test_a_turn_is_about_the_oldest_wake_and_takes_along_what_rides() -> None:
    other = ids.WatchUid("uid-other")
    queue = [
        candidate("rider", deliver=RIDING, watch=other),
        candidate("first"),
        candidate("second", watch=other),
        candidate("its-notice", type=wakes.WakeType.NOTICE, behind=True),
        candidate("another-notice", type=wakes.WakeType.NOTICE, behind=True, watch=other),
    ]
    assert chosen(queue) == ["first", "its-notice", "rider"]


def test_so_many_ride_and_no_more() -> None:
    riders = [candidate(f"r{number}", deliver=RIDING, watch=ids.WatchUid(f"u{number}")) for number in range(9)]
    assert chosen([*riders, candidate("main")]) == ["main", "r0", "r1", "r2"]


def test_what_rides_starts_no_turn() -> None:
    assert chosen([candidate(deliver=RIDING), candidate(type=wakes.WakeType.NOTICE)]) == turns.Hold(BUSY)


def test_a_users_turn_takes_what_waits_whatever_holds_automatic_ones() -> None:
    held = turns.Ground(suspended=True, busy=True, last_turn_ended=NOW)
    assert chosen([candidate("w1")], held, user_turn=True) == ["w1"]
    assert chosen([candidate("r1", deliver=RIDING)], held, user_turn=True) == ["r1"]
    assert chosen([candidate()], turns.Ground(outstanding=True), user_turn=True) == turns.Hold(BUSY)


def test_the_earliest_time_is_when_to_look_again() -> None:
    assert chosen([candidate()], turns.Ground(last_turn_ended=NOW - 2)) == turns.Hold(BUSY, NOW + 3)
    assert chosen([]) == turns.Hold(BUSY)


def test_a_claim_is_offered_once_again_and_then_lost() -> None:
    assert turns.after_loss(1, RULES) is wakes.WakeState.QUEUED
    assert turns.after_loss(2, RULES) is wakes.WakeState.LOST


def session(**changes: object) -> sessions.Session:
    made = sessions.Session(support.SUPERVISOR, turn.Activity.IDLE, NOW + 60)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # the tests name real fields


def test_the_eighth_turn_in_a_row_suspends_waking_and_says_so_once() -> None:
    known = session()
    for _ in range(7):
        known = sessions.turn_ended(known, True, support.HOOK, RULES, NOW)
        assert known.suspended_at is None
    known = sessions.turn_ended(known, True, support.HOOK, RULES, NOW)
    assert (known.turns_in_row, known.suspended_at, known.suspended_for) == (8, NOW, support.HOOK)
    told = dataclasses.replace(known, suspended_for=None)
    assert sessions.turn_ended(told, True, support.HOOK, RULES, NOW + 1).suspended_for is None


def test_only_automatic_turns_count() -> None:
    assert sessions.turn_ended(session(turns_in_row=7), False, None, RULES, NOW).suspended_at is None


@pytest.mark.parametrize(
    ("case", "known", "said", "row"),
    [
        ("a newer user's turn begins a new row", NOW - 10, NOW - 5, 0),
        ("the first one known does too", None, NOW - 5, 0),
        ("the same one again does not", NOW - 5, NOW - 5, 8),
        ("an older one does not", NOW - 5, NOW - 10, 8),
        ("none does not", NOW - 5, None, 8),
        ("one in the future counts as now", NOW - 5, NOW + 1e6, 0),
        ("one that was known from the future does not deafen", NOW + 1e6, NOW, 8),
    ],
)
def test_users_turns(case: str, known: float | None, said: float | None, row: int) -> None:
    before = session(turns_in_row=8, suspended_at=NOW - 1, last_user_turn=known)
    after = sessions.attached(before, support.SUPERVISOR, support.idle(last_user_turn=said), NOW)
    assert after.turns_in_row == row
    assert (after.suspended_at is None) == (row == 0)


def test_a_session_lives_for_its_ttl_and_is_not_forgotten_when_gone() -> None:
    first = sessions.attached(None, support.SUPERVISOR, support.idle(ttl=30), NOW)
    assert first.live(NOW + 29)
    assert not first.live(NOW + 30)
    suspended = dataclasses.replace(first, suspended_at=NOW, turns_in_row=8)
    gone = sessions.detached(suspended, NOW + 1)
    assert not gone.live(NOW + 1)
    assert sessions.attached(gone, support.SUPERVISOR, support.idle(), NOW + 2).suspended_at == NOW
