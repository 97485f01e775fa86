"""The rules of the decision, one function each, in the order of the chain.

A rule takes the step as the rules before it left it and gives the next one. A rule that sends something sets the
verdict; the rules after it then only keep their memory up to date. No rule looks at the text of a key or a brief.
"""

import dataclasses
from collections.abc import Mapping

from vigil.decision import flight, step
from vigil.model import failures, ids, observations, states, verdicts, wakes

_DISPOSED = frozenset({wakes.Disposition.DISPATCHED, wakes.Disposition.CLAIMED})


def revision(tick: step.Step) -> step.Step:
    """1. A new revision drops the subject's REVISION memory, before anything is masked."""
    moved = {
        subject: result.revision
        for subject, result in tick.results.items()
        if tick.state.subject(subject).revision != result.revision
    }
    if not moved:
        return tick
    window = {
        identity: member
        for identity, member in tick.state.window.items()
        if identity.subject not in moved or identity.revision is None
    }
    subjects = {subject: _of_revision(tick.state.subject(subject), new) for subject, new in moved.items()}
    return _forgetting(tick, subjects).with_state(window=window)


def _forgetting(tick: step.Step, changes: Mapping[ids.SubjectId, states.SubjectState]) -> step.Step:
    """The step with the memory of these subjects, and a count of the stamps that it has no more."""
    before = sum(len(tick.state.subject(subject).alerted) for subject in changes)
    dropped = before - sum(len(memory.alerted) for memory in changes.values())
    return tick.with_subjects(changes).with_state(forgotten=tick.state.forgotten + dropped)


def _of_revision(memory: states.SubjectState, new: str) -> states.SubjectState:
    return dataclasses.replace(
        memory,
        revision=new,
        alerted={identity: stamp for identity, stamp in memory.alerted.items() if identity.revision is None},
        held={identity: held for identity, held in memory.held.items() if identity.revision is None},
        dispositions={identity: said for identity, said in memory.dispositions.items() if identity.revision is None},
    )


def hold(tick: step.Step) -> step.Step:
    """2. An entry with a hold counts after it has stood for that time with the activity unmoved, in a complete read."""
    changes: dict[ids.SubjectId, states.SubjectState] = {}
    unserved: set[verdicts.Identity] = set()
    lapsed: set[verdicts.Identity] = set()
    for subject, result in tick.results.items():
        memory = tick.state.subject(subject)
        held = _held(tick, subject, result, memory)
        if held != memory.held:
            changes[subject] = dataclasses.replace(memory, held=held)
        unserved.update(one for one, since in held.items() if not result.complete or not _served(tick, one, since))
        lapsed.update(one for one in memory.held if one not in held and one not in tick.entries)
    window = {
        identity: member
        for identity, member in tick.state.window.items()
        if identity not in lapsed and (identity not in unserved or not tick.results[identity.subject].complete)
    }
    held_back = dataclasses.replace(tick, unserved=frozenset(unserved), lapsed=frozenset(lapsed))
    return held_back.with_subjects(changes).with_state(window=window)


def _served(tick: step.Step, identity: verdicts.Identity, held: states.Held) -> bool:
    """Whether a hold has run its time; after a complete read all that is held is shown."""
    return tick.now - held.since >= _length(tick, tick.entries[identity])


def _length(tick: step.Step, entry: verdicts.Entry) -> ids.Seconds:
    hold_of = entry.observation.hold
    return tick.limits.policy.settle if hold_of == observations.SETTLE else hold_of


def _held(
    tick: step.Step, subject: ids.SubjectId, result: observations.ProbeResult, memory: states.SubjectState
) -> Mapping[verdicts.Identity, states.Held]:
    """The holds of a subject after this read; an incomplete one begins none again and ends none."""
    held = {} if result.complete else dict(memory.held)
    for entry in tick.of_subject(subject):
        if _length(tick, entry) <= 0:
            held.pop(entry.identity, None)
            continue
        before = memory.held.get(entry.identity)
        begins = before is None or (result.complete and before.activity != result.activity)
        if begins or before is None:
            held[entry.identity] = states.Held(tick.now, result.activity)
        else:
            held[entry.identity] = before if before.since <= tick.now else dataclasses.replace(before, since=tick.now)
    return held


def withhold(tick: step.Step) -> step.Step:
    """3. A claim waits while anything else of its subject is open and not dispatched, and in an incomplete read."""
    contradicted = frozenset(
        subject for subject, result in tick.results.items() if _contradicted(tick, subject, result)
    )
    withheld = frozenset(
        identity
        for identity, entry in tick.entries.items()
        if entry.observation.claim and identity.subject in contradicted
    )
    window = {
        identity: member
        for identity, member in tick.state.window.items()
        if identity not in withheld and not (member.claim and identity.subject in contradicted)
    }
    return dataclasses.replace(tick, withheld=withheld, contradicted=contradicted).with_state(window=window)


