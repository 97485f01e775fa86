"""Questions: they stand while what they rest on is unchanged, are void as a whole, and are answered by their name."""

import dataclasses

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    COMMENT,
    E2E,
    HOUR,
    MERGED,
    MINUTE,
    READY,
    UNIT,
    Answer,
    Claim,
    End,
    Story,
    Tick,
    failed,
    parked,
    partly,
    said,
    see,
    tell,
)
from vigil.decision import outcomes, questions, rearm
from vigil.model import ids, limits, observations, states, verdicts

A, B = ids.SubjectId("a"), ids.SubjectId("b")
NEWS = story.policy(coalesce_window=0.0)
WAKE = "wake undelayed: red:unit"
BOTH = "wake undelayed: comment:7 red:unit"
EDITED = dataclasses.replace(COMMENT, detail="edited")
ASKED: list[story.Step] = [Tick(0, see(UNIT, COMMENT), BOTH), Claim(), End(said=parked("red:unit", "comment:7"))]
ONE: list[story.Step] = [Tick(0, see(UNIT), WAKE), Claim(), End(said=parked("red:unit"))]

STORIES = [
    Story("an entry in question is no news", [*ONE, Tick(7 * HOUR, see(UNIT), "quiet parked")], NEWS),
    Story(
        "what is answered is news again, whatever realertAfter says",
        [*ONE, Tick(60, see(UNIT), "quiet parked"), Answer(), Tick(120, see(UNIT), WAKE)],
        NEWS,
    ),
    Story("a question of another name stands", [*ONE, Answer("q2"), Tick(60, see(UNIT), "quiet parked")], NEWS),
    Story(
        "what was answered cannot be parked again with the same detail",
        [
            *ONE,
            Answer(),
            Tick(60, see(UNIT), WAKE),
            End(said=parked("red:unit")),
            Tick(120, see(UNIT), "quiet handled"),
        ],
        NEWS,
    ),
    Story(
        "what was answered can be parked again with another detail",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            Answer(),
            Tick(60, see(EDITED), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            Tick(7 * HOUR, see(EDITED), "quiet parked"),
        ],
        NEWS,
    ),
    Story(
        "an edit of what it covers voids it, and what became void can be parked again (C042)",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            Tick(60, see(EDITED), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            Tick(7 * HOUR, see(EDITED), "quiet parked"),
        ],
        NEWS,
    ),
    Story(
        "it is void as a whole: the entries that are left are news",
        [*ASKED, Tick(60, see(UNIT, EDITED), BOTH)],
        NEWS,
    ),
    Story("an entry that goes voids it", [*ASKED, Tick(60, see(COMMENT), "wake undelayed: comment:7")], NEWS),
    Story(
        "what went and comes back is masked by its own stamp",
        [
            *ASKED,
            Tick(60, see(COMMENT), "wake undelayed: comment:7"),
            End(),
            Tick(120, see(UNIT, COMMENT), "quiet handled"),
        ],
        NEWS,
    ),
    Story(
        "a new episode is another entry and voids it",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(said=parked("comment:7")),
            Tick(60, see(dataclasses.replace(COMMENT, episode="2")), "wake undelayed: comment:7"),
        ],
        NEWS,
    ),
    Story("a new revision voids it", [*ASKED, Tick(60, see(UNIT, COMMENT, revision="r2"), BOTH)], NEWS),
    Story(
        "a failed or incomplete read proves no absence, and an edit is one in any read",
        [
            *ASKED,
            Tick(60, failed(), "quiet unreadable"),
            Tick(120, partly(COMMENT), "quiet incomplete"),
            Tick(180, see(UNIT, COMMENT), "quiet parked"),
            Tick(240, partly(EDITED), "wake undelayed: comment:7"),
            End(),
            Tick(300, see(UNIT, EDITED), WAKE),
        ],
        NEWS,
    ),
    Story(
        "it blocks every claim of its subject while it stands",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            End(said=(*parked("comment:7"), said("comment:7", "dispatched"))),
            Tick(60, see(COMMENT, READY), "quiet withheld"),
            Answer(),
            Tick(120, see(COMMENT, READY), "wake undelayed: ready"),
        ],
        NEWS,
    ),
    Story(
        "an end comes regardless",
        [*ONE, Tick(60, see(UNIT, MERGED), "terminal succeeded: merged")],
        NEWS,
    ),
    Story(
        "an end of one of its subjects voids it",
        [
            Tick(0, {"a": see(UNIT), "b": see(UNIT)}, "wake undelayed: red:unit b#red:unit"),
            End(said=parked("red:unit")),
            Tick(60, {"a": see(UNIT), "b": see(UNIT)}, "quiet parked"),
            Tick(120, {"a": see(UNIT), "b": see(UNIT, MERGED)}, "terminal succeeded: b#merged"),
            End(),
            Tick(180, {"a": see(UNIT)}, WAKE),
        ],
        NEWS,
    ),
    Story(
        "`open` takes it back as a whole, and it can be asked again",
        [
            *ASKED,
            Tick(60, see(UNIT, COMMENT, E2E), "wake undelayed: red:e2e"),
            End(said=(said("comment:7", "open"),)),
            Tick(120, see(UNIT, COMMENT, E2E), BOTH),
            End(said=parked("comment:7")),
            Tick(7 * HOUR, see(COMMENT), "quiet parked"),
        ],
        NEWS,
    ),
    Story(
        "what changed while the session thought about it voids it in the next tick",
        [
            Tick(0, see(COMMENT), "wake undelayed: comment:7"),
            Claim(),
            Tick(60, see(EDITED), "quiet in-flight"),
            End(said=parked("comment:7")),
            Tick(120, see(EDITED), "wake undelayed: comment:7"),
        ],
        NEWS,
    ),
    Story(
        "an entry that the wake did not hold is parked as the latest reading shows it",
        [
            Tick(0, see(UNIT), WAKE),
            Claim(),
            Tick(60, see(UNIT, COMMENT), "quiet in-flight"),
            End(said=parked("comment:7")),
            Tick(120, see(UNIT, COMMENT), "quiet parked"),
        ],
        NEWS,
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_questions(told: Story) -> None:
    tell(told)


def test_a_parked_entry_without_the_name_of_a_question_is_one_of_its_own() -> None:
    state = tell(Story("unnamed", [Tick(0, see(UNIT), WAKE), End(said=(said("red:unit", "parked"),))], NEWS))
    assert [row.question for row in state.subject(A).parked.values()] == ["red:unit"]


def test_a_question_that_does_not_stand_changes_nothing() -> None:
    state = tell(Story("told", ONE, NEWS))
    assert questions.answer(state, "q2", "yes", 60) is state
    assert questions.take_back(state, "q2") is state


def test_an_answer_is_kept_until_a_wake_has_told_it() -> None:
    answered = tell(Story("answered", [*ONE, Answer(text="use it")], NEWS))
    identity = verdicts.Identity(A, "red:unit", "r1")
    assert answered.subject(A).answered[identity].answer == "use it"
    told = tell(Story("told", [Tick(60, see(UNIT), WAKE), End()], NEWS), answered)
    assert told.subject(A).answered[identity] == states.Answered("", 60, "")


def test_a_question_with_a_long_name_is_known_by_a_digest_and_answered_by_either() -> None:
    long = "q" * (questions.NAME_LIMIT + 1)
    state = tell(Story("asked", [*ONE[:-1], End(said=parked("red:unit", question=long))], NEWS))
    (row,) = state.subject(A).parked.values()
    assert len(row.question) < questions.NAME_LIMIT
    assert questions.answer(state, "q" * questions.NAME_LIMIT, "yes", 60) is state
    by_name = questions.answer(state, long, "yes", 60)
    assert by_name.subject(A).parked == {}
    assert questions.answer(state, row.question, "yes", 60) == by_name


def test_a_long_answer_is_cut() -> None:
    state = questions.answer(tell(Story("asked", ONE, NEWS)), "q1", "x" * 5000, 60)
    assert [len(one.answer) for one in state.subject(A).answered.values()] == [questions.ANSWER_LIMIT]


def test_a_question_that_ends_while_a_wake_is_in_flight_leaves_its_entry_without_a_stamp() -> None:
    """Here somebody parks an entry of a claimed wake from outside, and it is answered before the outcome."""
    state = tell(Story("claimed", [Tick(0, see(UNIT), WAKE), Claim()], NEWS))
    identity = verdicts.Identity(A, "red:unit", "r1")
    memory = questions.park(state.subject(A), identity, "q1", "")
    asked = dataclasses.replace(state, subjects={A: memory})
    answered = questions.answer(asked, "q1", "yes", 30)
    told = tell(Story("outcome", [End(), Tick(60, see(UNIT), WAKE)], NEWS), answered)
    assert told.in_flight is not None


def test_confirm_delivered_does_not_dispose_of_what_is_in_question_or_has_just_come_out_of_one() -> None:
    under = story.policy(coalesce_window=0.0, confirm=limits.Confirm.DELIVERED)
    steps: list[story.Step] = [*ONE, Tick(60, see(UNIT), "quiet parked"), Answer(), Tick(120, see(UNIT), WAKE), End()]
    assert story.dispositions(tell(Story("asked and answered", steps, under))) == {"red:unit": "dispatched"}
    state = tell(Story("claimed", [Tick(0, see(UNIT), WAKE), Claim()], under))
    memory = questions.park(state.subject(A), verdicts.Identity(A, "red:unit", "r1"), "q1", "")
    answered = questions.answer(dataclasses.replace(state, subjects={A: memory}), "q1", "yes", 30)
    assert story.dispositions(tell(Story("outcome", [End()], under), answered)) == {}


def test_a_subject_that_is_removed_voids_the_questions_it_was_part_of() -> None:
    both: story.Reading = {"a": see(UNIT), "b": see(UNIT)}
    steps: list[story.Step] = [Tick(0, both, "wake undelayed: red:unit b#red:unit"), End(said=parked("red:unit"))]
    state = tell(Story("asked", steps, NEWS))
    armed = rearm.rearm(state, 2, state.purpose, [A], 60)
    tell(Story("left", [Tick(60, see(UNIT), WAKE)], NEWS), armed)


def test_a_long_detail_is_compared_by_its_digest() -> None:
    long = dataclasses.replace(COMMENT, detail="x" * 500)
    steps: list[story.Step] = [
        Tick(0, see(long), "wake undelayed: comment:7"),
        End(said=parked("comment:7")),
        Tick(60, see(long), "quiet parked"),
    ]
    state = tell(Story("the same", steps, NEWS))
    assert all(len(row.detail) <= 32 for row in state.subject(A).parked.values())
    other = dataclasses.replace(COMMENT, detail="x" * 499 + "y")
    tell(Story("another", [Tick(120, see(other), "wake undelayed: comment:7")], NEWS), state)


def test_a_stamp_that_a_question_takes_away_counts_for_the_id_of_the_next_wake() -> None:
    first = tell(Story("first", ONE[:1], NEWS))
    second = tell(Story("second", [*ONE, Answer(), Tick(60, see(UNIT), WAKE)], NEWS))
    assert first.in_flight is not None
    assert second.in_flight is not None
    assert first.in_flight.id != second.in_flight.id


def test_an_edit_by_a_bot_restarts_the_hold_and_wakes_nobody() -> None:
    held = dataclasses.replace(READY, hold=observations.SETTLE)
    steps: list[story.Step] = [
        Tick(0, see(held, activity="a1"), "quiet holding"),
        Tick(4 * MINUTE, see(held, activity="a2"), "quiet holding"),
        Tick(8 * MINUTE, see(held, activity="a2"), "quiet holding"),
        Tick(9 * MINUTE, see(held, activity="a2"), "wake undelayed: ready"),
    ]
    tell(Story("rewritten", steps, NEWS))


def test_what_was_said_of_a_subject_that_is_gone_is_passed_over() -> None:
    state = tell(Story("told", [Tick(0, see(UNIT), WAKE), Claim()], NEWS))
    assert state.in_flight is not None
    event = story.outcome_of(state.in_flight, End(said=parked("comment:7")), 1)
    shown = {verdicts.Identity(B, "comment:7", None): COMMENT}
    assert outcomes.ended(state, event, NEWS, shown).subjects.keys() == {A}
