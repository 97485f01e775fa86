"""What a claim and an outcome of the wake in flight change in the memory."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping

from vigil.decision import digests, flight, questions
from vigil.model import ids, limits, observations, states, verdicts, wakes

INVARIANT_LIMIT = 64
"""Characters of the name of an invariant that are kept."""

Shown = Mapping[verdicts.Identity, observations.Observation]
"""What the latest reading shows."""


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
    shown: Shown = states.EMPTY,
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
        if memory is not None and one.identity.revision in (None, memory.revision):
            subjects[one.identity.subject] = _told(memory, one, accepted)
    return _spell_told(dataclasses.replace(state, subjects=subjects, unstamped=0), flown)


def _told(memory: states.SubjectState, one: states.Sent, accepted: bool) -> states.SubjectState:
    identity = one.identity
    alerted, said, answered = dict(memory.alerted), dict(memory.dispositions), dict(memory.answered)
    if one.stamps:
        alerted[identity] = states.Stamp(at=one.at, shown=one.last_shown)
    if accepted and identity not in memory.parked and (one.stamps or identity in alerted):
        said[identity] = states.Disposed(wakes.Disposition.DISPATCHED, shown=one.last_shown)
    if identity in answered:
        answered[identity] = answered[identity]._replace(answer="")
    return dataclasses.replace(memory, alerted=alerted, dispositions=said, answered=answered)


def _spell_told(state: states.State, flown: states.InFlight) -> states.State:
    """What else the wake told: that subjects are blind, that the Watch is stalled, or that it is Blocked."""
    match flown.current.reason:
        case verdicts.WakeReason.BLIND:
            subjects = dict(state.subjects)
            for name, failing in flown.spells:
                memory = state.subject(ids.SubjectId(name))
                if memory.failing == failing:
                    subjects[ids.SubjectId(name)] = dataclasses.replace(memory, blind=flown.decided_at)
            return dataclasses.replace(state, subjects=subjects)
        case verdicts.WakeReason.STALLED if state.stall is not None and (state.stall.digest in dict(flown.spells)):
            return dataclasses.replace(state, stall=dataclasses.replace(state.stall, told=True))
        case flight.BLOCKED if state.blocked is not None and state.blocked.since in dict(flown.spells).values():
            return dataclasses.replace(state, blocked=dataclasses.replace(state.blocked, told=True))
        case _:
            return state


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


def _disposed(state: states.State, flown: states.InFlight, event: wakes.OutcomeEvent, shown: Shown) -> states.State:
    """What the agent said of the entries of its wake, else of those of the latest reading; `open` takes it back."""
    of_wake = {one.identity: (one.last_shown, one.detail) for one in flown.present}
    read_at = event.at if state.last_tick is None else state.last_tick
    of_reading = {identity: (read_at, digests.short(seen.detail)) for identity, seen in shown.items()}
    for said in event.dispositions:
        bound = {one: rest for one, rest in of_wake.items() if _names(said, one)} or of_reading
        for identity, (at, detail) in bound.items():
            if identity.subject in state.subjects and _names(said, identity):
                state = _said(state, identity, said, at, detail)
    return state


def _names(said: wakes.DispositionOf, identity: verdicts.Identity) -> bool:
    return identity.key == said.key and said.subject in ("", identity.subject)


def _said(
    state: states.State, identity: verdicts.Identity, said: wakes.DispositionOf, at: ids.Instant, detail: str
) -> states.State:
    """The memory with one disposition of one entry."""
    memory = state.subject(identity.subject)
    others = {other: told for other, told in memory.dispositions.items() if other != identity}
    if said.disposition is wakes.Disposition.PARKED:
        after = questions.park(memory, identity, said.question or said.key, detail)
    elif said.disposition is not wakes.Disposition.OPEN:
        if identity.revision not in (None, memory.revision):
            # A new revision drops what is said of the old one, also where that is said late.
            return state
        told = states.Disposed(said.disposition, at, said.invariant[:INVARIANT_LIMIT])
        after = dataclasses.replace(memory, dispositions={**others, identity: told})
    elif identity in memory.parked:
        return questions.take_back(state, memory.parked[identity].question)
    else:
        after = dataclasses.replace(memory, dispositions=others)
    return dataclasses.replace(state, subjects={**state.subjects, identity.subject: after})
