"""The status of a Watch, rendered from what a tick left behind.

Nothing in it changes because time passed: the same facts give the same bytes, whatever `now` is. What a provider words
differently in every read (a brief, an error's message) keeps the text that it had when its entry or its category
appeared.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from vigil.api import problems, status_conditions, status_entries, status_prior, times, yamljson
from vigil.api import v1alpha1_status as shape
from vigil.model import failures, ids, observations, states, verdicts
from vigil.state import codec, migrations
from vigil.tick import checkpoint, enrolment
from vigil.tick import phase as phases


def render(left: checkpoint.Checkpoint, prior_status: Mapping[str, Any] | None, now: ids.Instant) -> dict[str, Any]:
    """The whole status after a tick, as JSON; `prior_status` is the one that is stored now, None at first."""
    prior = status_prior.read(prior_status or {})
    phase = _phase(left, prior)
    subjects = [_subject(target, left, prior) for target in left.watch.targets]
    entries = status_entries.render(left, prior)
    return _json(
        shape.WatchStatus(
            observed_generation=left.watch.ref.generation,
            phase=phase,
            conditions=tuple(status_conditions.render(left, phase, subjects, prior, now)),
            summary=_summary(left, len(entries), prior),
            subjects=tuple(subjects),
            observations=tuple(entries[: shape.MAX_OBSERVATIONS]),
            verdict=_verdict(left, prior, now),
            wakes=tuple(_wake(one) for one in left.wakes[: shape.MAX_WAKES]),
            budget=_budget(left),
        ),
        _engine(left, prior),
    )


def render_invalid(
    path: str, message: str, generation: int, prior_status: Mapping[str, Any] | None, now: ids.Instant
) -> dict[str, Any]:
    """The status of a Watch whose spec is not valid; what was known of it is kept for a valid one to come."""
    prior = status_prior.read(prior_status or {})
    told = str(problems.Problem(path, message))
    changes = {
        "observed_generation": generation,
        "phase": phases.Phase.INVALID,
        "conditions": tuple(status_conditions.of_invalid(told, generation, prior, now)),
    }
    return _json(prior.status.model_copy(update=changes), _stored_engine(prior_status or {}))


def _json(status: shape.WatchStatus, engine: Mapping[str, Any] | None) -> dict[str, Any]:
    rendered = status.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"engine"})
    return rendered if engine is None else {**rendered, "engine": dict(engine)}


def _phase(left: checkpoint.Checkpoint, prior: status_prior.Prior) -> phases.Phase:
    """The phase; a Watch that another process has evaluated before is not Pending again."""
    phase = phases.phase_of(left)
    if phase is not phases.Phase.PENDING or left.state.started is None:
        return phase
    return phases.Phase.BLOCKED if prior.status.phase is phases.Phase.BLOCKED else phases.Phase.WATCHING


def _subject(target: enrolment.Target, left: checkpoint.Checkpoint, prior: status_prior.Prior) -> shape.SubjectStatus:
    name = status_prior.cut(target.id, shape.ID_LIMIT)
    before = prior.subjects.get(name)
    memory_of = left.state.subject(target.id)
    of = left.reading.get(target.id)
    anchor = left.anchors.get(target.id, "")
    return shape.SubjectStatus(
        id=name,
        label=status_prior.cut(target.label, shape.LABEL_LIMIT),
        phase=_subject_phase(memory_of, of, before),
        revision=None if memory_of.revision is None else status_prior.cut(memory_of.revision, shape.TEXT_LIMIT),
        anchor=anchor if _can_be_kept(anchor) else None,
        last_error=None if memory_of.retired is not None else _last_error(of, before),
    )


def _can_be_kept(anchor: str) -> bool:
    """Whether a status can hold an anchor whole: a part of it, or half of a surrogate pair in it, would be another."""
    return 0 < len(anchor) <= shape.ID_LIMIT and not any("\ud800" <= one <= "\udfff" for one in anchor)


def _subject_phase(
    memory_of: states.SubjectState, of: observations.ReadingOf | None, before: shape.SubjectStatus | None
) -> shape.SubjectPhase:
    if memory_of.retired is not None:
        return shape.SubjectPhase(memory_of.retired.value)
    if isinstance(of, failures.Failure):
        return shape.SubjectPhase.UNREADABLE
    if isinstance(of, observations.ProbeResult):
        return shape.SubjectPhase.WATCHING
    if before is not None and before.phase is shape.SubjectPhase.UNREADABLE:
        return before.phase
    return shape.SubjectPhase.PENDING if memory_of.revision is None else shape.SubjectPhase.WATCHING


def _last_error(of: observations.ReadingOf | None, before: shape.SubjectStatus | None) -> shape.SubjectError | None:
    """The error of the last read; its message is the first one of its category in a row."""
    known = None if before is None else before.last_error
    if of is None:
        return known
    error = of if isinstance(of, failures.Failure) else of.error
    if error is None or (known is not None and known.category is error.category):
        return None if error is None else known
    return shape.SubjectError(category=error.category, message=status_prior.cut(error.message, failures.MESSAGE_LIMIT))


def _summary(left: checkpoint.Checkpoint, opened: int, prior: status_prior.Prior) -> shape.Summary:
    first, *others = left.watch.targets
    label = status_prior.cut(first.label, shape.LABEL_LIMIT)
    limit = left.watch.limits.budgets.turns
    return shape.Summary(
        subject=f"{label}, +{len(others)}" if others else label,
        open=opened,
        wakes=_wakes_made(left, prior),
        turns=f"{left.state.spent.turns}" if limit is None else f"{left.state.spent.turns}/{limit}",
    )


def _wakes_made(left: checkpoint.Checkpoint, prior: status_prior.Prior) -> int:
    """How many wakes there were: those counted, and those of the last few that the last status does not show."""
    counted = 0 if prior.status.summary is None else prior.status.summary.wakes
    known = {one.id for one in prior.status.wakes}
    return counted + sum(1 for one in left.wakes if one.id not in known)


def _verdict(left: checkpoint.Checkpoint, prior: status_prior.Prior, now: ids.Instant) -> shape.VerdictStatus | None:
    verdict, before = left.verdict, prior.status.verdict
    if verdict is None:
        return before
    kind, keys = shape.VerdictType(type(verdict).__name__), _verdict_keys(verdict, left)
    same = before is not None and (before.type, before.reason, before.keys) == (kind, verdict.reason, keys)
    return shape.VerdictStatus(
        type=kind, reason=verdict.reason, keys=keys, since=before.since if before and same else times.render(now)
    )


def _verdict_keys(verdict: verdicts.Verdict, left: checkpoint.Checkpoint) -> tuple[str, ...]:
    """The keys that are told, sorted, each once; with their subject's label where there are several subjects."""
    if not isinstance(verdict, verdicts.Wake | verdicts.Terminal):
        return ()
    labels = {target.id: target.label for target in left.watch.targets}
    several = len(labels) > 1
    identities = (entry.identity for entry in verdict.entries)
    keys = {f"{labels.get(one.subject, one.subject)}#{one.key}" if several else one.key for one in identities}
    return _bounded(sorted(keys))


