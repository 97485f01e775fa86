"""What `vigil run` tells: of each change once, in words; and as JSON one object a verdict."""

import dataclasses
import json
from typing import Any

import pytest

from tests.unit.api import status_cases
from vigil.cli import aftermath, report
from vigil.model import failures, ids, observations, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import checkpoint, memory

NOW = status_cases.NOW
RESUME = "vigil run -f w.yaml"
RED = status_cases.red("red:build")
DELIVER: dict[str, Any] = {"deliver": {"session": "supervisor"}}


class Told:
    """A reporter, and what it wrote."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.lines: list[str] = []
        self.notes: list[str] = []
        self._reporter = report.Reporter(self.lines.append, self.notes.append, resume=RESUME, as_json=as_json)

    def begin(self, left: checkpoint.Checkpoint) -> list[str]:
        """What is noted of a Watch as an earlier run left it."""
        self._reporter.begin(memory.Memory(left))
        return self.notes

    def tell(self, left: checkpoint.Checkpoint) -> list[str]:
        """What is written after a tick or an outcome, without its time."""
        before = len(self.lines)
        self._reporter.tell(memory.Memory(left), NOW)
        return [line.removeprefix("10:30:00  team-a/api  ") for line in self.lines[before:]]


def waking(state: wakes.WakeState = wakes.WakeState.QUEUED, turns: int = 0, **fields: Any) -> checkpoint.Checkpoint:
    """A Watch that has just decided to wake, and what became of that."""
    identity = status_cases.identity("api", RED.key)
    return status_cases.left(
        spec=DELIVER,
        verdict=verdicts.Wake((verdicts.Entry(identity, RED),), "", verdicts.WakeReason.CONVERGED),
        state=status_cases.state(spent=states.Spent(turns=turns)),
        reading={status_cases.subject("api"): status_cases.read(RED)},
        wakes=(dataclasses.replace(status_cases.record(2, state), id=ids.WakeId("wake-2")),),
        **fields,
    )


# --- in words --------------------------------------------------------------------------------------------------------


def test_a_verdict_is_told_when_it_changes_and_not_again() -> None:
    told = Told()
    assert told.tell(status_cases.left()) == ["quiet, nothing-open"]
    assert told.tell(status_cases.left()) == []
    pending = status_cases.left(
        verdict=verdicts.Quiet(verdicts.QuietReason.PENDING),
        reading={status_cases.subject("api"): status_cases.read(pending=2)},
    )
    assert told.tell(pending) == ["quiet, pending  (2 running)"]


def test_two_watches_are_told_apart() -> None:
    told = Told()
    told.tell(status_cases.left())
    other = status_cases.left()
    ref = dataclasses.replace(other.watch.ref, uid=ids.WatchUid("another"), name="web")
    assert told.tell(dataclasses.replace(other, watch=dataclasses.replace(other.watch, ref=ref))) == [
        "10:30:00  team-a/web  quiet, nothing-open"
    ]


def test_a_wake_is_told_with_its_entries_and_then_what_became_of_it() -> None:
    told = Told()
    assert told.tell(waking()) == ["WAKE, converged: red:build  (1 open)", "          red:build  it is red"]
    waits = checkpoint.DeliveryTrouble(wakes.QueuedReason.BUSY, "")
    assert told.tell(waking(trouble=waits)) == ["its wake waits: Busy (session supervisor)"]
    assert told.tell(waking(trouble=waits)) == []
    assert told.tell(waking(wakes.WakeState.CLAIMED)) == ["its wake was taken by session supervisor"]
    assert told.tell(waking(wakes.WakeState.DELIVERED, turns=1)) == [
        "its wake was delivered to session supervisor, 1 turn so far"
    ]
    assert told.tell(waking(wakes.WakeState.DELIVERED, turns=1)) == []


def test_a_wake_that_is_repeated_is_told_again() -> None:
    told = Told()
    told.tell(waking(wakes.WakeState.LOST))
    again = dataclasses.replace(waking(), wakes=(status_cases.record(3, wakes.WakeState.QUEUED), *waking().wakes))
    assert told.tell(again)[0] == "WAKE, converged: red:build  (1 open)"


@pytest.mark.parametrize("state", wakes.WakeState)
@pytest.mark.parametrize("type_", wakes.WakeType)
def test_there_is_a_sentence_for_whatever_becomes_of_a_wake(state: wakes.WakeState, type_: wakes.WakeType) -> None:
    record = dataclasses.replace(status_cases.record(1, state), type=type_)
    sentence = aftermath.sentence(record, memory.Memory(waking(turns=2)))
    assert sentence.startswith("its notice " if type_ is wakes.WakeType.NOTICE else "its wake ")
    assert ("2 turns so far" in sentence) == (state in wakes.CHARGED)


@pytest.mark.parametrize(
    ("deliver", "to"),
    [
        ({"session": "supervisor"}, "session supervisor"),
        ({"mode": "Fresh", "fresh": {"command": "fix"}}, "a fresh context"),
        ({"notify": {"receiver": "oncall"}}, "no session"),
        (None, "nobody"),
    ],
)
def test_the_recipient_is_named(deliver: dict[str, Any] | None, to: str) -> None:
    left = status_cases.left(spec={} if deliver is None else {"deliver": deliver})
    trouble = checkpoint.DeliveryTrouble(wakes.QueuedReason.NO_RECIPIENT, "")
    assert aftermath.waits(trouble, memory.Memory(left)) == f"its wake waits: NoRecipient ({to})"


@pytest.mark.parametrize("reason", verdicts.StopReason)
def test_every_stop_says_how_to_go_on_with_the_command(reason: verdicts.StopReason) -> None:
    told = Told().tell(status_cases.ended(reason))
    assert told[0] == f"STOP, {reason}"
    assert told[1].strip().startswith("to go on, ")
    assert told[1].endswith(f" in its manifest, then run again: {RESUME}")


@pytest.mark.parametrize(
    ("reason", "change"),
    [
        (verdicts.StopReason.TURNS, "raise spec.budgets.turns"),
        (verdicts.StopReason.TOKENS, "raise spec.budgets.tokens"),
        (verdicts.StopReason.LIFETIME, "raise spec.budgets.lifetime"),
        (verdicts.StopReason.ACTIVE_TIME, "raise spec.budgets.activeTime"),
        (verdicts.StopReason.PROVIDER_ERRORS, "raise spec.budgets.providerErrors"),
        (verdicts.StopReason.STALLED, "change its spec"),
    ],
)
def test_what_is_to_be_raised_is_the_field_of_the_manifest(reason: verdicts.StopReason, change: str) -> None:
    ended = memory.Memory(status_cases.ended(reason))
    assert aftermath.how_to_go_on(ended, RESUME) == f"to go on, {change} in its manifest, then run again: {RESUME}"
    field = change.partition("budgets.")[2]
    assert not field or hasattr(
        ended.watch.limits.budgets, "".join(f"_{c.lower()}" if c.isupper() else c for c in field)
    )


def test_a_read_that_failed_is_told_with_its_reason_and_again_only_when_that_changes() -> None:
    told = Told()

    def failing(category: failures.Category, message: str) -> checkpoint.Checkpoint:
        return status_cases.left(
            verdict=verdicts.Quiet(verdicts.QuietReason.UNREADABLE),
            reading={status_cases.subject("api"): status_cases.failed(category, message)},
        )

    first = told.tell(failing(failures.Category.TIMEOUT, "no answer\x1b[31m\nin time"))
    assert first == ["quiet, unreadable", "          toy/api could not be read: timeout: no answer [31m in time"]
    assert told.tell(failing(failures.Category.TIMEOUT, "other words")) == []
    assert told.tell(failing(failures.Category.TLS, "no"))[1] == "          toy/api could not be read: tls: no"


def test_of_several_subjects_each_entry_says_whose_it_is_and_many_are_cut() -> None:
    names = ("api", "web")
    entries = tuple(
        verdicts.Entry(status_cases.identity(name, f"red:{number}"), status_cases.red(f"red:{number}", ""))
        for name in names
        for number in range(8)
    )
    wake = verdicts.Wake(entries, "", verdicts.WakeReason.CONVERGED)
    lines = Told().tell(status_cases.left(*names, verdict=wake))
    assert lines[1] == "          toy/api  red:0"
    assert len(lines) == 1 + report.SHOWN
    many = tuple(
        verdicts.Entry(status_cases.identity("api", f"red:{number}"), status_cases.red(f"red:{number}", ""))
        for number in range(12)
    )
    wake = verdicts.Wake(many, "", verdicts.WakeReason.CONVERGED)
    assert Told().tell(status_cases.left(verdict=wake))[0].endswith("red:9, and 2 more")


def test_a_wake_without_entries_says_so() -> None:
    blind = status_cases.left(verdict=verdicts.Wake((), "", verdicts.WakeReason.BLIND))
    assert Told().tell(blind) == ["WAKE, blind: no entries"]


# --- what an earlier run left ----------------------------------------------------------------------------------------


def test_what_became_of_a_wake_in_an_earlier_run_is_not_told_again() -> None:
    told = Told()
    assert told.begin(waking(wakes.WakeState.DELIVERED, turns=1)) == []
    handled = waking(wakes.WakeState.DELIVERED, turns=1)
    quiet = dataclasses.replace(handled, verdict=verdicts.Quiet(verdicts.QuietReason.HANDLED))
    assert told.tell(quiet) == ["quiet, handled  (1 open)"]


def test_a_watch_that_has_ended_is_noted_with_what_arms_it_again() -> None:
    assert Told().begin(status_cases.ended(observations.Outcome.FAILED)) == [
        "team-a/api: has ended already, Failed; it is watched again once its subjects, objective or options change: "
        + RESUME
    ]
    assert (
        Told()
        .begin(status_cases.ended(verdicts.StopReason.TURNS))[0]
        .startswith("team-a/api: has ended already, Exhausted; to go on, raise spec.budgets.turns ")
    )


def test_an_end_that_nobody_was_told_of_is_not_over() -> None:
    told = status_cases.ended(verdicts.StopReason.TURNS)
    owed = status_cases.ended(verdicts.StopReason.TURNS, owed_notice=True)
    assert report.over(memory.Memory(told))
    assert not report.over(memory.Memory(owed))
    assert Told().begin(owed) == []


@pytest.mark.parametrize(
    ("reason", "note", "is_over"),
    [
        (codec.QuarantineReason.VERSION_UNKNOWN, "its state is of another version of Vigil", True),
        (codec.QuarantineReason.UNREADABLE, "its state could not be read; it was set aside", False),
    ],
)
def test_a_state_that_cannot_be_used_is_noted(reason: codec.QuarantineReason, note: str, is_over: bool) -> None:
    left = dataclasses.replace(status_cases.left(), quarantined=reason.value, verdict=None)
    (said,) = Told().begin(left)
    assert said.startswith(f"team-a/api: {note}")
    assert report.over(memory.Memory(left)) is is_over


# --- as JSON ---------------------------------------------------------------------------------------------------------


def test_a_verdict_is_one_object_whatever_becomes_of_its_wake() -> None:
    told = Told(as_json=True)
    decided = waking()
    (line,) = told.tell(decided)
    assert json.loads(line)["verdict"] == {"type": "Wake", "reason": "converged", "keys": ["red:build"]}
    delivered = dataclasses.replace(decided, state=status_cases.state(spent=states.Spent(turns=1, tokens=9)))
    assert told.tell(delivered) == []
    again = dataclasses.replace(delivered, verdict=verdicts.Quiet(verdicts.QuietReason.HANDLED))
    (line,) = told.tell(again)
    assert json.loads(line) == {
        "at": "2026-03-01T10:30:00.000+00:00",
        "watch": "team-a/api",
        "verdict": {"type": "Quiet", "reason": "handled", "keys": []},
        "phase": "Watching",
        "spent": {"turns": 1, "tokens": 9},
    }


def test_every_tick_is_an_object_though_nothing_changed() -> None:
    told = Told(as_json=True)
    assert len([line for _ in range(3) for line in told.tell(status_cases.left())]) == 3


def test_of_several_subjects_a_key_says_whose_it_is() -> None:
    entries = tuple(verdicts.Entry(status_cases.identity(name, RED.key), RED) for name in ("web", "api"))
    ended = verdicts.Terminal(entries, observations.Outcome.FAILED)
    (line,) = Told(as_json=True).tell(status_cases.left("api", "web", verdict=ended))
    assert json.loads(line)["verdict"] == {
        "type": "Terminal",
        "reason": "failed",
        "keys": ["toy/api#red:build", "toy/web#red:build"],
    }


def test_a_line_is_one_line_and_ascii() -> None:
    key = status_cases.red("red:b\u2028ü")
    wake = verdicts.Wake(
        (verdicts.Entry(status_cases.identity("api", key.key), key),), "", verdicts.WakeReason.CONVERGED
    )
    (line,) = Told(as_json=True).tell(status_cases.left(verdict=wake))
    assert line.isascii()
    assert line.splitlines() == [line]


# --- exit codes ------------------------------------------------------------------------------------------------------


def test_the_exit_code_is_that_of_the_worst_end() -> None:
    succeeded, failed, stopped = (
        memory.Memory(status_cases.ended(how))
        for how in (observations.Outcome.SUCCEEDED, observations.Outcome.FAILED, verdicts.StopReason.LIFETIME)
    )
    assert report.exit_code([]) == 0
    assert report.exit_code([succeeded, succeeded]) == 0
    assert report.exit_code([failed, succeeded]) == 3
    assert report.exit_code([failed, stopped, succeeded]) == 4
