"""How a wake is put in flight and amended: the one place that makes a wake of entries."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from vigil.decision import digests, step
from vigil.model import ids, observations, states, verdicts, wakes

BRIEF_LIMIT: Final = 300
BLOCKED: Final = "blocked"
"""The reason of the one notice about a failure that retrying does not heal."""


def send_wake(
    tick: step.Step,
    reason: verdicts.WakeReason,
    identities: Iterable[verdicts.Identity],
    spells: Collection[tuple[str, ids.Instant]] = (),
) -> None:
    """Put a wake with these entries in flight; they leave the window."""
    if tick.flown is not None:
        take_back(tick)
    chosen = sorted(set(identities), key=digests.sort_key)
    entries = tuple(_entry(tick, identity) for identity in chosen)
    _fly(tick, states.Version(1, wakes.WakeType.WAKE, reason.value), entries, spells)
    tick.leave_window(chosen)
    tick.verdict = verdicts.Wake(entries, brief_of(entries), reason)


def send_terminal(tick: step.Step, ends: Sequence[verdicts.Entry], owed: Sequence[states.Sent]) -> None:
    """Put the TERMINAL entries in flight, alone, and retire their subjects; an unclaimed wake becomes this one."""
    entries = tuple(
        sorted([*ends, *(_owed_entry(one) for one in owed)], key=lambda entry: digests.sort_key(entry.identity))
    )
    flown = tick.flown
    if flown is not None and flown.current.type is wakes.WakeType.TERMINAL:
        before = [_owed_entry(one) for one in flown.present]
        outcome = worst(entry.observation.outcome for entry in [*entries, *before])
    else:
        outcome = worst(entry.observation.outcome for entry in entries)
    _retire(tick, ends)
    _become(tick, wakes.WakeType.TERMINAL, outcome.value.lower(), entries)
    tick.owed = ()
    tick.verdict = verdicts.Terminal(entries, worst(entry.observation.outcome for entry in entries))


def send_stop(tick: step.Step, reason: verdicts.StopReason) -> None:
    """End the Watch, and put its notice in flight: an end goes first, and a silence holds the notice back.

    A wake that nobody claimed becomes the notice, or is taken back in a silence.
    """
    flown = tick.flown
    tick.ended, tick.verdict = reason, verdicts.Stop(reason)
    ends = flown is not None and flown.current.type is wakes.WakeType.TERMINAL
    tick.owed_notice = ends or tick.silenced
    if not tick.owed_notice:
        _become(tick, wakes.WakeType.NOTICE, reason.value, ())
    elif not ends and flown is not None:
        take_back(tick)


def send_blocked(tick: step.Step, blocked: states.Blocked) -> None:
    """Put the notice in flight that the Watch is Blocked: it starts no turn, is no verdict, and gives way to any."""
    _fly(tick, states.Version(1, wakes.WakeType.NOTICE, BLOCKED), (), [(BLOCKED, blocked.since)])


def amend(tick: step.Step, flown: states.InFlight) -> None:
    """Let what is news join an unclaimed wake and what has cleared leave it; an emptied wake is taken back."""
    version = flown.sequence + 1
    kept = {sent.identity for sent in flown.present if _still(tick, sent)}
    sent = tuple(_left(one, version) if one.left is None and one.identity not in kept else one for one in flown.sent)
    fresh = sorted((identity for identity in tick.news if identity not in kept), key=digests.sort_key)
    joined = tuple(_sent(tick, verdicts.Entry(identity, tick.news[identity]), version) for identity in fresh)
    about_nothing = not flown.sent and not spell_over(tick, flown)
    if not kept and not joined and not about_nothing:
        take_back(tick)
        return
    tick.leave_window(fresh)
    if joined or sent != flown.sent:
        tick.flown = dataclasses.replace(flown, sent=(*sent, *joined), sequence=version)
    tick.closed = True


def spell_over(tick: step.Step, flown: states.InFlight) -> bool:
    """Whether what a wake about no entry tells is true no longer."""
    match flown.current.reason:
        case verdicts.WakeReason.BLIND:
            return not any(tick.subject(ids.SubjectId(name)).failing == since for name, since in flown.spells)
        case verdicts.WakeReason.STALLED:
            return tick.complete and all(digest != tick.digest for digest, _ in flown.spells)
        case _:
            return False


def take_back(tick: step.Step) -> None:
    """Take an unclaimed wake back: it ends without a stamp, so that a repeat has another id."""
    tick.flown, tick.unstamped = None, tick.unstamped + 1


def remembered(tick: step.Step, identity: verdicts.Identity) -> bool:
    """Whether an entry is still one of the Watch's: its subject is watched, not retired, and at this revision."""
    memory = tick.subjects.get(identity.subject)
    return memory is not None and memory.retired is None and identity.revision in (None, memory.revision)


