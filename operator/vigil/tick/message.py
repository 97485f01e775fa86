"""The wake in flight as it is told: its entries with their briefs, and the evidence they rest on."""

import datetime
from collections.abc import Iterator

from vigil.kind import api as kind_api
from vigil.model import failures, ids, observations, states, wakes
from vigil.tick import churn, memory


def message_of(now_known: memory.Memory, flown: states.InFlight) -> wakes.WakeMessage:
    """The newest version of the wake in flight (the claimed one, once it is claimed)."""
    watch, shown = now_known.watch, now_known.shown
    labels = {target.id: target.label for target in watch.targets}
    entries = tuple(_entry(one, shown.get(one.identity), labels, now_known) for one in flown.present)
    return wakes.WakeMessage(
        id=flown.id,
        sequence=flown.sequence if flown.claimed is None else flown.claimed,
        watch=watch.ref,
        type=flown.current.type,
        reason=flown.current.reason,
        brief=_brief(entries, flown, now_known, labels),
        entries=entries,
        decided_at=flown.decided_at,
        observed_at=now_known.state.last_tick or flown.decided_at,
        evidence=_evidence(now_known, flown),
        deliver=watch.deliver,
        kind=watch.kind.name,
        description=watch.description,
    )


def _entry(
    one: states.Sent,
    seen: observations.Observation | None,
    labels: dict[ids.SubjectId, str],
    now_known: memory.Memory,
) -> wakes.WakeEntry:
    subject = one.identity.subject
    severity = observations.Severity.WAKE if seen is None else seen.severity
    return wakes.WakeEntry(
        subject=labels.get(subject, subject),
        key=one.identity.key,
        severity=severity if one.outcome is None else observations.Severity.TERMINAL,
        brief=one.brief if seen is None else seen.brief,
        since=now_known.current.since.get(one.identity, one.since),
        revision=one.identity.revision or now_known.state.subject(subject).revision or "",
        outcome=one.outcome,
    )


def _brief(
    entries: tuple[wakes.WakeEntry, ...],
    flown: states.InFlight,
    now_known: memory.Memory,
    labels: dict[ids.SubjectId, str],
) -> str:
    """One line for people: the keys, or where there are none what the subjects waited for."""
    keys = ", ".join(dict.fromkeys(entry.key for entry in entries))
    told = keys or "; ".join(_waiting(now_known, labels))
    return f"{flown.current.reason}: {told}" if told else flown.current.reason


def _waiting(now_known: memory.Memory, labels: dict[ids.SubjectId, str]) -> Iterator[str]:
    for name, of in now_known.current.reading.items():
        if isinstance(of, observations.ProbeResult) and of.waiting:
            yield f"{labels.get(name, name)} waits: {of.waiting}"


def _evidence(now_known: memory.Memory, flown: states.InFlight) -> str:
    return "\n".join(_evidence_lines(now_known, flown))


def _evidence_lines(now_known: memory.Memory, flown: states.InFlight) -> Iterator[str]:
    watch = now_known.watch
    labels = {target.id: target.label for target in watch.targets}
    yield f"Watch {watch.ref.namespace}/{watch.ref.name}, {watch.kind.name}, objective {watch.objective}"
    yield f"Wake {flown.id}, version {flown.sequence}, decided at {_utc(flown.decided_at)}: {flown.current.reason}"
    yield from _facts(now_known, flown, labels)
    told = {one.identity.subject for one in flown.present}
    for target in watch.targets:
        if told and target.id not in told:
            continue
        yield f"\n## {target.label} ({target.id})"
        of = now_known.current.reading.get(target.id)
        if isinstance(of, failures.Failure):
            yield f"Last read failed: {of.category}: {of.message}"
        snapshot = now_known.snapshots.get(target.id)
        yield _rendered(watch.kind, snapshot) if snapshot is not None else "Not read since this process started."


def _facts(now_known: memory.Memory, flown: states.InFlight, labels: dict[ids.SubjectId, str]) -> Iterator[str]:
    """What was answered to questions about these entries, and how the Watch goes round in circles."""
    for one in flown.present:
        answered = now_known.state.subject(one.identity.subject).answered.get(one.identity)
        if answered is not None and answered.answer:
            yield f"Answer to the question about {one.identity.key}: {answered.answer}"
    for fact in churn.told(now_known.state.churn, labels):
        yield f"Churn: {fact}"


def _rendered(kind: kind_api.Kind, snapshot: kind_api.Snapshot) -> str:
    try:
        return kind.evidence(snapshot)
    except Exception as error:
        # A kind is a plug-in: a wake without its evidence is better than no wake.
        return f"The kind {kind.name} cannot render its evidence: {type(error).__name__}: {error}"


def _utc(at: ids.Instant) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="seconds")
