"""From the parts of a spec to the values of the inner layers. A part that was validated converts without an error."""

from typing import Any

from vigil.api import durations, v1alpha1
from vigil.model import ids, limits, wakes
from vigil.tick import enrolment


def limits_of(policy: v1alpha1.PolicySpec, budgets: v1alpha1.BudgetsSpec, *, finite: bool) -> limits.Limits:
    """Policy and budgets; a standing objective has no lifetime unless the spec gives one."""
    return limits.Limits(policy=policy_of(policy), budgets=budgets_of(budgets, finite=finite), finite=finite)


def policy_of(spec: v1alpha1.PolicySpec) -> limits.Policy:
    """spec.policy."""
    return limits.Policy(
        realert_after=durations.parse(spec.realert_after),
        coalesce_window=durations.parse(spec.coalesce.window),
        coalesce_max=durations.parse(spec.coalesce.max),
        settle=durations.parse(spec.settle),
        floor_ticks=spec.floor_ticks,
        blind_after=spec.blind_after,
        stall_ticks=spec.stall.ticks,
        stall_min_duration=durations.parse(spec.stall.min_duration),
        stall_action=spec.stall.action,
        on_first_observation=spec.on_first_observation,
        confirm=spec.confirm,
    )


def budgets_of(spec: v1alpha1.BudgetsSpec, *, finite: bool) -> limits.Budgets:
    """spec.budgets; `finite` says whether a lifetime that is not given is the default one, or none."""
    given = "lifetime" in spec.model_fields_set
    lifetime = spec.lifetime if given or not finite else v1alpha1.DEFAULT_LIFETIME
    return limits.Budgets(
        turns=spec.turns,
        tokens=spec.tokens,
        provider_errors=spec.provider_errors,
        active_time=_seconds(spec.active_time),
        lifetime=_seconds(lifetime),
    )


def spec_of(under: limits.Limits, objective: str) -> dict[str, Any]:
    """The part of a spec that these limits come from; an absent limit is null."""
    policy, budgets = under.policy, under.budgets
    return {
        "objective": objective,
        "policy": {
            "realertAfter": durations.render(policy.realert_after),
            "coalesce": {
                "window": durations.render(policy.coalesce_window),
                "max": durations.render(policy.coalesce_max),
            },
            "settle": durations.render(policy.settle),
            "floorTicks": policy.floor_ticks,
            "blindAfter": policy.blind_after,
            "stall": {
                "ticks": policy.stall_ticks,
                "minDuration": durations.render(policy.stall_min_duration),
                "action": policy.stall_action.value,
            },
            "onFirstObservation": policy.on_first_observation.value,
            "confirm": policy.confirm.value,
        },
        "budgets": {
            "turns": budgets.turns,
            "tokens": budgets.tokens,
            "providerErrors": budgets.provider_errors,
            "activeTime": None if budgets.active_time is None else durations.render(budgets.active_time),
            "lifetime": None if budgets.lifetime is None else durations.render(budgets.lifetime),
        },
    }


def cadence_of(spec: v1alpha1.CadenceSpec) -> enrolment.Cadence:
    """spec.cadence."""
    return enrolment.Cadence(
        interval=durations.parse(spec.interval),
        quiet_interval=durations.parse(spec.quiet_interval),
        quiet_after=durations.parse(spec.quiet_after),
    )


def deliver_of(spec: v1alpha1.DeliverSpec | None) -> wakes.Deliver | None:
    """spec.deliver."""
    if spec is None:
        return None
    return wakes.Deliver(
        session=spec.session,
        mode=spec.mode,
        wake=spec.wake,
        prompt=spec.prompt,
        prompts=tuple(sorted(spec.prompts.items())),
        notify=_notify(spec.notify),
        fresh=_fresh(spec.fresh),
    )


def secret_of(ref: v1alpha1.SecretRef) -> wakes.SecretKey:
    """A reference to a key of a Secret."""
    return wakes.SecretKey(ref.name, ref.key)


def _notify(spec: v1alpha1.NotifySpec | None) -> wakes.Notify | None:
    if spec is None:
        return None
    url_from = None if spec.url_from is None else secret_of(spec.url_from.secret_key_ref)
    return wakes.Notify(url_from=url_from, receiver=spec.receiver)


def _fresh(spec: v1alpha1.FreshSpec | None) -> wakes.Fresh | None:
    if spec is None:
        return None
    job = None if spec.job_from is None else spec.job_from.cron_job.name
    return wakes.Fresh(endpoint=spec.endpoint, command=spec.command, cron_job=job)


def _seconds(duration: str | None) -> ids.Seconds | None:
    return None if duration is None else durations.parse(duration)
