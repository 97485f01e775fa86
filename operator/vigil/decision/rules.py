"""The rules of the decision, one function each, in the order of the chain.

A rule changes the step as the rules before it left it. A rule that sends something sets the verdict; the rules after
it then only keep their memory up to date. No rule looks at the text of a key or a brief.
"""

import dataclasses
from collections.abc import Mapping
from typing import Final

from vigil.decision import digests, flight, questions, step
from vigil.model import failures, ids, limits, observations, states, verdicts, wakes

_DISPOSED: Final = frozenset({wakes.Disposition.DISPATCHED, wakes.Disposition.CLAIMED})


def revision(tick: step.Step) -> None:
    """1. A new revision drops the subject's REVISION memory, before anything is masked."""
    moved: set[ids.SubjectId] = set()
    for subject, result in tick.results.items():
        memory = tick.subject(subject)
        if memory.revision != result.revision:
            moved.add(subject)
            tick.keep(subject, _of_revision(memory, result.revision))
    if moved:
        tick.leave_window([one for one in tick.window if one.subject in moved and one.revision is not None])
    questions.void(tick)
    _baseline(tick)


def _of_revision(memory: states.SubjectState, new: str) -> states.SubjectState:
    """The memory at the new revision; a question about the old one is still there to be found void."""
    return dataclasses.replace(
        memory,
        revision=new,
        alerted={identity: stamp for identity, stamp in memory.alerted.items() if identity.revision is None},
        held={identity: held for identity, held in memory.held.items() if identity.revision is None},
        dispositions={identity: said for identity, said in memory.dispositions.items() if identity.revision is None},
        answered={identity: told for identity, told in memory.answered.items() if identity.revision is None},
    )


def _baseline(tick: step.Step) -> None:
    """What is true before the watch began is stamped up to the first complete read, where the policy wants that."""
    for subject, result in tick.results.items():
        memory = tick.subject(subject)
        if memory.read:
            continue
        if tick.limits.policy.on_first_observation is limits.FirstObservation.BASELINE:
            memory = _stamped(tick, subject, memory)
        tick.subjects[subject] = dataclasses.replace(memory, read=result.complete)


def _stamped(tick: step.Step, subject: ids.SubjectId, memory: states.SubjectState) -> states.SubjectState:
    shown = [one for one in tick.of_subject(subject) if one.observation.severity is not observations.Severity.TERMINAL]
    alerted = {one.identity: states.Stamp(tick.now, tick.now) for one in shown}
    dispatched = states.Disposed(wakes.Disposition.DISPATCHED, tick.now)
    said = {one.identity: dispatched for one in shown if one.identity.revision is None}
    return dataclasses.replace(
        memory, alerted={**memory.alerted, **alerted}, dispositions={**memory.dispositions, **said}
    )


def hold(tick: step.Step) -> None:
    """2. An entry with a hold counts after it has stood for that time with the activity unmoved, in a complete read."""
    for subject, result in tick.results.items():
        memory = tick.subject(subject)
        if not tick.holds and not memory.held:
            continue
        held = _held(tick, subject, result, memory)
        if held != memory.held:
            tick.subjects[subject] = dataclasses.replace(memory, held=held)
        unserved = [one for one, since in held.items() if not result.complete or not _served(tick, one, since)]
        lapsed = [one for one in memory.held if one not in held and one not in tick.entries]
        tick.unserved.update(unserved)
        tick.lapsed.update(lapsed)
        tick.leave_window([*lapsed, *unserved] if result.complete else lapsed)


def _served(tick: step.Step, identity: verdicts.Identity, held: states.Held) -> bool:
    """Whether a hold has run its time; after a complete read all that is held is shown."""
    return tick.now - held.since >= tick.holds[identity]


