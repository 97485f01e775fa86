"""The bound on the state document."""

from vigil.model import ids, observations, states, verdicts, wakes
from vigil.state import codec
from vigil.tick import bound, overflow

UID = ids.WatchUid("6f1c9a52-0d0e-4a53-9a43-0a3c5a8b2c11")
A = ids.SubjectId("github_pull_request://github.com/acme/a-repository-with-a-long-name/pull/123456")
REVISION = "f" * 40


def identity(number: int, text: str = "red:ci/a-workflow/a-job") -> verdicts.Identity:
    """One of many."""
    return verdicts.Identity(A, f"{text}-{number:03}", REVISION)


def worst(named: list[verdicts.Identity]) -> states.State:
    """Everything that can be remembered of live entries at once: told, held, disposed of, answered and in flight."""
    memory = states.SubjectState(
        REVISION,
        alerted={one: states.Stamp(1764567890.123456, 1764567890.123456) for one in named},
        held={one: states.Held(1764567890.123456, "a" * 64) for one in named[::4]},
        dispositions={
            one: states.Disposed(wakes.Disposition.DISPATCHED, 1764567890.123456, "unit-tests") for one in named[::2]
        },
        parked={one: states.Parked("which-api", "d" * 32) for one in named[1::8]},
        read=True,
    )
    sent = tuple(states.Sent(one, 1764567890.123456, 1764567890.123456, 1, shown=1764567890.123456) for one in named)
    versions = (states.Version(1, wakes.WakeType.WAKE, "converged"),)
    flown = states.InFlight(ids.WakeId("e" * 32), 1764567890.123456, versions, sent)
    return states.State(UID, subjects={A: memory}, in_flight=flown, started=1764567890.123456)


def test_a_small_state_is_left_as_it_is() -> None:
    state = worst([identity(1)])
    assert bound.fit(state, [identity(1)]) is state


def test_a_hundred_live_entries_fit_with_all_that_can_be_known_of_them() -> None:
    length = overflow.MAX_TEXT // overflow.MAX_ENTRIES - 12
    named = [identity(number, "k" * (length - 4)) for number in range(overflow.MAX_ENTRIES)]
    state = worst(named)
    assert bound.fit(state, named) is state
    assert len(codec.encode(state).encode()) <= codec.MAX_BYTES


def gone(count: int) -> states.State:
    """Live entries and many that are not shown any more, the first of them longest ago."""
    stamps = {identity(number): states.Stamp(number, number) for number in range(count)}
    said = {identity(number): states.Disposed(wakes.Disposition.DISPATCHED, number) for number in range(count)}
    told = {identity(number): states.Answered("", number, "yes") for number in range(0, count, 50)}
    return states.State(
        UID, subjects={A: states.SubjectState(REVISION, alerted=stamps, dispositions=said, answered=told)}
    )


def test_what_is_gone_goes_first_and_the_oldest_of_it() -> None:
    live = [identity(number) for number in range(20)]
    state = gone(600)
    assert len(codec.encode(state).encode()) > codec.MAX_BYTES
    fitting = bound.fit(state, live)
    assert len(codec.encode(fitting).encode()) <= codec.MAX_BYTES
    left = fitting.subject(A)
    assert set(live) <= set(left.alerted)
    assert set(live) <= set(left.dispositions)
    numbers = sorted(int(one.key[-3:]) for one in left.alerted)
    assert numbers[20:] == list(range(numbers[20], 600))
    assert numbers[20] > 20
    assert fitting.forgotten == 600 - len(left.alerted)


def test_the_facts_about_churn_go_last() -> None:
    rounds = {"i" * 300 + str(number): 1 for number in range(200)}
    state = states.State(UID, churn=states.Churn(rounds=rounds))
    assert bound.fit(state, []) == states.State(UID)
    assert observations.KEY_LIMIT < 300
