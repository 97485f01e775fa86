"""What a claim and an outcome of the wake in flight change in the memory."""

import dataclasses
from collections.abc import Mapping

from vigil.model import ids, limits, states, verdicts, wakes


def claimed(state: states.State, wake: ids.WakeId, sequence: int) -> states.State:
    """The state once a session took version `sequence` of the wake: it is frozen, and what joined later waits again.

    Another wake than the one in flight, or one that is known to be claimed, changes nothing.
    """
    flown = state.in_flight
    if flown is None or flown.id != wake or flown.claimed is not None:
        return state
    frozen = dataclasses.replace(flown, claimed=min(sequence, flown.sequence))
    late = [one for one in flown.sent if one not in frozen.present and one.left is None]
    window = {identity: member for identity, member in state.window.items() if identity not in _identities(frozen)}
    window.update({one.identity: states.Member(one.identity, one.since) for one in late if one.outcome is None})
    notice = flown.current.type is wakes.WakeType.NOTICE and frozen.current.type is not wakes.WakeType.NOTICE
    return dataclasses.replace(
        state,
        in_flight=frozen,
        window=window,
        owed=(*state.owed, *(one for one in late if one.outcome is not None)),
        owed_notice=state.owed_notice or notice,
    )


def ended(state: states.State, event: wakes.OutcomeEvent, limits_: limits.Limits) -> states.State:
    """The state after the outcome of the wake in flight; the outcome of any other wake changes nothing."""
    frozen = claimed(state, event.wake, event.sequence)
    flown = frozen.in_flight
    if flown is None or flown.id != event.wake or event.state not in wakes.OUTCOMES:
        return state
    after = dataclasses.replace(frozen, in_flight=None, spent=_charged(frozen, flown, event))
    told = _stamped(after, flown, limits_) if event.state in wakes.STAMPING else _given_back(after, flown)
    return _disposed(told, flown, event)


def _identities(flown: states.InFlight) -> frozenset[verdicts.Identity]:
    return frozenset(one.identity for one in flown.present)


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
        memory = subjects.get(one.identity.subject, states.SubjectState())
        if one.identity.revision not in (None, memory.revision):
            continue
        alerted = {**memory.alerted, one.identity: states.Stamp(at=one.at, shown=one.at)}
        said = dict(memory.dispositions)
        if accepted:
            said[one.identity] = states.Disposed(wakes.Disposition.DISPATCHED, shown=one.at)
        subjects[one.identity.subject] = dataclasses.replace(memory, alerted=alerted, dispositions=said)
    return dataclasses.replace(state, subjects=subjects, unstamped=0)


def _given_back(state: states.State, flown: states.InFlight) -> states.State:
    """What was not told keeps its place in the window, at its old stamp; an end and a notice are owed."""
    window = {one.identity: states.Member(one.identity, one.since) for one in flown.present if one.outcome is None}
    return dataclasses.replace(
        state,
        window={**state.window, **window},
        owed=(*state.owed, *(one for one in flown.present if one.outcome is not None)),
        owed_notice=state.owed_notice or flown.current.type is wakes.WakeType.NOTICE,
        unstamped=state.unstamped + 1,
    )


def _disposed(state: states.State, flown: states.InFlight, event: wakes.OutcomeEvent) -> states.State:
    """What the agent said of the entries of its wake; `open` takes a disposition back."""
    subjects: dict[ids.SubjectId, states.SubjectState] = dict(state.subjects)
    for said in event.dispositions:
        for one in flown.present:
            identity = one.identity
            memory = subjects.get(identity.subject)
            if memory is None or identity.key != said.key or said.subject not in ("", identity.subject):
                continue
            told = _with(memory.dispositions, identity, said, one.at)
            subjects[identity.subject] = dataclasses.replace(memory, dispositions=told)
    return dataclasses.replace(state, subjects=subjects)


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