def _held(
    tick: step.Step, subject: ids.SubjectId, result: observations.ProbeResult, memory: states.SubjectState
) -> Mapping[verdicts.Identity, states.Held]:
    """The holds of a subject after this read; an incomplete one begins none again and ends none."""
    absent: Mapping[verdicts.Identity, states.Held] = states.EMPTY if result.complete else memory.held
    held = {one: since for one, since in absent.items() if one not in tick.entries}
    activity = digests.short(result.activity)
    for identity in tick.holds:
        if identity.subject == subject:
            before = memory.held.get(identity)
            if before is None or (result.complete and before.activity != activity):
                held[identity] = states.Held(tick.now, activity)
            else:
                held[identity] = before if before.since <= tick.now else before._replace(since=tick.now)
    return held


def withhold(tick: step.Step) -> None:
    """3. A claim waits while something else of its subject is open and not dispatched, or in question or unread."""
    members = [one for one, member in tick.window.items() if member.claim]
    subjects = {one.subject for one in (*tick.claims, *members)}
    contradicted = {subject for subject in subjects if flight.contradicted(tick, subject)}
    tick.withheld.update(one for one in tick.claims if one.subject in contradicted)
    tick.leave_window([one for one in members if one.subject in contradicted])
    tick.leave_window(tick.withheld)


def terminal(tick: step.Step) -> None:
    """4. TERMINAL entries go alone, over an open window, a spent budget and a silence, and retire their subjects."""
    if tick.flown is not None and tick.flown.claimed is not None:
        return
    served = [one for one in tick.ends if one not in tick.unserved and one not in tick.withheld]
    ends = [verdicts.Entry(one, tick.entries[one]) for one in served]
    owed = tick.owed if tick.flown is None else ()
    if ends or owed:
        flight.send_terminal(tick, ends, owed)


def budget(tick: step.Step) -> None:
    """5. A spent budget is a Stop at once, news or not; a claimed wake goes first, and after the end nothing leaves."""
    flown = tick.flown
    if tick.verdict is not None or (flown is not None and flown.claimed is not None):
        return
    if tick.ended is None:
        if (spent := _spent(tick)) is not None:
            flight.send_stop(tick, spent)
    elif isinstance(tick.ended, verdicts.StopReason) and tick.owed_notice and flown is None and not tick.silenced:
        flight.send_stop(tick, tick.ended)
    else:
        tick.closed = True


def _spent(tick: step.Step) -> verdicts.StopReason | None:
    budgets, spent = tick.limits.budgets, tick.spent
    errors = max((tick.subject(subject).errors for subject in tick.reading), default=0)
    used = (
        (verdicts.StopReason.LIFETIME, budgets.lifetime, tick.now - tick.started),
        (verdicts.StopReason.ACTIVE_TIME, budgets.active_time, spent.active_time),
        (verdicts.StopReason.TURNS, budgets.turns, spent.turns),
        (verdicts.StopReason.TOKENS, budgets.tokens, spent.tokens),
        (verdicts.StopReason.PROVIDER_ERRORS, budgets.provider_errors, errors),
    )
    for reason, limit, value in used:
        if limit is not None and value >= limit:
            return reason
    return None


def mask(tick: step.Step) -> None:
    """8. What was told within `realertAfter`, and what is disposed of, is no news.

    It stands before rule 6, which asks what is news: an entry in flight is judged there, not here.
    """
    kept_back = {*tick.unserved, *tick.withheld, *tick.ends}
    for identity, seen in tick.entries.items():
        if not _masked(tick, tick.subjects[identity.subject], identity) and identity not in kept_back:
            tick.news[identity] = seen


def _masked(tick: step.Step, memory: states.SubjectState, identity: verdicts.Identity) -> bool:
    stamp = memory.alerted.get(identity)
    if stamp is not None and 0 <= tick.now - stamp.at < tick.limits.policy.realert_after:
        return True
    return _disposed(memory, identity)


