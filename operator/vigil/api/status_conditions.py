"""The conditions of a Watch. A transition time moves with the status alone, and a message only with its reason.

`Ready` says that the Watch is being evaluated, or has come to its end; it never says that the subject is good.
"""

import dataclasses
import re
from collections.abc import Iterable
from typing import Final

from vigil.api import durations, status_prior, times
from vigil.api import v1alpha1_status as shape
from vigil.model import failures, ids, limits, observations, verdicts, wakes
from vigil.state import codec
from vigil.tick import checkpoint
from vigil.tick import phase as phases

_TRUE, _FALSE, _UNKNOWN = shape.ConditionStatus.TRUE, shape.ConditionStatus.FALSE, shape.ConditionStatus.UNKNOWN
_NAMED_REASON: Final = re.compile(r"([A-Z][A-Za-z]+): (.*)", re.DOTALL)
_NOT_READY: Final = frozenset({phases.Phase.INVALID, phases.Phase.BLOCKED, phases.Phase.STALLED})


@dataclasses.dataclass(frozen=True, slots=True)
class Said:
    """What a condition says, apart from since when."""

    status: shape.ConditionStatus
    reason: str
    message: str = ""
    steady: bool = False
    """Whether the message keeps its first text while status and reason stay: it may change with every read."""


def render(
    left: checkpoint.Checkpoint,
    phase: phases.Phase,
    subjects: Iterable[shape.SubjectStatus],
    prior: status_prior.Prior,
    now: ids.Instant,
) -> list[shape.Condition]:
    """The conditions of a valid Watch, in their order."""
    told = list(subjects)
    said = {
        **_of_phase(phase, _why(left, phase, told)),
        shape.ConditionType.OBSERVED: _observed(left, told, prior),
        shape.ConditionType.DELIVERED: _delivered(left),
        shape.ConditionType.WITHIN_BUDGET: _within_budget(left),
    }
    return _timed(said, left.watch.ref.generation, prior, now)


def of_invalid(message: str, generation: int, prior: status_prior.Prior, now: ids.Instant) -> list[shape.Condition]:
    """The conditions of a Watch whose spec is not valid; what was observed and delivered before stays said."""
    said = _of_phase(phases.Phase.INVALID, Said(_FALSE, "InvalidSpec", message))
    kept = {
        kind: Said(before.status, before.reason, before.message)
        for kind in (shape.ConditionType.OBSERVED, shape.ConditionType.DELIVERED, shape.ConditionType.WITHIN_BUDGET)
        if (before := prior.conditions.get(kind)) is not None
    }
    return _timed({**said, **kept}, generation, prior, now)


def _timed(
    said: dict[shape.ConditionType, Said], generation: int, prior: status_prior.Prior, now: ids.Instant
) -> list[shape.Condition]:
    """The conditions with the time of their last transition."""
    return [
        _condition(kind, said[kind], generation, prior.conditions.get(kind), now)
        for kind in shape.ConditionType
        if kind in said
    ]


def _condition(
    kind: shape.ConditionType, said: Said, generation: int, before: shape.Condition | None, now: ids.Instant
) -> shape.Condition:
    unmoved = before is not None and before.status == said.status
    message = status_prior.cut(said.message, shape.MESSAGE_LIMIT)
    if before is not None and unmoved and said.steady and before.reason == said.reason:
        message = before.message
    return shape.Condition(
        type=kind,
        status=said.status,
        reason=said.reason,
        message=message,
        last_transition_time=before.last_transition_time if before is not None and unmoved else times.render(now),
        observed_generation=generation,
    )


def _of_phase(phase: phases.Phase, why: Said) -> dict[shape.ConditionType, Said]:
    """The three conditions that kstatus, Flux and Argo CD read: they follow from the phase alone."""
    stuck = phase in _NOT_READY
    pending = phase is phases.Phase.PENDING
    return {
        shape.ConditionType.READY: why,
        shape.ConditionType.RECONCILING: Said(_TRUE if pending else _FALSE, why.reason),
        shape.ConditionType.STALLED: dataclasses.replace(why, status=_TRUE) if stuck else Said(_FALSE, why.reason),
    }


