"""What the sidecar tells those who measure it; who listens decides what to make of it."""

from typing import Protocol

from vigil.model import failures, wakes
from vigil.sidecar.store import port


class Observer(Protocol):
    """Hears facts as they happen; must not raise."""

    def ended(self, state: wakes.WakeState, tokens: int) -> None:
        """A wake came to its end."""
        ...

    def turn(self, result: str) -> None:
        """A turn was `handed-out`, `completed`, `released` or is `stale`."""
        ...

    def notified(self, failure: failures.Category | None) -> None:
        """A notification was tried; None means accepted."""
        ...

    def planned(self, plan: port.Plan) -> None:
        """All queued wakes and sessions were looked at."""
        ...


class Silent:
    """An Observer for a process that nobody measures."""

    def ended(self, state: wakes.WakeState, tokens: int) -> None:
        """Take no note of it."""

    def turn(self, result: str) -> None:
        """Take no note of it."""

    def notified(self, failure: failures.Category | None) -> None:
        """Take no note of it."""

    def planned(self, plan: port.Plan) -> None:
        """Take no note of it."""
