"""Any state of a Watch, whether or not a history leads to it."""

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from vigil.model import ids, observations, states, verdicts, wakes

UID = ids.WatchUid("w1")

_text = st.text(max_size=8)
_printable = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])
_keys = st.text(_printable, min_size=1, max_size=8)
_times = st.floats(-1e12, 1e12) | st.integers(-(10**9), 10**10).map(float)
_counts = st.integers(0, 10**9)
_subjects = st.sampled_from([ids.SubjectId("a"), ids.SubjectId("b"), ids.SubjectId("toy://h/ü")])
_outcomes = st.sampled_from(list(observations.Outcome))

identities = st.builds(verdicts.Identity, _subjects, _keys, st.none() | _text, _text)


def _of(subject: ids.SubjectId, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping[verdicts.Identity, Any]]:
    own = st.builds(verdicts.Identity, st.just(subject), _keys, st.none() | _text, _text)
    return st.dictionaries(own, values, max_size=3)


@st.composite
def memories(draw: st.DrawFn, subject: ids.SubjectId) -> states.SubjectState:
    """The memory of one subject."""
    return states.SubjectState(
        revision=draw(st.none() | _text),
        alerted=draw(_of(subject, st.builds(states.Stamp, _times, _times))),
        held=draw(_of(subject, st.builds(states.Held, _times, _text))),
        dispositions=draw(
            _of(subject, st.builds(states.Disposed, st.sampled_from(list(wakes.Disposition)), _times, _text))
        ),
        parked=draw(_of(subject, st.builds(states.Parked, _text, _text))),
        answered=draw(_of(subject, st.builds(states.Answered, _text, _times, _text))),
        retired=draw(st.none() | _outcomes),
        read=draw(st.booleans()),
        errors=draw(_counts),
        failing=draw(st.none() | _times),
        blind=draw(st.none() | _times),
    )


_sent = st.builds(
    states.Sent,
    identities,
    _times,
    _times,
    _counts,
    st.none() | _counts,
    st.none() | _outcomes,
    _text,
    st.booleans(),
    st.none() | _times,
    st.booleans(),
    _text,
)

_flights = st.builds(
    states.InFlight,
    id=_text.map(ids.WakeId),
    decided_at=_times,
    versions=st.lists(
        st.builds(states.Version, _counts, st.sampled_from(list(wakes.WakeType)), _text), min_size=1, max_size=3
    ).map(tuple),
    sent=st.lists(_sent, max_size=4).map(tuple),
    sequence=_counts,
    claimed=st.none() | _counts,
    spells=st.lists(st.tuples(_text, _times), max_size=2).map(tuple),
)

_churn = st.builds(
    states.Churn,
    relapses=st.dictionaries(
        st.tuples(_subjects, _keys), st.builds(states.Relapses, _text, st.booleans(), _counts), max_size=3
    ),
    stream=_text,
    alternations=_counts,
    series=st.lists(st.tuples(_subjects, _text, _counts), max_size=3).map(tuple),
    rounds=st.dictionaries(_text, _counts, max_size=3),
)


@st.composite
def all_states(draw: st.DrawFn) -> states.State:
    """Any state."""
    members = draw(st.lists(st.builds(states.Member, identities, _times, st.booleans()), max_size=4))
    ended: st.SearchStrategy[states.Ended] = st.sampled_from([*observations.Outcome, *verdicts.StopReason])
    return states.State(
        watch=UID,
        subjects={name: draw(memories(name)) for name in draw(st.sets(_subjects))},
        window={member.identity: member for member in members},
        spent=states.Spent(draw(_counts), draw(_counts), draw(_times)),
        in_flight=draw(st.none() | _flights),
        unstamped=draw(_counts),
        forgotten=draw(_counts),
        owed=draw(st.lists(_sent, max_size=2).map(tuple)),
        owed_notice=draw(st.booleans()),
        started=draw(st.none() | _times),
        last_tick=draw(st.none() | _times),
        read_at=draw(st.dictionaries(_subjects, _times, max_size=3)),
        ended=draw(st.none() | ended),
        silence_until=draw(st.none() | _times),
        stall=draw(st.none() | st.builds(states.Stall, _text, _times, _counts, st.booleans())),
        floor=draw(_counts),
        floor_since=draw(st.none() | _times),
        blocked=draw(st.none() | st.builds(states.Blocked, _times, st.booleans())),
        churn=draw(_churn),
        generation=draw(_counts),
        reset=draw(_text),
        purpose=draw(_text),
    )
