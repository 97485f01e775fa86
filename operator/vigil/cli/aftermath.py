"""Sentences for what follows a verdict: what became of a wake, why one waits, and how to go on after an end."""

from collections.abc import Mapping
from typing import Final

from vigil.model import verdicts, wakes
from vigil.tick import checkpoint, memory

_BUDGET: Final = {
    verdicts.StopReason.LIFETIME: "lifetime",
    verdicts.StopReason.ACTIVE_TIME: "activeTime",
    verdicts.StopReason.TURNS: "turns",
    verdicts.StopReason.TOKENS: "tokens",
    verdicts.StopReason.PROVIDER_ERRORS: "providerErrors",
}


_SENTENCE: Final[Mapping[wakes.WakeState, str]] = {
    wakes.WakeState.QUEUED: "{what} is queued again",
    wakes.WakeState.CLAIMED: "{what} was taken by {to}",
    wakes.WakeState.DELIVERED: "{what} was delivered to {to}, {turns} so far",
    wakes.WakeState.NOTIFIED: "{what} was told by a notification, since no session was there",
    wakes.WakeState.RECORDED: "{what} is recorded only: the Watch has no spec.deliver",
    wakes.WakeState.WITHDRAWN: "{what} was withdrawn: what it told of is gone",
    wakes.WakeState.LOST: "{what} was lost: {to} took it and did not complete it, {turns} so far",
}


def sentence(one: checkpoint.WakeRecord, known: memory.Memory) -> str:
    """What became of a wake."""
    return _SENTENCE[one.state].format(what=_what(one.type), to=_recipient(known), turns=_turns(known))


def waits(trouble: checkpoint.DeliveryTrouble, known: memory.Memory) -> str:
    """Why the wake in flight is not delivered yet."""
    flown = known.state.in_flight
    what = "its wake" if flown is None else _what(flown.current.type)
    return f"{what} waits: {trouble.reason} ({_recipient(known)})"


def how_to_go_on(known: memory.Memory, command: str) -> str:
    """What arms an ended Watch of a file again: a change of its spec, and after its subject's end only certain ones."""
    ended = known.state.ended
    if not isinstance(ended, verdicts.StopReason):
        return f"it is watched again once its subjects, objective or options change: {command}"
    budget = _BUDGET.get(ended)
    change = "change its spec" if budget is None else f"raise spec.budgets.{budget}"
    return f"to go on, {change} in its manifest, then run again: {command}"


def _what(type_: wakes.WakeType) -> str:
    return "its notice" if type_ is wakes.WakeType.NOTICE else "its wake"


def _recipient(known: memory.Memory) -> str:
    deliver = known.watch.deliver
    if deliver is None:
        return "nobody"
    if deliver.mode is wakes.Mode.FRESH:
        return "a fresh context"
    return "no session" if deliver.session is None else f"session {deliver.session}"


def _turns(known: memory.Memory) -> str:
    turns = known.state.spent.turns
    return "1 turn" if turns == 1 else f"{turns} turns"
