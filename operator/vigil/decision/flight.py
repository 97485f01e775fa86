"""How a wake is put in flight and amended: the one place that makes a wake of entries."""

import dataclasses
from collections.abc import Iterable, Sequence

from vigil.decision import digests, step
from vigil.model import observations, states, verdicts, wakes

BRIEF_LIMIT = 300


def send_wake(tick: step.Step, reason: verdicts.WakeReason, identities: Iterable[verdicts.Identity]) -> step.Step:
    """Put a wake with these entries in flight; they leave the window."""
    chosen = sorted(set(identities), key=digests.sort_key)
    entries = tuple(_entry(tick, identity) for identity in chosen)
    wake = states.InFlight(
        id=digests.wake_id(tick.state, reason.value, chosen),
        decided_at=tick.now,
        versions=(states.Version(1, wakes.WakeType.WAKE, reason.value),),
        sent=tuple(_sent(tick, entry, 1) for entry in entries),
    )
    window = {identity: member for identity, member in tick.state.window.items() if identity not in set(chosen)}
    sent = tick.with_state(in_flight=wake, window=window)
    return dataclasses.replace(sent, verdict=verdicts.Wake(entries, brief_of(entries), reason))


def send_terminal(tick: step.Step, ends: Sequence[verdicts.Entry], owed: Sequence[states.Sent]) -> step.Step:
    """Put the TERMINAL entries in flight, alone, and retire their subjects; an unclaimed wake becomes this one."""
    entries = tuple(
        sorted([*ends, *(_owed_entry(one) for one in owed)], key=lambda entry: digests.sort_key(entry.identity))
    )
    flown = tick.state.in_flight
    if flown is not None and flown.current.type is wakes.WakeType.TERMINAL:
        before = [_owed_entry(one) for one in flown.present]
        outcome = worst(entry.observation.outcome for entry in [*entries, *before])
    else:
        outcome = worst(entry.observation.outcome for entry in entries)
    retired = _retired(tick, ends)
    verdict = verdicts.Terminal(entries, worst(entry.observation.outcome for entry in entries))
    flying = _become(retired, wakes.WakeType.TERMINAL, outcome.value.lower(), entries)
    return dataclasses.replace(flying.with_state(owed=()), verdict=verdict)


def send_stop(tick: step.Step, reason: verdicts.StopReason) -> step.Step:
    """End the Watch and put its notice in flight; a wake that nobody claimed becomes the notice, an end goes first."""
    flown = tick.state.in_flight
    if flown is not None and flown.current.type is wakes.WakeType.TERMINAL:
        stopped = tick.with_state(ended=reason, owed_notice=True)
    else:
        ended = tick.with_state(ended=reason, owed_notice=False)
        stopped = _become(ended, wakes.WakeType.NOTICE, reason.value, ())
    return dataclasses.replace(stopped, verdict=verdicts.Stop(reason))


def amend(tick: step.Step, flown: states.InFlight) -> step.Step:
    """Let what is news join an unclaimed wake and what has cleared leave it; an emptied wake is taken back."""
    version = flown.sequence + 1
    kept = {sent.identity for sent in flown.present if _still(tick, sent)}
    sent = tuple(_left(one, version) if one.left is None and one.identity not in kept else one for one in flown.sent)
    fresh = sorted((identity for identity in tick.news if identity not in kept), key=digests.sort_key)
    joined = tuple(_sent(tick, tick.news[identity], version) for identity in fresh)
    if not kept and not joined:
        return take_back(tick)
    window = {identity: member for identity, member in tick.state.window.items() if identity not in set(fresh)}
    changed = bool(joined) or sent != flown.sent
    amended = dataclasses.replace(flown, sent=(*sent, *joined), sequence=version) if changed else flown
    return dataclasses.replace(tick.with_state(in_flight=amended, window=window), closed=True)


def take_back(tick: step.Step) -> step.Step:
    """Take an unclaimed wake back: it ends without a stamp, so that a repeat has another id."""
    return tick.with_state(in_flight=None, unstamped=tick.state.unstamped + 1)


def remembered(state: states.State, identity: verdicts.Identity) -> bool:
    """Whether an entry is still one of the Watch's: its subject is watched, not retired, and at this revision."""
    memory = state.subjects.get(identity.subject)
    return memory is not None and memory.retired is None and identity.revision in (None, memory.revision)


def _still(tick: step.Step, sent: states.Sent) -> bool:
    """Whether an entry of an unclaimed wake still belongs there; a read that is not complete proves no absence."""
    identity = sent.identity
    if identity in tick.entries:
        return identity in tick.news or (identity in tick.unserved and not tick.results[identity.subject].complete)
    if not remembered(tick.state, identity) or (sent.claim and identity.subject in tick.contradicted):
        return False
    result = tick.results.get(identity.subject)
    proven = result is not None and result.complete
    return not proven or (identity.revision is None and identity not in tick.lapsed)