def _contradicted(tick: step.Step, subject: ids.SubjectId, result: observations.ProbeResult) -> bool:
    said = tick.state.subject(subject).dispositions
    return not result.complete or any(
        not other.observation.claim
        and ((told := said.get(other.identity)) is None or told.disposition is not wakes.Disposition.DISPATCHED)
        for other in tick.of_subject(subject)
    )


def terminal(tick: step.Step) -> step.Step:
    """4. TERMINAL entries go alone, over an open window, a spent budget and a silence, and retire their subjects."""
    if tick.state.in_flight is not None and tick.state.in_flight.claimed is not None:
        return tick
    ends = [
        entry
        for identity, entry in tick.entries.items()
        if entry.observation.severity is observations.Severity.TERMINAL
        and identity not in tick.unserved
        and identity not in tick.withheld
    ]
    owed = tick.state.owed if tick.state.in_flight is None else ()
    return flight.send_terminal(tick, ends, owed) if ends or owed else tick


def budget(tick: step.Step) -> step.Step:
    """5. A spent budget is a Stop at once, news or not; a claimed wake goes first, and after the end nothing leaves."""
    flown = tick.state.in_flight
    if tick.verdict is not None or (flown is not None and flown.claimed is not None):
        return tick
    ended = tick.state.ended
    if isinstance(ended, verdicts.StopReason) and tick.state.owed_notice and flown is None:
        return flight.send_stop(tick, ended)
    if ended is not None:
        return dataclasses.replace(tick, closed=True)
    spent = _spent(tick)
    return tick if spent is None else flight.send_stop(tick, spent)


def _spent(tick: step.Step) -> verdicts.StopReason | None:
    budgets, spent, started = tick.limits.budgets, tick.state.spent, tick.state.started
    age = tick.now - (tick.now if started is None else started)
    errors = max((tick.state.subject(subject).errors for subject in tick.reading), default=0)
    used = (
        (verdicts.StopReason.LIFETIME, budgets.lifetime, age),
        (verdicts.StopReason.ACTIVE_TIME, budgets.active_time, spent.active_time),
        (verdicts.StopReason.TURNS, budgets.turns, spent.turns),
        (verdicts.StopReason.TOKENS, budgets.tokens, spent.tokens),
        (verdicts.StopReason.PROVIDER_ERRORS, budgets.provider_errors, errors),
    )
    return next((reason for reason, limit, value in used if limit is not None and value >= limit), None)


def mask(tick: step.Step) -> step.Step:
    """8. What was told within `realertAfter`, and what is dispatched or claimed, is no news; old memory is dropped.

    It stands before rule 6, which asks what is news: an entry in flight is judged there, not here.
    """
    news = {
        identity: entry
        for identity, entry in tick.entries.items()
        if identity not in tick.unserved
        and identity not in tick.withheld
        and entry.observation.severity is not observations.Severity.TERMINAL
        and not _masked(tick, identity)
    }
    changes = {subject: _seen(tick, memory) for subject, memory in tick.state.subjects.items()}
    changed = {subject: memory for subject, memory in changes.items() if memory is not tick.state.subjects[subject]}
    return _forgetting(dataclasses.replace(tick, news=news), changed).with_state(in_flight=_flown_seen(tick))


def _flown_seen(tick: step.Step) -> states.InFlight | None:
    """The wake in flight with the time of this read on what it shows: an outcome may come much later."""
    flown = tick.state.in_flight
    if flown is None:
        return None
    sent = tuple(
        dataclasses.replace(one, shown=tick.now) if one.identity in tick.entries else one for one in flown.sent
    )
    return dataclasses.replace(flown, sent=sent)


def _masked(tick: step.Step, identity: verdicts.Identity) -> bool:
    stamp = tick.state.subject(identity.subject).alerted.get(identity)
    told = stamp is not None and 0 <= tick.now - stamp.at < tick.limits.policy.realert_after
    return told or _disposed(tick, identity)


def _disposed(tick: step.Step, identity: verdicts.Identity) -> bool:
    said = tick.state.subject(identity.subject).dispositions.get(identity)
    return said is not None and said.disposition in _DISPOSED


def _seen(tick: step.Step, memory: states.SubjectState) -> states.SubjectState:
    """The memory with the time of this read on what it shows, without what was not shown for `realertAfter`."""
    if not memory.alerted and not memory.dispositions:
        return memory
    keep = tick.limits.policy.realert_after
    alerted = {
        identity: dataclasses.replace(stamp, shown=tick.now) if identity in tick.entries else stamp
        for identity, stamp in memory.alerted.items()
        if identity in tick.entries or tick.now - stamp.shown < keep
    }
    said = {
        identity: dataclasses.replace(one, shown=tick.now) if identity in tick.entries else one
        for identity, one in memory.dispositions.items()
        if identity in tick.entries or tick.now - one.shown < keep
    }
    return dataclasses.replace(memory, alerted=alerted, dispositions=said)