def contradicted(tick: step.Step, subject: ids.SubjectId) -> bool:
    """Whether a claim of this subject cannot be made in this tick: something else is open, in question, or unread."""
    result, memory = tick.results.get(subject), tick.subject(subject)
    if result is None:
        return False
    return not result.complete or bool(memory.parked) or any(_open_still(tick, memory, subject))


def _open_still(tick: step.Step, memory: states.SubjectState, subject: ids.SubjectId) -> Iterator[bool]:
    for entry in tick.of_subject(subject):
        said = memory.dispositions.get(entry.identity)
        dispatched = said is not None and said.disposition is wakes.Disposition.DISPATCHED
        yield not entry.observation.claim and not dispatched


def _still(tick: step.Step, sent: states.Sent) -> bool:
    """Whether an entry of an unclaimed wake still belongs there; a read that is not complete proves no absence."""
    identity = sent.identity
    if identity in tick.entries:
        if not sent.stamps:
            # It was masked when a floor or a stall told it, and is told there for being open.
            return True
        return identity in tick.news or (identity in tick.unserved and not tick.results[identity.subject].complete)
    if not remembered(tick, identity) or (sent.claim and contradicted(tick, identity.subject)):
        return False
    result = tick.results.get(identity.subject)
    proven = result is not None and result.complete
    return not proven or (identity.revision is None and identity not in tick.lapsed)


def _fly(
    tick: step.Step,
    version: states.Version,
    entries: Sequence[verdicts.Entry],
    spells: Collection[tuple[str, ids.Instant]],
) -> None:
    told = {entry.identity: _stamp(tick, entry.identity) for entry in entries}
    repeated = [(name, blind) for name, _ in spells if (blind := tick.subject(ids.SubjectId(name)).blind) is not None]
    starts, repeats = [*spells, *repeated], (tick.unstamped, tick.forgotten)
    tick.flown = states.InFlight(
        id=digests.wake_id(tick.prior.watch, version.reason, told, starts, repeats),
        decided_at=tick.now,
        versions=(version,),
        sent=tuple(_sent(tick, entry, 1) for entry in entries),
        spells=tuple(spells),
    )


def _stamp(tick: step.Step, identity: verdicts.Identity) -> ids.Instant | None:
    stamp = tick.subject(identity.subject).alerted.get(identity)
    return None if stamp is None else stamp.at


def _become(tick: step.Step, type_: wakes.WakeType, reason: str, entries: Sequence[verdicts.Entry]) -> None:
    """Make a new wake of these entries, or the next version of the unclaimed one, whose own entries wait again."""
    flown = tick.flown
    if flown is None:
        _fly(tick, states.Version(1, type_, reason), entries, () if entries else [("", tick.started)])
        return
    version, joining = flown.sequence + 1, {entry.identity for entry in entries}
    stays = {one.identity for one in flown.present if one.outcome is not None} - joining
    tick.flown = dataclasses.replace(
        flown,
        decided_at=tick.now,
        versions=(*flown.versions, states.Version(version, type_, reason)),
        sent=(
            *(one if one.left is not None or one.identity in stays else _left(one, version) for one in flown.sent),
            *(_sent(tick, entry, version) for entry in entries),
        ),
        sequence=version,
    )
    tick.window.update(waiting(flown.present))


def waiting(sent: Iterable[states.Sent]) -> Mapping[verdicts.Identity, states.Member]:
    """The entries as members of the window, at their old stamps; an end, and what was masked, does not wait there."""
    return {
        one.identity: states.Member(one.identity, one.since, one.claim)
        for one in sent
        if one.outcome is None and one.stamps
    }


def _retire(tick: step.Step, ends: Sequence[verdicts.Entry]) -> None:
    """Retire the subjects of these entries, and end the Watch when none is left."""
    by_subject = {entry.identity.subject for entry in ends}
    for subject in by_subject:
        outcome = worst(entry.observation.outcome for entry in ends if entry.identity.subject == subject)
        tick.subjects[subject] = dataclasses.replace(tick.subject(subject), retired=outcome)
    known = {*tick.reading, *tick.subjects}
    alive = any(tick.subject(subject).retired is None for subject in known)
    if not alive and tick.ended is None:
        tick.ended = worst(memory.retired for memory in tick.subjects.values())


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
        return verdicts.Entry(identity, shown)
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
    identity, seen = entry
    member = tick.window.get(identity)
    end = seen.severity is observations.Severity.TERMINAL
    return states.Sent(
        identity=identity,
        since=tick.now if member is None else member.since,
        at=tick.now,
        joined=version,
        outcome=seen.outcome if end else None,
        brief=seen.brief[:BRIEF_LIMIT] if end else "",
        claim=seen.claim or (member is not None and member.claim),
        stamps=end or identity in tick.news or member is not None,
        detail=digests.short(seen.detail),
    )


def _left(one: states.Sent, version: int) -> states.Sent:
    return dataclasses.replace(one, left=version)
