"""Faults of real systems that touch the decision."""

import dataclasses

from tests.unit.decision import story
from tests.unit.decision.story import (
    CLOSED,
    COMMENT,
    CONFLICT,
    E2E,
    HOUR,
    MERGED,
    MINUTE,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    see,
)
from vigil.model import ids, observations, states, verdicts

A = ids.SubjectId("a")
RED = verdicts.Identity(A, "red:unit", "r1")


def told(stamp: float) -> states.State:
    """A Watch that told of the red job at that time."""
    memory = states.SubjectState("r1", alerted={RED: states.Stamp(stamp, stamp)})
    return states.State(story.UID, subjects={A: memory}, started=0)


def test_c020_a_new_head_clears_the_old_red_and_wakes_again_for_its_own() -> None:
    state = story.tell(
        Story(
            "head moved",
            [
                Tick(0, see(UNIT, COMMENT, revision="h1"), "quiet coalescing"),
                Tick(4 * MINUTE, see(UNIT, COMMENT, revision="h1"), "wake converged: comment:7 red:unit"),
                Claim(),
                End(),
                Tick(6 * MINUTE, see(COMMENT, revision="h2", pending=1), "quiet handled"),
                Tick(8 * MINUTE, see(UNIT, COMMENT, revision="h2"), "quiet coalescing"),
                Tick(12 * MINUTE, see(UNIT, COMMENT, revision="h2"), "wake converged: red:unit"),
            ],
        )
    )
    assert story.stamps(state) == {"comment:7": 4 * MINUTE}


def test_c071_a_closed_subject_ends_its_watch_and_a_new_watch_on_it_starts_with_empty_memory() -> None:
    story.tell(
        Story(
            "closed, and the session is busy",
            [
                Tick(0, see(CLOSED), "terminal failed: closed"),
                Tick(60, {}, "quiet in-flight"),
                End(story.LOST),
                Tick(120, {}, "terminal failed: closed"),
                End(),
                Tick(180, see(revision="h3"), "quiet nothing-open"),
                Tick(240, see(MERGED, revision="h3"), "quiet nothing-open"),
            ],
        )
    )
    story.tell(Story("a new Watch", [Tick(300, see(MERGED, revision="h3"), "terminal succeeded: merged")]))


def test_c139_keys_and_not_texts_make_entries_so_that_an_outage_is_told_once() -> None:
    def failing(text: str) -> observations.Observation:
        return dataclasses.replace(UNIT, key="reconcile-failed", brief=text)

    ids_ = ["804c", "2cea", "11aa", "9f00"]
    reads: list[story.Step] = [
        Tick((5 + n) * MINUTE, see(failing(f"STS 503 RequestID: {text}")), "quiet handled")
        for n, text in enumerate(ids_)
    ]
    story.tell(
        Story(
            "an outage",
            [
                Tick(0, see(failing("finished in 2.084434647s")), "quiet coalescing"),
                Tick(4 * MINUTE, see(failing("finished in 2.075916724s")), "wake converged: reconcile-failed"),
                End(),
                *reads,
            ],
        )
    )


def test_c140_other_reasons_of_the_same_subject_are_told_and_the_old_one_stays_quiet() -> None:
    story.tell(
        Story("three reasons", [Tick(HOUR, see(UNIT, E2E, CONFLICT), "wake immediate: conflict red:e2e")]), told(0)
    )


def test_c143_a_stamp_of_the_future_mutes_nothing() -> None:
    story.tell(
        Story(
            "a clock that jumped back a day",
            [Tick(0, see(UNIT), "wake undelayed: red:unit")],
            story.policy(coalesce_window=0.0),
        ),
        told(24 * HOUR),
    )


def test_c145_a_condition_that_bounces_is_told_once_for_its_revision() -> None:
    out = dataclasses.replace(story.READY, key="rolled-out")
    story.tell(
        Story(
            "a killed pod",
            [
                Tick(0, see(out, revision="r12"), "wake undelayed: rolled-out"),
                End(),
                Tick(60, see(revision="r12", pending=1), "quiet pending"),
                Tick(120, see(out, revision="r12"), "quiet handled"),
                Tick(180, see(out, revision="r13"), "wake undelayed: rolled-out"),
            ],
            story.policy(coalesce_window=0.0),
        )
    )


def test_c148_a_busy_session_stamps_nothing_and_one_delivery_is_made() -> None:
    waiting: list[story.Step] = [
        Tick(0, see(UNIT), "quiet coalescing"),
        Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
        Tick(6 * MINUTE, see(UNIT), "quiet in-flight"),
        Tick(8 * MINUTE, see(UNIT), "quiet in-flight"),
    ]
    busy = story.tell(Story("busy", waiting))
    assert story.stamps(busy) == {}
    done = story.tell(Story("done", [Claim(), End(), Tick(10 * MINUTE, see(UNIT), "quiet handled")]), busy)
    assert story.stamps(done) == {"red:unit": 4 * MINUTE}
    assert done.spent.turns == 1


def test_c148_a_wake_that_is_lost_stamps_nothing_and_a_key_that_clears_before_a_claim_is_dropped() -> None:
    lost: list[story.Step] = [
        Tick(0, see(UNIT), "quiet coalescing"),
        Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
        Claim(),
        End(story.LOST),
        Tick(5 * MINUTE, see(UNIT), "wake converged: red:unit"),
        Tick(6 * MINUTE, see(), "quiet nothing-open"),
    ]
    state = story.tell(Story("lost, then cleared", lost))
    assert state.in_flight is None
    assert story.stamps(state) == {}


def test_c155_a_text_that_differs_in_every_read_does_not_hide_a_stall() -> None:
    stuck = observations.Observation("stuck:ci/loop", observations.Severity.WAKE, observations.ResetsOn.REVISION)
    ticks = [
        Tick(n * HOUR, see(dataclasses.replace(stuck, brief=f"running {n}h06m")), "quiet handled") for n in range(1, 72)
    ]
    told: list[story.Step] = [
        Tick(0, see(dataclasses.replace(stuck, brief="running 0h01m")), "wake undelayed: stuck:ci/loop"),
        End(said=(story.said("stuck:ci/loop", "dispatched"),)),
        *ticks,
        Tick(72 * HOUR, see(dataclasses.replace(stuck, brief="running 72h06m")), "stop stalled"),
    ]
    story.tell(Story("running for ever", told, story.policy(coalesce_window=0.0)))


def test_c064_a_dead_credential_costs_no_turn_and_one_notification() -> None:
    steps: list[story.Step] = [
        Tick(0, story.failed("auth"), "quiet unreadable"),
        Claim(),
        End(),
        *(Tick(n * 10 * MINUTE, story.failed("auth"), "quiet unreadable") for n in range(1, 20)),
    ]
    state = story.tell(Story("401 in every read", steps))
    assert state.spent.turns == 0
    assert state.in_flight is None
    assert state.blocked == states.Blocked(0, told=True)
