"""The open entries of a Watch as its status lists them.

A text is the one of the first status that showed the entry: a brief that counts minutes changes nothing.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

from vigil.api import status_prior, times
from vigil.api import v1alpha1_status as shape
from vigil.model import ids, observations, readings, states, verdicts, wakes
from vigil.tick import checkpoint

_SAID: Final = {
    wakes.Disposition.DISPATCHED: shape.Standing.DISPATCHED,
    wakes.Disposition.CLAIMED: shape.Standing.CLAIMED,
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Open:
    """An open entry: what the latest read shows of it, None where that read proves nothing about it."""

    identity: verdicts.Identity
    seen: observations.Observation | None = None
    untold: states.Sent | None = None
    """The end of a retired subject of which nobody was told yet."""


def render(left: checkpoint.Checkpoint, prior: status_prior.Prior) -> list[shape.ObservationStatus]:
    """All open entries, by subject and key, also those past the bound of the status."""
    labels = {target.id: target.label for target in left.watch.targets}
    order = {target.id: place for place, target in enumerate(left.watch.targets)}
    opened = [one for one in _open(left) if one.identity.subject in labels]
    ordered = sorted(opened, key=lambda one: (order[one.identity.subject], one.identity.key, str(one.identity)))
    states_of = _Standings(left, ordered)
    return [_rendered(one, labels[one.identity.subject], states_of.of(one), left, prior) for one in ordered]


def _open(left: checkpoint.Checkpoint) -> Iterator[_Open]:
    live = {target.id for target in left.watch.targets if left.state.subject(target.id).retired is None}
    shown = {one: seen for one, seen in readings.shown(left.reading).items() if one.subject in live}
    yield from (_Open(identity, seen) for identity, seen in shown.items())
    yield from (_Open(identity) for identity in left.since if identity.subject in live and identity not in shown)
    flown = left.state.in_flight
    untold = (*(flown.present if flown is not None else ()), *left.state.owed)
    ends = {one.identity: one for one in untold if one.outcome is not None and one.identity.subject not in live}
    yield from (_Open(identity, untold=end) for identity, end in ends.items())


class _Standings:
    """What became of the entries of one Watch."""

    def __init__(self, left: checkpoint.Checkpoint, opened: Iterable[_Open]) -> None:
        flown = left.state.in_flight
        self._state = left.state
        self._sent = {one.identity for one in (flown.present if flown is not None else ())}
        facts = [one.identity for one in opened if one.seen is not None and not one.seen.claim]
        self._unhandled = {
            identity.subject for identity in facts if self._said(identity) is not wakes.Disposition.DISPATCHED
        }

    def of(self, one: _Open) -> shape.Standing:
        """What became of one entry: what an agent said of it, else the furthest it came on its way."""
        memory = self._state.subject(one.identity.subject)
        if (said := self._said_of(one.identity, memory)) is not None:
            return said
        if one.identity in self._sent:
            return shape.Standing.SENT
        if one.identity in self._state.window:
            return shape.Standing.COALESCING
        if one.identity in memory.alerted:
            return shape.Standing.ALERTED
        contradicted = one.identity.subject in self._unhandled or memory.parked
        if one.seen is not None and one.seen.claim and contradicted:
            return shape.Standing.WITHHELD
        return shape.Standing.HOLDING if one.identity in memory.held else shape.Standing.OPEN

    def _said_of(self, identity: verdicts.Identity, memory: states.SubjectState) -> shape.Standing | None:
        said = self._said(identity)
        if identity in memory.parked:
            return shape.Standing.PARKED
        return None if said is None else _SAID.get(said)

    def _said(self, identity: verdicts.Identity) -> wakes.Disposition | None:
        disposed = self._state.subject(identity.subject).dispositions.get(identity)
        return None if disposed is None else disposed.disposition


def _rendered(
    one: _Open, label: str, standing: shape.Standing, left: checkpoint.Checkpoint, prior: status_prior.Prior
) -> shape.ObservationStatus:
    label = status_prior.cut(label, shape.LABEL_LIMIT)
    key = status_prior.cut(one.identity.key, shape.KEY_LIMIT)
    revision = _optional(one.identity.revision)
    episode = _optional(one.identity.episode or None)
    before = prior.observations.get((label, key, revision, episode))
    since = times.render(_since(one, left))
    same = before is not None and before.since == since
    return shape.ObservationStatus(
        subject=label,
        key=key,
        severity=_severity(one, before),
        state=standing,
        since=since,
        brief=before.brief if before is not None and same else _brief(one, before),
        revision=revision,
        episode=episode,
    )


def _since(one: _Open, left: checkpoint.Checkpoint) -> ids.Instant:
    joined = one.untold.since if one.untold is not None else left.state.last_tick or 0.0
    return left.since.get(one.identity, joined)


def _severity(one: _Open, before: shape.ObservationStatus | None) -> observations.Severity:
    if one.seen is not None:
        return one.seen.severity
    if one.untold is not None:
        return observations.Severity.TERMINAL
    return before.severity if before is not None else observations.Severity.WAKE


def _brief(one: _Open, before: shape.ObservationStatus | None) -> str:
    if one.seen is not None:
        return status_prior.cut(one.seen.brief, shape.TEXT_LIMIT)
    if one.untold is not None:
        return status_prior.cut(one.untold.brief, shape.TEXT_LIMIT)
    return before.brief if before is not None else ""


def _optional(text: str | None) -> str | None:
    return None if text is None else status_prior.cut(text, shape.TEXT_LIMIT)
