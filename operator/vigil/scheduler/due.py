"""When a Watch is due again: its cadence, brought forward by whatever will change by the clock alone. Pure."""

import math
from collections.abc import Iterator
from typing import Final

from vigil.model import failures, ids, limits, observations, states
from vigil.tick import memory

SLOW: Final[ids.Seconds] = 600.0
"""A Watch that cannot be read until someone acts is read no more often than this."""

SOONEST: Final[ids.Seconds] = 1.0
MAX_RECHECKS: Final = 3
_MAX_BACKOFF_DOUBLINGS: Final = 3


def next_due(
    known: memory.Memory, now: ids.Instant, changed_at: ids.Instant, rechecks: int, apart: ids.Seconds = 0.0
) -> ids.Instant:
    """The next time at which this Watch is read; `now` is the end of the last read.

    `changed_at` is when anything of it last changed, `rechecks` how often in a row its provider was still computing,
    `apart` how far apart two reads have to be for the allowance of its credential.
    """
    failed = [of for of in known.current.reading.values() if isinstance(of, failures.Failure)]
    earliest = min([now + _pace(known, failed, now, changed_at), *_moments(known, now, rechecks)])
    allowed = max(earliest, _held_until(known, now), now + apart)
    return max(min(allowed, _end(known, now)), now + SOONEST)


def _held_until(known: memory.Memory, now: ids.Instant) -> ids.Instant:
    """When the providers may be asked again, by what they said to a whole read or to a part of one."""
    said = [of if isinstance(of, failures.Failure) else of.error for of in known.current.reading.values()]
    waits = [one.retry_after for one in said if one is not None and one.retry_after is not None]
    return now + max(waits, default=0.0)


def _end(known: memory.Memory, now: ids.Instant) -> ids.Instant:
    """The end of the lifetime, when one last read is made whatever a provider asks for."""
    lifetime, started = known.watch.limits.budgets.lifetime, known.state.started
    if lifetime is None or started is None or started + lifetime <= now:
        return math.inf
    return started + lifetime


def _pace(
    known: memory.Memory, failed: list[failures.Failure], now: ids.Instant, changed_at: ids.Instant
) -> ids.Seconds:
    cadence = known.watch.cadence
    if any(not one.heals for one in failed):
        return max(cadence.interval, SLOW)
    if any(one.category is not failures.Category.THROTTLED for one in failed):
        row = max((known.state.subject(name).errors for name in known.current.reading), default=1)
        doubled = cadence.interval * 2.0 ** min(max(row - 1, 0), _MAX_BACKOFF_DOUBLINGS)
        return min(doubled, max(cadence.quiet_interval, cadence.interval))
    results = [of for of in known.current.reading.values() if isinstance(of, observations.ProbeResult)]
    busy = any(result.pending or result.observations or not result.complete for result in results)
    return cadence.interval if busy or now - changed_at < cadence.quiet_after else cadence.quiet_interval


def _moments(known: memory.Memory, now: ids.Instant, rechecks: int) -> Iterator[ids.Instant]:
    """The times at which a verdict can change although the subject does not."""
    policy = known.watch.limits.policy
    if known.state.silence_until is not None:
        yield from _ahead(known.state.silence_until, now)
    for member in known.state.window.values():
        yield from _ahead(member.since + policy.coalesce_window, now)
        yield from _ahead(member.since + policy.coalesce_max, now)
    for name, of in known.current.reading.items():
        if not isinstance(of, observations.ProbeResult):
            continue
        if of.recheck_after is not None and rechecks <= MAX_RECHECKS:
            yield now + of.recheck_after
        yield from _of_memory(known.state.subject(name), of, policy, now)


def _of_memory(
    memory_of: states.SubjectState, of: observations.ProbeResult, policy: limits.Policy, now: ids.Instant
) -> Iterator[ids.Instant]:
    keys = {one.key: policy.settle if one.hold == observations.SETTLE else one.hold for one in of.observations}
    for identity, held in memory_of.held.items():
        yield from _ahead(held.since + keys.get(identity.key, 0.0), now)
    for identity, stamp in memory_of.alerted.items():
        if identity.key in keys:
            yield from _ahead(stamp.at + policy.realert_after, now)


def _ahead(at: ids.Instant, now: ids.Instant) -> Iterator[ids.Instant]:
    """The time, if it is still to come: what has passed was looked at in this tick."""
    if at > now:
        yield at
