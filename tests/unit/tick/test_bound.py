"""The bound on the state document: what is open is never cut, and the store always takes what is left."""

import hashlib
import json

import pytest

from vigil.decision import flight, outcomes, questions
from vigil.model import ids, observations, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import bound, churn, overflow

UID = ids.WatchUid("6f1c9a52-0d0e-4a53-9a43-0a3c5a8b2c11")
A = ids.SubjectId("github_pull_request://github.com/acme/a-repository-with-a-long-name/pull/123456")
NOW = 1764567890.123456
REVISION = "f" * 40


def noise(what: str, length: int) -> str:
    """A text like no other, which packs badly."""
    text = ""
    while len(text) < length:
        text += hashlib.sha256(f"{what}{len(text)}".encode()).hexdigest()
    return text[:length]


def at(what: str) -> float:
    """A time like no other."""
    return NOW - int(noise(what, 5), 16) + int(noise(what, 4), 16) / 1e6


def size(state: states.State) -> int:
    """The bytes that a store is given."""
    return len(codec.encode(state).encode())


def identity(number: int, subject: ids.SubjectId = A) -> verdicts.Identity:
    """One of many, with as long a name as a hundred may have."""
    length = overflow.MAX_TEXT // overflow.MAX_ENTRIES - len('["", ""]')
    revision = noise(subject, 40) if number % 2 else None
    return verdicts.Identity(subject, noise(f"key {number}", length), revision)


def memory(named: list[verdicts.Identity], *, parked: bool) -> states.SubjectState:
    """Everything that can be remembered of these entries at once: told, held, and disposed of or in question."""
    said = {
        one: states.Disposed(wakes.Disposition.DISPATCHED, NOW, noise(f"invariant {one}", outcomes.INVARIANT_LIMIT))
        for one in named
    }
    asked = {
        one: states.Parked(noise(f"question {one}", questions.NAME_LIMIT), noise(f"detail {one}", 32)) for one in named
    }
    return states.SubjectState(
        noise(named[0].subject, 40),
        alerted={one: states.Stamp(at(f"told {one}"), NOW) for one in named},
        held={one: states.Held(at(f"held {one}"), noise("activity", 32)) for one in named},
        dispositions={} if parked else said,
        parked=asked if parked else {},
        answered={one: states.Answered(noise(f"detail {one}", 32), NOW) for one in named} if parked else {},
        read=True,
    )


def worst(subjects: int, *, parked: bool) -> states.State:
    """A hundred live entries, all of them in flight too, with all facts about churn."""
    names = [ids.SubjectId(f"{A}{noise(str(number), 10)}") for number in range(subjects)]
    by_subject: dict[ids.SubjectId, list[verdicts.Identity]] = {name: [] for name in names}
    for number in range(overflow.MAX_ENTRIES):
        by_subject[names[number % subjects]].append(identity(number, names[number % subjects]))
    sent = tuple(
        states.Sent(one, at(f"since {one}"), at(f"at {one}"), 1, shown=NOW, detail=noise(f"detail {one}", 32))
        for named in by_subject.values()
        for one in named
    )
    versions = (states.Version(1, wakes.WakeType.WAKE, "converged"),)
    return states.State(
        UID,
        subjects={name: memory(named, parked=parked) for name, named in by_subject.items()},
        in_flight=states.InFlight(ids.WakeId(noise("wake", 32)), NOW, versions, sent),
        started=at("start"),
        last_tick=NOW,
        read_at=dict.fromkeys(names, NOW),
        stall=states.Stall(noise("stall", 32), at("stall"), 12),
        purpose=noise("purpose", 32),
        churn=facts([one for named in by_subject.values() for one in named]),
    )


def facts(named: list[verdicts.Identity]) -> states.Churn:
    """As many facts about churn as there can be."""
    return states.Churn(
        relapses={
            (one.subject, one.key): states.Relapses(noise(f"revision {one}", 40), count=3)
            for one in named[: churn.MAX_RELAPSES]
        },
        series=tuple((one.subject, noise(f"at {one}", 40), 7) for one in named[: churn.MAX_SERIES]),
        rounds={noise(f"round {number}", outcomes.INVARIANT_LIMIT): number + 1 for number in range(churn.MAX_ROUNDS)},
    )


def test_a_small_state_is_left_as_it_is() -> None:
    state = states.State(UID, subjects={A: memory([identity(1)], parked=False)})
    assert bound.fit(state, [identity(1)]) is state
    assert json.loads(codec.encode(state))["version"] == 1


@pytest.mark.parametrize("subjects", [1, 10, 50])
@pytest.mark.parametrize("parked", [False, True], ids=["disposed of", "in question"])
def test_a_hundred_live_entries_fit_with_all_that_can_be_known_of_them(subjects: int, parked: bool) -> None:
    state = worst(subjects, parked=parked)
    live = [one for known in state.subjects.values() for one in known.alerted]
    assert len(live) == overflow.MAX_ENTRIES
    assert sum(len(json.dumps([one.key, one.episode])) for one in live) == overflow.MAX_TEXT
    fitting = bound.fit(state, live)
    assert size(fitting) <= codec.MAX_BYTES
    assert fitting.subjects == state.subjects
    assert fitting.in_flight == state.in_flight
    assert codec.decode(codec.encode(fitting), UID) == fitting


def hidden(number: int) -> verdicts.Identity:
    """One of many whose names nothing can make shorter."""
    return verdicts.Identity(A, f"red:{hashlib.sha512(str(number).encode()).hexdigest()}-{number:04}", REVISION)


