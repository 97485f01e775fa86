"""The policy and the budgets of one Watch, with their defaults."""

import dataclasses
import enum

from vigil.model import ids

MINUTE: ids.Seconds = 60.0
HOUR: ids.Seconds = 3600.0


class StallAction(enum.StrEnum):
    """What a stall does."""

    STOP = "Stop"
    NOTIFY = "Notify"
    OFF = "Off"


class FirstObservation(enum.StrEnum):
    """What is made of what is already true when the watch begins."""

    WAKE = "Wake"
    BASELINE = "Baseline"


class Confirm(enum.StrEnum):
    """What disposes of an entry: a disposition of the agent's, or the accepted delivery."""

    EXPLICIT = "Explicit"
    DELIVERED = "Delivered"


@dataclasses.dataclass(frozen=True, slots=True)
class Policy:
    """When news becomes a wake. Times in seconds, counts in ticks; 0 switches floor and blind off."""

    realert_after: ids.Seconds = 6 * HOUR
    coalesce_window: ids.Seconds = 4 * MINUTE
    coalesce_max: ids.Seconds = 30 * MINUTE
    settle: ids.Seconds = 5 * MINUTE
    floor_ticks: int = 0
    blind_after: int = 6
    stall_ticks: int = 12
    stall_min_duration: ids.Seconds = 72 * HOUR
    stall_action: StallAction = StallAction.STOP
    on_first_observation: FirstObservation = FirstObservation.WAKE
    confirm: Confirm = Confirm.EXPLICIT


@dataclasses.dataclass(frozen=True, slots=True)
class Budgets:
    """What a Watch may spend before it stops; None is no limit."""

    turns: int | None = 8
    tokens: int | None = 250_000
    provider_errors: int | None = 50
    active_time: ids.Seconds | None = None
    lifetime: ids.Seconds | None = 168 * HOUR


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """Policy and budgets of a Watch, and whether its objective has an end of its own."""

    policy: Policy = Policy()
    budgets: Budgets = Budgets()
    finite: bool = True