def _why(left: checkpoint.Checkpoint, phase: phases.Phase, subjects: list[shape.SubjectStatus]) -> Said:
    """What the condition Ready says of a valid Watch."""
    if phase in _NOT_READY:
        return _stuck(left, subjects)
    if phase is phases.Phase.PENDING:
        return Said(_UNKNOWN, phase.value, "the subjects were not read yet")
    if phase is phases.Phase.SUSPENDED:
        return Said(_TRUE, phase.value, "spec.suspend is true: nothing is read")
    if left.state.ended is not None:
        return Said(_TRUE, phase.value, _over(left, subjects))
    if left.quarantined == codec.QuarantineReason.UNREADABLE:
        kept = "the stored state could not be read: it is kept in status.engine.quarantined, and a fresh one was begun"
        return Said(_TRUE, left.quarantined, kept)
    return Said(_TRUE, phase.value, "the subjects are being watched")


def _stuck(left: checkpoint.Checkpoint, subjects: list[shape.SubjectStatus]) -> Said:
    """Why a Watch is Blocked or Stalled."""
    if left.quarantined:
        message = (
            "the stored state is of another version of Vigil: run that version, or give the annotation vigil.dev/reset"
            " a new value to begin afresh"
        )
        return Said(_FALSE, left.quarantined, message)
    if left.blocked is not None:
        named = _NAMED_REASON.fullmatch(left.blocked.message)
        reason, message = named.groups() if named else (camel(left.blocked.category), left.blocked.message)
        return Said(_FALSE, reason, message, steady=True)
    if isinstance(left.state.ended, verdicts.StopReason):
        return Said(_FALSE, camel(left.state.ended), _stopped(left.state.ended, left))
    failing = [one for one in subjects if one.phase is shape.SubjectPhase.UNREADABLE and not _heals(one)]
    return Said(_FALSE, _reason_of(failing), _listed(failing, len(subjects)))


def _heals(one: shape.SubjectStatus) -> bool:
    return one.last_error is None or one.last_error.category not in failures.NON_HEALING


def _reason_of(failing: list[shape.SubjectStatus]) -> str:
    """The reason is the category of the first subject's error."""
    return next((camel(one.last_error.category) for one in failing if one.last_error is not None), "Unreadable")


def _over(left: checkpoint.Checkpoint, subjects: list[shape.SubjectStatus]) -> str:
    """How the Watch ended, and how it goes on where it can."""
    if isinstance(left.state.ended, verdicts.StopReason):
        return _stopped(left.state.ended, left)
    if left.state.ended is observations.Outcome.SUCCEEDED:
        return "every subject has come to a good end"
    bad = [one.label for one in subjects if one.phase is shape.SubjectPhase.FAILED]
    return f"every subject has come to its end, with a bad one for {', '.join(bad[:3])}" + (", …" if bad[3:] else "")


def _stopped(reason: verdicts.StopReason, left: checkpoint.Checkpoint) -> str:
    budgets, policy, spent = left.watch.limits.budgets, left.watch.limits.policy, left.state.spent
    ends = {
        verdicts.StopReason.LIFETIME: f"the lifetime of {_time(budgets.lifetime)} is over",
        verdicts.StopReason.ACTIVE_TIME: f"the active time of {_time(budgets.active_time)} is used up",
        verdicts.StopReason.TURNS: f"{spent.turns} of {budgets.turns} turns are spent",
        verdicts.StopReason.TOKENS: f"{spent.tokens} of {budgets.tokens} tokens are spent",
        verdicts.StopReason.PROVIDER_ERRORS: f"{budgets.provider_errors} reads in a row failed",
        verdicts.StopReason.STALLED: f"nothing changed for {_time(policy.stall_min_duration)}",
        verdicts.StopReason.SUPERSEDED: f"a newer Watch has the same spec.exclusive, {left.watch.exclusive!r}",
        verdicts.StopReason.QUESTION_EXPIRED: "a question was not answered in time",
        verdicts.StopReason.CANNOT_ACT: "the agent cannot act on what it was told",
    }
    return f"{ends[reason]}; {_RESUMES.get(reason, 'any change of the spec begins again')}"


_RESUMES: Final = {
    verdicts.StopReason.ACTIVE_TIME: "raise spec.budgets.activeTime to go on",
    verdicts.StopReason.TURNS: "raise spec.budgets.turns to go on",
    verdicts.StopReason.TOKENS: "raise spec.budgets.tokens to go on",
    verdicts.StopReason.SUPERSEDED: "this one goes on when that one is gone",
}


def _time(seconds: ids.Seconds | None) -> str:
    return "none" if seconds is None else durations.render(seconds)