def gone(count: int) -> states.State:
    """Live entries and many that are not shown any more, the first of them longest ago."""
    stamps = {hidden(number): states.Stamp(number, number) for number in range(count)}
    said = {hidden(number): states.Disposed(wakes.Disposition.DISPATCHED, number) for number in range(count)}
    told = {hidden(number): states.Answered("", number, "yes") for number in range(0, count, 50)}
    memory = states.SubjectState(REVISION, alerted=stamps, dispositions=said, answered=told)
    return states.State(UID, subjects={A: memory})


def test_what_is_gone_goes_first_and_the_oldest_of_it() -> None:
    live = [hidden(number) for number in range(20)]
    state = gone(900)
    assert len(codec.encode(state).encode()) > codec.MAX_BYTES
    fitting = bound.fit(state, live)
    assert len(codec.encode(fitting).encode()) <= codec.MAX_BYTES
    left = fitting.subject(A)
    assert set(live) <= set(left.alerted)
    assert set(live) <= set(left.dispositions)
    numbers = sorted(int(one.key[-4:]) for one in left.alerted)
    assert numbers[20:] == list(range(numbers[20], 900))
    assert numbers[20] > 20
    assert fitting.forgotten == 900 - len(left.alerted)


def test_then_what_has_left_the_wake_the_facts_about_churn_and_the_texts_of_ends() -> None:
    live = [hidden(number) for number in range(20)]
    sent = tuple(states.Sent(hidden(number), 1, 1, 1, left=2) for number in range(700))
    ends = tuple(
        states.Sent(
            one, 1, 1, 1, outcome=observations.Outcome.FAILED, brief=hashlib.sha512(one.key.encode()).hexdigest()
        )
        for one in live
    )
    rounds = {hashlib.sha512(str(number).encode()).hexdigest(): 1 for number in range(20)}
    flown = states.InFlight(ids.WakeId("w"), 1, (states.Version(1, wakes.WakeType.WAKE, "converged"),), sent, 2)
    state = states.State(UID, in_flight=flown, owed=ends, churn=states.Churn(rounds=rounds))
    fitting = bound.fit(state, live)
    assert fitting.in_flight is not None
    assert fitting.in_flight.sent == ()
    assert (fitting.churn, fitting.owed) == (state.churn, ends)


def test_what_a_claimed_version_holds_stays_also_where_it_left_a_later_one() -> None:
    left = states.Sent(identity(0), NOW, NOW, 1, left=2)
    rows = tuple(states.Sent(hidden(number), NOW, NOW, 2, left=3) for number in range(1, 900))
    versions = (states.Version(1, wakes.WakeType.WAKE, "converged"),)
    flown = states.InFlight(ids.WakeId("w"), NOW, versions, (left, *rows), sequence=3, claimed=1)
    fitting = bound.fit(states.State(UID, in_flight=flown), [])
    assert fitting.in_flight == states.InFlight(ids.WakeId("w"), NOW, versions, (left,), sequence=3, claimed=1)


def test_entries_that_come_and_go_do_not_pile_up_beyond_what_can_be_packed() -> None:
    stays = states.Sent(identity(0), NOW, NOW, 1)
    flapping = tuple(states.Sent(identity(1), NOW + n, NOW + n, n, left=n + 1) for n in range(2, 12_000, 2))
    versions = (states.Version(1, wakes.WakeType.WAKE, "converged"),)
    flown = states.InFlight(ids.WakeId("w"), NOW, versions, (stays, *flapping), sequence=12_000)
    fitting = bound.fit(states.State(UID, in_flight=flown), [identity(0)])
    assert size(fitting) <= codec.MAX_BYTES
    assert fitting.in_flight == states.InFlight(ids.WakeId("w"), NOW, versions, (stays,), sequence=12_000)


def test_of_many_ends_at_once_the_texts_go_last_and_the_ends_stay() -> None:
    ends = tuple(
        states.Sent(
            verdicts.Identity(ids.SubjectId(noise(f"s{number}", 150)), noise(f"k{number}", 200), None),
            NOW,
            NOW,
            1,
            outcome=observations.Outcome.FAILED,
            brief=noise(f"b{number}", flight.BRIEF_LIMIT),
        )
        for number in range(100)
    )
    versions = (states.Version(1, wakes.WakeType.TERMINAL, "failed"),)
    flown = states.InFlight(ids.WakeId("w"), NOW, versions, ends[:50])
    state = states.State(UID, in_flight=flown, owed=ends[50:])
    assert size(state) > codec.MAX_BYTES
    fitting = bound.fit(state, [])
    assert size(fitting) <= codec.MAX_BYTES
    assert fitting.in_flight is not None
    kept = [*fitting.in_flight.sent, *fitting.owed]
    assert [one.identity for one in kept] == [one.identity for one in ends]
    assert {one.brief for one in kept} == {""}


def test_a_state_that_nothing_makes_small_enough_is_given_as_small_as_it_gets() -> None:
    window = {hidden(number): states.Member(hidden(number), NOW) for number in range(900)}
    owed = (states.Sent(hidden(0), NOW, NOW, 1, outcome=observations.Outcome.FAILED, brief="it is lost"),)
    fitting = bound.fit(states.State(UID, window=window, owed=owed, churn=facts([identity(1)])), list(window))
    assert size(fitting) > codec.MAX_BYTES
    assert (fitting.window, fitting.churn) == (window, states.Churn())
    assert [one.brief for one in fitting.owed] == [""]
