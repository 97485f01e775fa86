"""What concerns Watches that are not due: credentials that were wanting, and timers that went silent."""

from collections.abc import Callable, Mapping
from typing import Final

from vigil import ports
from vigil.model import failures, ids
from vigil.scheduler import entry, plans

EVERY: Final[ids.Seconds] = 60.0
"""How often it looks: a Secret is remembered for as long, so that each look reads it once at most. Quicker timers are
looked at as often as they are to be heard of."""
SILENT: Final = 3
"""A timer is silent once so many of its periods have passed."""

_OF_A_CREDENTIAL: Final = frozenset(
    {
        failures.Category.AUTH,
        failures.Category.AUTH_SSO,
        failures.Category.FORBIDDEN,
        failures.Category.NOT_FOUND,
        failures.Category.CONFIG,
    }
)
"""The failures that another credential can heal."""


class Lookout:
    """A look around at the Watches of a scheduler every minute; `healed` is called with each that is to be read now."""

    def __init__(
        self,
        entries: Mapping[ids.WatchUid, entry.Entry],
        *,
        clock: ports.Clock,
        transports: ports.Transports,
        signals: ports.Signals,
        timer_period: ids.Seconds | None,
        healed: Callable[[entry.Entry], None],
    ) -> None:
        self._entries = entries
        self._clock = clock
        self._transports = transports
        self._signals = signals
        self._timer_period = timer_period
        self._healed = healed

    async def run(self) -> None:
        """Look around until cancelled."""
        while True:
            await self._clock.sleep(EVERY if self._timer_period is None else min(EVERY, self._timer_period))
            self._notice_silent_timers()
            await self._look_at_credentials()

    def _notice_silent_timers(self) -> None:
        if self._timer_period is None:
            return
        silent_since = self._clock.monotonic() - SILENT * self._timer_period
        for known in self._entries.values():
            if known.beat < silent_since and not known.timer_lost:
                known.timer_lost = True
                self._signals.emit(ports.TimerLost(known.watch.kind.name))

    async def _look_at_credentials(self) -> None:
        """Find the Watches that could not be bound and now can, or are bound to another account; none is read here."""
        for known in sorted(filter(_barred, self._entries.values()), key=_place):
            parts = await plans.parts_of(known.memory, self._transports)
            if isinstance(parts, failures.Failure) or not _barred(known):
                continue
            if known.unbound or any(part.key not in known.keys for part in parts):
                self._healed(known)


def _barred(known: entry.Entry) -> bool:
    """Whether a Watch that nobody works at may want nothing but another credential."""
    if known.gone or known.busy or known.watch.credential is None or not known.memory.probed:
        return False
    reading = known.memory.current.reading.values()
    return any(isinstance(of, failures.Failure) and of.category in _OF_A_CREDENTIAL for of in reading)


def _place(known: entry.Entry) -> tuple[str, str]:
    """Those of one Secret come together, while it is remembered: also one that cannot be read."""
    credential = known.watch.credential
    return known.watch.ref.namespace, "" if credential is None else credential.name
