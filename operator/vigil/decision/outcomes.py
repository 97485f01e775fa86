"""What a claim and an outcome of the wake in flight change in the memory."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping

from vigil.decision import flight
from vigil.model import ids, limits, states, verdicts, wakes


def held(state: states.State, wake: ids.WakeId, sequence: int) -> states.State:
    """The state once the sidecar holds version `sequence`, unclaimed: no older one can be claimed any more.

    What had left the wake by then is forgotten, so that entries that come and go do not pile up in the document.
    """
    flown = state.in_flight
    if flown is None or flown.id != wake or flown.claimed is not None:
        return state
    sent = tuple(one for one in flown.sent if one.left is None or one.left > sequence)
    return state if sent == flown.sent else dataclasses.replace(state, in_flight=dataclasses.replace(flown, sent=sent))


def claimed(state: states.State, wake: ids.WakeId, sequence: int) -> states.State:
    """The state once a session took version `sequence` of the wake: it is frozen, and what joined later waits again.

    Another wake than the one in flight, or one that is known to be claimed, changes nothing.
    """
    flown = state.in_flight
    if flown is None or flown.id != wake or flown.claimed is not None:
        return state
    frozen = dataclasses.replace(flown, claimed=min(sequence, flown.sequence))
    taken = {one.identity for one in frozen.present}
    late = [one for one in flown.sent if one.left is None and one.identity not in taken]
    window = {**state.window, **flight.waiting(late)}
    notice = flown.current.type is wakes.WakeType.NOTICE and frozen.current.type is not wakes.WakeType.NOTICE
    return dataclasses.replace(
        state,
        in_flight=frozen,
        window={identity: member for identity, member in window.items() if identity not in taken},
        owed=(*state.owed, *_ends(state, late)),
        owed_notice=state.owed_notice or (notice and isinstance(state.ended, verdicts.StopReason)),
    )


def _ends(state: states.State, untold: Collection[states.Sent]) -> Iterator[states.Sent]:
    """The ends among these entries; a subject that was armed again shows its own."""
    return (
        one for one in untold if one.outcome is not None and state.subject(one.identity.subject).retired is not None
    )


def ended(
    state: states.State,
    event: wakes.OutcomeEvent,
    limits_: limits.Limits,
    shown: Collection[verdicts.Identity] = (),
) -> states.State:
    """The state after the outcome of the wake in flight; the outcome of any other wake changes nothing.

    `shown` are the entries of the latest reading, for what was said of an entry that the wake did not hold.
    """
    frozen = claimed(state, event.wake, event.sequence)
    flown = frozen.in_flight
    if flown is None or flown.id != event.wake or event.state not in wakes.OUTCOMES:
        return state
    after = dataclasses.replace(frozen, in_flight=None, spent=_charged(frozen, flown, event))
    told = _stamped(after, flown, limits_) if event.state in wakes.STAMPING else _given_back(after, flown)
    return _disposed(told, flown, event, shown)


def _charged(state: states.State, flown: states.InFlight, event: wakes.OutcomeEvent) -> states.Spent:
    """A notice never starts a turn, so it costs none."""
    costs = event.state in wakes.CHARGED and flown.current.type is not wakes.WakeType.NOTICE
    if not costs:
        return state.spent
    return dataclasses.replace(state.spent, turns=state.spent.turns + 1, tokens=state.spent.tokens + event.tokens)


def _stamped(state: states.State, flown: states.InFlight, limits_: limits.Limits) -> states.State:
    """Every entry counts as told at the time of its verdict, unless its revision is no longer the subject's."""
    subjects: dict[ids.SubjectId, states.SubjectState] = dict(state.subjects)
    accepted = limits_.policy.confirm is limits.Confirm.DELIVERED
    for one in flown.present:
        memory = subjects.get(one.identity.subject)
        if memory is None or one.identity.revision not in (None, memory.revision):
            continue
        alerted = {**memory.alerted, one.identity: states.Stamp(at=one.at, shown=one.last_shown)}
        said = dict(memory.dispositions)
        if accepted:
            said[one.identity] = states.Disposed(wakes.Disposition.DISPATCHED, shown=one.last_shown)
        subjects[one.identity.subject] = dataclasses.replace(memory, alerted=alerted, dispositions=said)
    return dataclasses.replace(state, subjects=subjects, unstamped=0)


def _given_back(state: states.State, flown: states.InFlight) -> states.State:
    """What was not told keeps its place in the window, at its old stamp; an end and a notice are owed."""
    notice = flown.current.type is wakes.WakeType.NOTICE
    return dataclasses.replace(
        state,
        window={**state.window, **flight.waiting(flown.present)},
        owed=(*state.owed, *_ends(state, flown.present)),
        owed_notice=state.owed_notice or (notice and isinstance(state.ended, verdicts.StopReason)),
        unstamped=state.unstamped + 1,
    )


def _disposed(
    state: states.State, flown: states.InFlight, event: wakes.OutcomeEvent, shown: Collection[verdicts.Identity]
) -> states.State:
    """What the agent said of the entries of its wake, else of those of the latest reading; `open` takes it back."""
    of_wake = {one.identity: one.last_shown for one in flown.present}
    read_at = event.at if state.last_tick is None else state.last_tick
    of_reading = dict.fromkeys(shown, read_at)
    subjects: dict[ids.SubjectId, states.SubjectState] = dict(state.subjects)
    for said in event.dispositions:
        bound = {one: at for one, at in of_wake.items() if _names(said, one)} or of_reading
        for identity, at in bound.items():
            memory = subjects.get(identity.subject)
            if memory is not None and _names(said, identity):
                told = _with(memory.dispositions, identity, said, at)
                subjects[identity.subject] = dataclasses.replace(memory, dispositions=told)
    return dataclasses.replace(state, subjects=subjects)


def _names(said: wakes.DispositionOf, identity: verdicts.Identity) -> bool:
    return identity.key == said.key and said.subject in ("", identity.subject)


def _with(
    dispositions: Mapping[verdicts.Identity, states.Disposed],
    identity: verdicts.Identity,
    said: wakes.DispositionOf,
    at: ids.Instant,
) -> Mapping[verdicts.Identity, states.Disposed]:
    others = {other: told for other, told in dispositions.items() if other != identity}
    if said.disposition is wakes.Disposition.OPEN:
        return others
    return {**others, identity: states.Disposed(said.disposition, at, said.invariant)}
