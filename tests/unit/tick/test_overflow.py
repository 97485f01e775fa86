"""The cap on the entries of a Watch."""

import dataclasses
import json

from vigil.model import failures, ids, observations, states, verdicts, wakes
from vigil.tick import overflow

A, B = ids.SubjectId("a"), ids.SubjectId("b")
UID = ids.WatchUid("w1")
NOTHING = states.State(UID)


def red(number: int, **more: object) -> observations.Observation:
    """One of many entries."""
    made = observations.Observation(f"red:{number:03}", observations.Severity.WAKE, observations.ResetsOn.REVISION)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type] # any field


def stream_of(key: str) -> str:
    """The stream of a key is what stands before its colon."""
    return key.partition(":")[0]


def read(*seen: observations.Observation) -> observations.ProbeResult:
    """A complete read."""
    return observations.ProbeResult(seen, "r1")


def keys(of: observations.ReadingOf) -> list[str]:
    """What a reading shows."""
    assert isinstance(of, observations.ProbeResult)
    return [one.key for one in of.observations]


def test_what_is_within_the_cap_is_left_as_it_is() -> None:
    reading: dict[ids.SubjectId, observations.ReadingOf] = {A: read(*(red(n) for n in range(100)))}
    reading[B] = failures.Failure(failures.Category.TIMEOUT, "late")
    assert overflow.bounded(reading, NOTHING, stream_of) == reading


def test_past_it_one_entry_of_each_stream_stands_for_the_rest() -> None:
    comments = [red(n, key=f"comment:{n:03}", resets_on=observations.ResetsOn.NEVER) for n in range(60)]
    shown = overflow.bounded({A: read(*comments, *(red(n) for n in range(60)))}, NOTHING, stream_of)[A]
    assert isinstance(shown, observations.ProbeResult)
    assert len(shown.observations) == 101
    (rest,) = [one for one in shown.observations if one.key.startswith("overflow:")]
    assert (rest.key, rest.resets_on) == ("overflow:red", observations.ResetsOn.REVISION)
    assert rest.brief == "20 more: red:040, red:041, red:042, …"


def test_the_cap_is_one_of_all_subjects_together() -> None:
    reading = {A: read(*(red(n) for n in range(70))), B: read(*(red(n) for n in range(70)))}
    shown = overflow.bounded(reading, NOTHING, stream_of)
    assert [len(keys(shown[A])), len(keys(shown[B]))] == [70, 31]
    assert keys(shown[B])[-1] == "overflow:red"


def test_ends_are_never_among_the_rest_and_urgent_ones_come_before_others() -> None:
    end = red(998, severity=observations.Severity.TERMINAL, outcome=observations.Outcome.FAILED)
    urgent = red(999, severity=observations.Severity.IMMEDIATE)
    shown = keys(overflow.bounded({A: read(*(red(n) for n in range(150)), end, urgent)}, NOTHING, stream_of)[A])
    assert {"red:998", "red:999"} <= set(shown)
    assert len(shown) == 101


def test_what_is_remembered_is_never_among_the_rest() -> None:
    late = [verdicts.Identity(A, f"red:{n:03}", "r1") for n in (140, 141, 142, 144, 145, 146, 147, 143)]
    sent = states.Sent(late[2], 0, 0, 1)
    known = states.State(
        UID,
        subjects={
            A: states.SubjectState(
                "r1",
                alerted={late[0]: states.Stamp(0, 0)},
                held={late[3]: states.Held(0, "")},
                dispositions={late[4]: states.Disposed(wakes.Disposition.CLAIMED, 0)},
                parked={late[5]: states.Parked("q1", "")},
                answered={late[6]: states.Answered("", 0, "use it")},
            )
        },
        window={late[1]: states.Member(late[1], 0)},
        in_flight=states.InFlight(ids.WakeId("w"), 0, (), (sent,)),
    )
    shown = keys(overflow.bounded({A: read(*(red(n) for n in range(150)))}, known, stream_of)[A])
    assert {one.key for one in late[:-1]} <= set(shown)
    assert "red:143" not in shown


def test_an_entry_for_the_rest_is_as_lasting_and_urgent_as_the_foremost_of_them_and_held_only_if_all_are() -> None:
    many = [red(n, severity=observations.Severity.IMMEDIATE) for n in range(100)]
    lasting = [red(n, resets_on=observations.ResetsOn.NEVER, hold=60.0) for n in (200, 201)]
    shown = overflow.bounded({A: read(*many, *lasting)}, NOTHING, stream_of)[A]
    assert isinstance(shown, observations.ProbeResult)
    rest = shown.observations[-1]
    assert (rest.resets_on, rest.severity) == (observations.ResetsOn.NEVER, observations.Severity.WAKE)
    assert rest.hold == observations.SETTLE
    urgent = [*many, *lasting, red(300, severity=observations.Severity.IMMEDIATE)]
    shown = overflow.bounded({A: read(*urgent)}, NOTHING, stream_of)[A]
    assert isinstance(shown, observations.ProbeResult)
    assert (shown.observations[-1].severity, shown.observations[-1].hold) == (observations.Severity.IMMEDIATE, 0)
    assert len(shown.observations) == 101


def test_a_claim_among_the_rest_is_not_made() -> None:
    claim = red(999, key="zz", claim=True, outcome=observations.Outcome.SUCCEEDED)
    shown = keys(overflow.bounded({A: read(*(red(n) for n in range(100)), claim)}, NOTHING, stream_of)[A])
    assert shown == [f"red:{n:03}" for n in range(100)]


def test_long_names_are_capped_by_their_bytes() -> None:
    long = [red(n, key=f"{n:03}{'ü' * 150}") for n in range(50)]
    shown = overflow.bounded({A: read(*long)}, NOTHING, lambda _key: "ci")[A]
    assert isinstance(shown, observations.ProbeResult)
    texts = [json.dumps([one.key, one.episode], ensure_ascii=False) for one in shown.observations[:-1]]
    assert sum(len(text.encode()) for text in texts) <= overflow.MAX_TEXT
    assert shown.observations[-1].key == "overflow:ci"