def _bounded(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(status_prior.cut(key, shape.PREFIXED_KEY_LIMIT) for key in list(keys)[: shape.MAX_KEYS])


def _wake(one: checkpoint.WakeRecord) -> shape.WakeStatus:
    return shape.WakeStatus(
        id=one.id, type=one.type, reason=one.reason, state=one.state, keys=_bounded(one.keys), at=times.render(one.at)
    )


def _budget(left: checkpoint.Checkpoint) -> shape.BudgetStatus:
    spent = left.state.spent
    return shape.BudgetStatus(
        turns=spent.turns, tokens=spent.tokens, limits=status_conditions.limits_of(left.watch.limits.budgets)
    )


def _engine(left: checkpoint.Checkpoint, prior: status_prior.Prior) -> dict[str, Any]:
    """The document, never cut: the API server refuses what is too long, and half of it must not overwrite the whole."""
    before = prior.status.engine
    if left.quarantined == codec.QuarantineReason.VERSION_UNKNOWN:
        version = migrations.VERSION if before is None else before.version
        return {"version": version, "document": left.quarantined_document}
    unread = left.quarantined_document or (None if before is None else before.quarantined)
    aside = {"quarantined": unread} if unread else {}
    return {"version": migrations.VERSION, "document": codec.encode(left.state), **aside}


def _stored_engine(status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The engine's part as it is stored, whether or not the rest of it has a shape that is known here."""
    engine = status.get("engine")
    return engine if yamljson.is_object(engine) else None