def _observed(left: checkpoint.Checkpoint, subjects: list[shape.SubjectStatus], prior: status_prior.Prior) -> Said:
    live = [one for one in subjects if one.phase not in {shape.SubjectPhase.SUCCEEDED, shape.SubjectPhase.FAILED}]
    if not left.reading:
        before = prior.conditions.get(shape.ConditionType.OBSERVED)
        return Said(before.status, before.reason, before.message) if before else Said(_UNKNOWN, "NotRead")
    failing = [one for one in live if one.last_error is not None]
    if failing:
        return Said(_FALSE, _reason_of(failing), _listed(failing, len(live)))
    if any(isinstance(of, observations.ProbeResult) and not of.complete for of in left.reading.values()):
        return Said(_FALSE, "Incomplete", "a part of a subject could not be read, and what is missing proves nothing")
    if left.paced is not None:
        every = durations.render(max(60.0, 60.0 * round(left.paced / 60.0)))
        sentence = f"read about every {every}, so that the allowance of its credential lasts until it is renewed"
        return Said(_TRUE, "Paced", sentence, steady=True)
    return Said(_TRUE, "Read")


def _listed(failing: list[shape.SubjectStatus], subjects: int) -> str:
    """The first failing subjects and their errors; how many of several there are."""
    errors = [(one.label, one.last_error) for one in failing[:2]]
    first = [f"{label}: {error.category}: {error.message}" for label, error in errors if error is not None]
    count = f"{len(failing)} of {subjects} subjects: " if subjects > 1 else ""
    return count + "; ".join(first) + ("; …" if failing[2:] else "")


_WAITING: Final = {
    wakes.QueuedReason.BUSY: "the session is busy",
    wakes.QueuedReason.NO_RECIPIENT: "no session is attached, and there is no way to notify anybody",
    wakes.QueuedReason.WAKING_SUSPENDED: "the session had too many automatic turns in a row and waits for its user",
    wakes.QueuedReason.NOT_ALLOWED: "the Watch may not reach what spec.deliver names",
    wakes.QueuedReason.BUDGET_EXCEEDED: "the turns of this day or this namespace are spent",
    wakes.QueuedReason.UNREACHABLE: "the sidecar does not answer",
}


def _delivered(left: checkpoint.Checkpoint) -> Said:
    flown, trouble = left.state.in_flight, left.trouble
    if flown is not None and flown.claimed is not None:
        return Said(_UNKNOWN, "Claimed", "a session has taken the wake and has not completed it yet")
    if flown is not None and trouble is not None:
        return Said(_FALSE, trouble.reason.value, trouble.message or _WAITING[trouble.reason], steady=True)
    if flown is not None:
        return Said(_FALSE, "Queued", "the wake waits for its recipient")
    told = [one for one in left.wakes if one.state is not wakes.WakeState.WITHDRAWN]
    if not told:
        return Said(_UNKNOWN, "NothingSent", "nothing had to be told yet")
    last = told[0].state
    if last is wakes.WakeState.LOST:
        return Said(_FALSE, "Lost", "the last wake was claimed twice and never completed")
    return Said(_TRUE, last.value)


_BUDGETS: Final = frozenset(
    {
        verdicts.StopReason.LIFETIME,
        verdicts.StopReason.ACTIVE_TIME,
        verdicts.StopReason.TURNS,
        verdicts.StopReason.TOKENS,
        verdicts.StopReason.PROVIDER_ERRORS,
    }
)


def _within_budget(left: checkpoint.Checkpoint) -> Said:
    ended = left.state.ended
    if isinstance(ended, verdicts.StopReason) and ended in _BUDGETS:
        return Said(_FALSE, camel(ended), _stopped(ended, left))
    return Said(_TRUE, "WithinBudget")


def camel(word: str) -> str:
    """A word of a closed list as a condition's reason: `auth_sso` is AuthSso, `provider-errors` is ProviderErrors."""
    return "".join(part.capitalize() for part in re.split(r"[-_]", word))


def limits_of(budgets: limits.Budgets) -> shape.Limits:
    """The budgets as the status shows them."""
    return shape.Limits(
        turns=budgets.turns,
        tokens=budgets.tokens,
        provider_errors=budgets.provider_errors,
        active_time=None if budgets.active_time is None else durations.render(budgets.active_time),
        lifetime=None if budgets.lifetime is None else durations.render(budgets.lifetime),
    )