def _disposed(memory: states.SubjectState, identity: verdicts.Identity) -> bool:
    said = memory.dispositions.get(identity)
    return identity in memory.parked or (said is not None and said.disposition in _DISPOSED)


def in_flight(tick: step.Step) -> None:
    """6. One wake per Watch: amended until it is claimed, then frozen; an emptied one is taken back."""
    flown = tick.flown
    if flown is None or tick.verdict is not None:
        return
    unclaimed = flown.claimed is None
    if unclaimed and flown.current.type is wakes.WakeType.WAKE:
        flight.amend(tick, flown)
    elif unclaimed and flown.current.type is wakes.WakeType.NOTICE and tick.ended is None:
        _give_way(tick, flown)
    else:
        tick.closed = True


def _give_way(tick: step.Step, flown: states.InFlight) -> None:
    """A notice may wait for long, since it starts no turn, and news must not: it closes nothing.

    The notice of a Stop that a new generation lifted is taken back, and so is that of a failure that is over.
    """
    if flown.current.reason != flight.BLOCKED or tick.blocked is None:
        flight.take_back(tick)


def silence(tick: step.Step) -> None:
    """7. Until `silenceUntil` nothing leaves but an end; what is fresh joins the window."""
    if tick.silenced:
        tick.closed = True


def immediate(tick: step.Step) -> None:
    """9. A served IMMEDIATE entry that is news is delivered now, with every served entry that is news."""
    if not tick.open_for_wakes or not tick.news:
        return
    if any(seen.severity is observations.Severity.IMMEDIATE for seen in tick.news.values()):
        waiting = [
            one for one in tick.window if one.subject in tick.results and one not in tick.unserved and _stays(tick, one)
        ]
        flight.send_wake(tick, verdicts.WakeReason.IMMEDIATE, [*tick.news, *waiting])


def coalesce(tick: step.Step) -> None:
    """10. A fresh entry waits in the window until the subject has converged and the window has passed, or its cap."""
    if not tick.window and not tick.news:
        return
    _join(tick)
    if not tick.open_for_wakes or not tick.window or any(one.subject not in tick.results for one in tick.window):
        return
    served = {one: member for one, member in tick.window.items() if one not in tick.unserved}
    if served and (reason := _flush_reason(tick, served)) is not None:
        flight.send_wake(tick, reason, served)


def _join(tick: step.Step) -> None:
    """Take what has left out of the window and what is fresh into it; what is in flight is neither."""
    sent = {one.identity for one in tick.flown.present} if tick.flown is not None else set[verdicts.Identity]()
    tick.window = {one: member for one, member in tick.window.items() if one not in sent and _stays(tick, one)}
    for identity, seen in tick.news.items():
        if identity not in sent and identity not in tick.window and flight.remembered(tick, identity):
            tick.window[identity] = states.Member(identity, tick.now, seen.claim)


def _stays(tick: step.Step, identity: verdicts.Identity) -> bool:
    """Whether a member goes on waiting; a failed or incomplete read proves nothing about what it does not show."""
    if not flight.remembered(tick, identity):
        return False
    if identity in tick.entries:
        return identity in tick.news or identity in tick.unserved
    if _disposed(tick.subjects[identity.subject], identity):
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


def floor(tick: step.Step) -> None:
    """11. After so many quiet ticks in a row the next complete one is a wake with all that is open, even if none is."""
    enough = tick.limits.policy.floor_ticks
    if 0 < enough <= tick.floor and tick.open_for_wakes and tick.complete:
        since = tick.now if tick.floor_since is None else tick.floor_since
        flight.send_wake(tick, verdicts.WakeReason.FLOOR, tick.deliverable(), [("", since)])