def _become(tick: step.Step, type_: wakes.WakeType, reason: str, entries: Sequence[verdicts.Entry]) -> step.Step:
    """Make a new wake of these entries, or the next version of the unclaimed one, whose own entries wait again."""
    flown = tick.state.in_flight
    if flown is None:
        wake = states.InFlight(
            id=digests.wake_id(tick.state, reason, [entry.identity for entry in entries], tick.state.started),
            decided_at=tick.now,
            versions=(states.Version(1, type_, reason),),
            sent=tuple(_sent(tick, entry, 1) for entry in entries),
        )
        return tick.with_state(in_flight=wake)
    version, joining = flown.sequence + 1, {entry.identity for entry in entries}
    stays = {one.identity for one in flown.present if one.outcome is not None} - joining
    wake = dataclasses.replace(
        flown,
        decided_at=tick.now,
        versions=(*flown.versions, states.Version(version, type_, reason)),
        sent=(
            *(one if one.left is not None or one.identity in stays else _left(one, version) for one in flown.sent),
            *(_sent(tick, entry, version) for entry in entries),
        ),
        sequence=version,
    )
    return tick.with_state(in_flight=wake, window={**tick.state.window, **waiting(flown.present)})


def waiting(sent: Iterable[states.Sent]) -> dict[verdicts.Identity, states.Member]:
    """The entries as members of the window, at their old stamps; an end does not wait there."""
    return {one.identity: states.Member(one.identity, one.since, one.claim) for one in sent if one.outcome is None}


def _retired(tick: step.Step, ends: Sequence[verdicts.Entry]) -> step.Step:
    """The step with the subjects of these entries retired, and the Watch ended when none is left."""
    by_subject = {entry.identity.subject for entry in ends}
    changes = {
        subject: dataclasses.replace(
            tick.state.subject(subject),
            retired=worst(entry.observation.outcome for entry in ends if entry.identity.subject == subject),
        )
        for subject in by_subject
    }
    done = tick.with_subjects(changes)
    alive = [subject for subject in tick.reading if subject not in by_subject]
    if alive or done.state.ended is not None:
        return done
    return done.with_state(ended=worst(memory.retired for memory in done.state.subjects.values()))


def worst(outcomes: Iterable[observations.Outcome | None]) -> observations.Outcome:
    """FAILED if any of them is."""
    failed = observations.Outcome.FAILED in set(outcomes)
    return observations.Outcome.FAILED if failed else observations.Outcome.SUCCEEDED


def brief_of(entries: Sequence[verdicts.Entry]) -> str:
    """One line for people about these entries."""
    told = "; ".join(entry.observation.brief or entry.identity.key for entry in entries)
    return told if len(told) <= BRIEF_LIMIT else told[: BRIEF_LIMIT - 1] + "…"


def _entry(tick: step.Step, identity: verdicts.Identity) -> verdicts.Entry:
    """The entry of an identity; one that is no longer shown (NEVER, it still waits) has its key and nothing else."""
    shown = tick.entries.get(identity)
    if shown is not None:
        return shown
    resets_on = observations.ResetsOn.NEVER if identity.revision is None else observations.ResetsOn.REVISION
    seen = observations.Observation(identity.key, observations.Severity.WAKE, resets_on, episode=identity.episode)
    return verdicts.Entry(identity, seen)


def _owed_entry(one: states.Sent) -> verdicts.Entry:
    """The TERMINAL entry of a subject that nobody reads any more."""
    resets_on = observations.ResetsOn.NEVER if one.identity.revision is None else observations.ResetsOn.REVISION
    seen = observations.Observation(
        one.identity.key, observations.Severity.TERMINAL, resets_on, brief=one.brief, outcome=one.outcome
    )
    return verdicts.Entry(one.identity, seen)


def _sent(tick: step.Step, entry: verdicts.Entry, version: int) -> states.Sent:
    member = tick.state.window.get(entry.identity)
    end = entry.observation.severity is observations.Severity.TERMINAL
    return states.Sent(
        identity=entry.identity,
        since=tick.now if member is None else member.since,
        at=tick.now,
        joined=version,
        outcome=entry.observation.outcome if end else None,
        brief=entry.observation.brief[:BRIEF_LIMIT] if end else "",
        claim=entry.observation.claim or (member is not None and member.claim),
    )


def _left(one: states.Sent, version: int) -> states.Sent:
    return dataclasses.replace(one, left=version)