def in_flight(tick: step.Step) -> step.Step:
    """6. One wake per Watch: amended until it is claimed, then frozen; an emptied one is taken back."""
    flown = tick.state.in_flight
    if flown is None or tick.verdict is not None:
        return tick
    if flown.claimed is None and flown.current.type is wakes.WakeType.WAKE:
        return flight.amend(tick, flown)
    lifted = flown.current.type is wakes.WakeType.NOTICE and tick.state.ended is None
    if flown.claimed is None and lifted:
        # A new generation lifted the Stop: its notice may wait for long, since it starts no turn, and news must not.
        return flight.take_back(tick)
    return dataclasses.replace(tick, closed=True)


def immediate(tick: step.Step) -> step.Step:
    """9. A served IMMEDIATE entry that is news is delivered now, with every served entry that is news."""
    urgent = any(entry.observation.severity is observations.Severity.IMMEDIATE for entry in tick.news.values())
    if not tick.open_for_wakes or not urgent:
        return tick
    waiting = [
        identity
        for identity in tick.state.window
        if identity.subject in tick.results and identity not in tick.unserved and _stays(tick, identity)
    ]
    return flight.send_wake(tick, verdicts.WakeReason.IMMEDIATE, [*tick.news, *waiting])


def coalesce(tick: step.Step) -> step.Step:
    """10. A fresh entry waits in the window until the subject has converged and the window has passed, or its cap."""
    joined = _joined(tick)
    members = joined.state.window
    if not joined.open_for_wakes or not members or any(i.subject not in tick.results for i in members):
        return joined
    served = {identity: member for identity, member in members.items() if identity not in tick.unserved}
    reason = _flush_reason(joined, served) if served else None
    return joined if reason is None else flight.send_wake(joined, reason, served)


def _joined(tick: step.Step) -> step.Step:
    """The window without what has left it, with what is fresh; what is in flight is neither."""
    flown = tick.state.in_flight
    sent = {one.identity for one in flown.present} if flown is not None else set[verdicts.Identity]()
    window = {
        identity: member
        for identity, member in tick.state.window.items()
        if _stays(tick, identity) and identity not in sent
    }
    for identity, entry in tick.news.items():
        if identity not in sent and identity not in window and flight.remembered(tick.state, identity):
            window[identity] = states.Member(identity, tick.now, entry.observation.claim)
    return tick if window == tick.state.window else tick.with_state(window=window)


def _stays(tick: step.Step, identity: verdicts.Identity) -> bool:
    """Whether a member goes on waiting; a failed or incomplete read proves nothing about what it does not show."""
    if not flight.remembered(tick.state, identity):
        return False
    if identity in tick.entries:
        return identity in tick.news or identity in tick.unserved
    if _disposed(tick, identity):
        return False
    result = tick.results.get(identity.subject)
    return result is None or not result.complete or identity.revision is None


def _flush_reason(tick: step.Step, members: Mapping[verdicts.Identity, states.Member]) -> verdicts.WakeReason | None:
    policy = tick.limits.policy
    if policy.coalesce_window <= 0:
        return verdicts.WakeReason.UNDELAYED
    for identity, member in members.items():
        result = tick.results[identity.subject]
        drained = result.complete and result.pending == 0
        if tick.now - member.since >= policy.coalesce_window and (drained or identity.revision is None):
            return verdicts.WakeReason.CONVERGED
    oldest = min(member.since for member in members.values())
    return verdicts.WakeReason.WINDOW_CAP if tick.now - oldest >= policy.coalesce_max else None


def quiet(tick: step.Step) -> verdicts.Quiet:
    """The first reason of the closed list that is true of the Watch in this tick."""
    failed = [of for of in tick.reading.values() if isinstance(of, failures.Failure)]
    true_of = {
        verdicts.QuietReason.THROTTLED: any(one.category is failures.Category.THROTTLED for one in failed),
        verdicts.QuietReason.UNREADABLE: bool(failed),
        verdicts.QuietReason.INCOMPLETE: any(not result.complete for result in tick.results.values()),
        verdicts.QuietReason.IN_FLIGHT: tick.state.in_flight is not None,
        verdicts.QuietReason.HOLDING: bool(tick.unserved),
        verdicts.QuietReason.WITHHELD: bool(tick.withheld),
        verdicts.QuietReason.COALESCING: bool(tick.state.window),
        verdicts.QuietReason.HANDLED: bool(tick.entries),
        verdicts.QuietReason.PENDING: any(result.pending for result in tick.results.values()),
    }
    return verdicts.Quiet(
        next((reason for reason in verdicts.QuietReason if true_of.get(reason)), verdicts.QuietReason.NOTHING_OPEN)
    )