def stall(tick: step.Step) -> None:
    """12. The same open identities for so many settled ticks and so long: the Watch stops, or says so once."""
    policy = tick.limits.policy
    if not tick.limits.finite or policy.stall_action is limits.StallAction.OFF or tick.ended is not None:
        return
    if tick.complete and (tick.stall is None or tick.stall.digest != tick.digest):
        tick.stall = states.Stall(tick.digest, tick.now)
    if tick.stall is None or tick.window or _under_way(tick):
        return
    if not _settled(tick):
        if tick.stall.ticks:
            tick.stall = dataclasses.replace(tick.stall, ticks=0)
        return
    tick.stall = states.Stall(tick.stall.digest, tick.stall.since, tick.stall.ticks + 1, tick.stall.told)
    enough = tick.stall.ticks >= policy.stall_ticks and tick.now - tick.stall.since >= policy.stall_min_duration
    if not enough or not tick.open_for_wakes:
        # The notice that the Watch was Blocked may be claimed still: it is waited for.
        return
    if policy.stall_action is limits.StallAction.STOP:
        flight.send_stop(tick, verdicts.StopReason.STALLED)
    elif not tick.stall.told:
        about = [(tick.stall.digest, tick.stall.since)]
        flight.send_wake(tick, verdicts.WakeReason.STALLED, tick.deliverable(), about)


def _under_way(tick: step.Step) -> bool:
    """Whether a wake is in flight or was sent now; the notice of a Blocked Watch is none."""
    return tick.verdict is not None or (tick.flown is not None and tick.flown.current.reason != flight.BLOCKED)


def _settled(tick: step.Step) -> bool:
    return (
        tick.complete
        and not tick.unserved
        and not tick.silenced
        and all(result.pending == 0 and result.error is None for result in tick.results.values())
        and not any(memory.parked for memory in tick.subjects.values())
    )


def blind(tick: step.Step) -> None:
    """13. From so many failed ticks in a row on a subject is blind: that is told once per `realertAfter`."""
    enough = tick.limits.policy.blind_after
    if not tick.open_for_wakes:
        return
    unseen = [
        (str(subject), failing)
        for subject in tick.reading
        if 0 < enough <= (memory := tick.subject(subject)).errors
        and (failing := memory.failing) is not None
        and not _told_blind(tick, memory)
    ]
    if unseen:
        flight.send_wake(tick, verdicts.WakeReason.BLIND, (), sorted(unseen))
    elif tick.blocked is not None and not (tick.blocked.told or tick.window or tick.news or tick.flown):
        # What retrying does not heal is told once too, by a notice: it is no verdict.
        flight.send_blocked(tick, tick.blocked)


def _told_blind(tick: step.Step, memory: states.SubjectState) -> bool:
    told = memory.blind
    return told is not None and 0 <= tick.now - told < tick.limits.policy.realert_after


def quiet(tick: step.Step) -> verdicts.Quiet:
    """The first reason of the closed list that is true of the Watch in this tick."""
    failed = [of for of in tick.reading.values() if isinstance(of, failures.Failure)]
    results = tick.results.values()
    for reason, true in (
        (verdicts.QuietReason.THROTTLED, any(one.category is failures.Category.THROTTLED for one in failed)),
        (verdicts.QuietReason.UNREADABLE, bool(failed)),
        (verdicts.QuietReason.INCOMPLETE, any(not result.complete for result in results)),
        (verdicts.QuietReason.IN_FLIGHT, tick.flown is not None),
        (verdicts.QuietReason.SILENCED, tick.silenced),
        (verdicts.QuietReason.HOLDING, bool(tick.unserved)),
        (verdicts.QuietReason.WITHHELD, bool(tick.withheld)),
        (verdicts.QuietReason.COALESCING, bool(tick.window)),
        (verdicts.QuietReason.PARKED, any(memory.parked for memory in tick.subjects.values())),
        (verdicts.QuietReason.HANDLED, bool(tick.entries)),
        (verdicts.QuietReason.PENDING, any(result.pending for result in results)),
    ):
        if true:
            return verdicts.Quiet(reason)
    return verdicts.Quiet(verdicts.QuietReason.NOTHING_OPEN)
