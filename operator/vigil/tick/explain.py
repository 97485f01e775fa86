"""Why a Watch is quiet: what keeps each open entry back and when that ends, from state and clock alone. Pure."""

import dataclasses
import enum
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from vigil.model import ids, limits, observations, readings, states, verdicts, wakes


class Because(enum.StrEnum):
    """What keeps an entry back: the first of these that applies."""

    ENDED = "ended"
    IN_FLIGHT = "in-flight"
    PARKED = "parked"
    HANDLED = "handled"
    HOLDING = "holding"
    WITHHELD = "withheld"
    TOLD = "told"
    SILENCED = "silenced"
    UNREADABLE = "unreadable"
    COALESCING = "coalescing"
    NEWS = "news"


@dataclasses.dataclass(frozen=True, slots=True)
class Open:
    """An open entry as far as it is known.

    `hold` is in seconds, None where only the memory knows of one. `read` says that the last read of its subject had a
    result, `pending` how much of the subject still runs.
    """

    identity: verdicts.Identity
    hold: ids.Seconds | None = None
    claim: bool = False
    read: bool = True
    complete: bool = True
    pending: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is so, since when, and until when if nothing else changes it; None where no time is known."""

    text: str
    since: ids.Instant | None = None
    until: ids.Instant | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Why:
    """What keeps one entry back."""

    identity: verdicts.Identity
    because: Because
    fact: Fact


@dataclasses.dataclass(frozen=True, slots=True)
class Explanation:
    """Why a Watch is quiet: what is so of the whole of it, and of each open entry."""

    facts: tuple[Fact, ...]
    entries: tuple[Why, ...]


def explain(state: states.State, opened: Sequence[Open], under: limits.Limits, now: ids.Instant) -> Explanation:
    """The facts about the Watch, and for each open entry the one thing that keeps it back."""
    known = _Known(state, opened, under.policy, now)
    return Explanation(tuple(_facts(state, under, now)), tuple(known.why(one) for one in opened))


def opened_by(reading: readings.Reading, state: states.State, policy: limits.Policy) -> list[Open]:
    """The open entries of a reading of which all is known, and what waits although it is not shown."""
    shown: dict[verdicts.Identity, Open] = {}
    for name, of in reading.items():
        if isinstance(of, observations.ProbeResult) and state.subject(name).retired is None:
            for seen in of.observations:
                identity = verdicts.identify(name, of, seen)
                hold = policy.settle if seen.hold == observations.SETTLE else seen.hold
                shown[identity] = Open(identity, hold, seen.claim, complete=of.complete, pending=of.pending)
    waiting = [identity for identity in state.window if identity not in shown]
    return [*shown.values(), *(_not_shown(identity, reading.get(identity.subject)) for identity in waiting)]


def _not_shown(identity: verdicts.Identity, of: observations.ReadingOf | None) -> Open:
    if not isinstance(of, observations.ProbeResult):
        return Open(identity, 0, read=False)
    return Open(identity, 0, complete=of.complete, pending=of.pending)


class _Known:
    """What is known of the entries of one Watch now."""

    def __init__(self, state: states.State, opened: Collection[Open], policy: limits.Policy, now: ids.Instant) -> None:
        self._state = state
        self._opened = opened
        self._policy = policy
        self._now = now
        self._window_unread = any(not one.read and one.identity in state.window for one in opened)

    def why(self, one: Open) -> Why:
        """The first thing that keeps an entry back."""
        memory = self._state.subject(one.identity.subject)
        found = (
            self._ended()
            or self._in_flight(one)
            or self._handled(one, memory)
            or self._held(one, memory)
            or self._withheld(one, memory)
            or self._told(memory.alerted.get(one.identity))
            or self._waiting(one)
            or (Because.NEWS, Fact("news: the next read tells it, or lets it wait in the window"))
        )
        return Why(one.identity, *found)

    def _ended(self) -> tuple[Because, Fact] | None:
        return None if self._state.ended is None else (Because.ENDED, Fact("the Watch has ended"))

    def _in_flight(self, one: Open) -> tuple[Because, Fact] | None:
        flown = self._state.in_flight
        if flown is None or all(sent.identity != one.identity for sent in flown.present):
            return None
        return Because.IN_FLIGHT, Fact("in the wake in flight", flown.decided_at)

    def _handled(self, one: Open, memory: states.SubjectState) -> tuple[Because, Fact] | None:
        if (parked := memory.parked.get(one.identity)) is not None:
            return Because.PARKED, Fact(f"under the question {parked.question}")
        said = memory.dispositions.get(one.identity)
        return (
            None if said is None or said.disposition not in _SAID else (Because.HANDLED, Fact(_SAID[said.disposition]))
        )

    def _held(self, one: Open, memory: states.SubjectState) -> tuple[Because, Fact] | None:
        held = memory.held.get(one.identity)
        if held is None or one.hold == 0:
            return None
        if one.hold is not None and one.complete and self._now >= held.since + one.hold:
            return None
        until = held.since + one.hold if one.hold is not None and one.complete else None
        return Because.HOLDING, Fact("must stand for its hold, with its subject quiet", held.since, until)

    def _withheld(self, one: Open, memory: states.SubjectState) -> tuple[Because, Fact] | None:
        if not one.claim:
            return None
        if not one.complete:
            return Because.WITHHELD, Fact("a claim, and the last read was not complete")
        mine = [other for other in self._opened if other.identity.subject == one.identity.subject and other.read]
        others = [other.identity.key for other in mine if not other.claim and not _dispatched(memory, other.identity)]
        others += [f"the question {row.question}" for row in memory.parked.values()]
        if not others:
            return None
        return Because.WITHHELD, Fact(f"a claim, and still open: {', '.join(sorted(set(others))[:3])}")

    def _told(self, stamp: states.Stamp | None) -> tuple[Because, Fact] | None:
        if stamp is None or not 0 <= self._now - stamp.at < self._policy.realert_after:
            return None
        return Because.TOLD, Fact(
            "told, and nobody has disposed of it", stamp.at, stamp.at + self._policy.realert_after
        )

    def _waiting(self, one: Open) -> tuple[Because, Fact] | None:
        silent, member = self._state.silence_until, self._state.window.get(one.identity)
        if silent is not None and self._now < silent:
            return Because.SILENCED, Fact("the Watch is silenced", None, silent)
        if member is None:
            return None
        if self._state.in_flight is not None:
            return Because.COALESCING, Fact("waits in the window, behind the wake in flight", member.since)
        if self._window_unread:
            return Because.UNREADABLE, Fact("waits in the window until all that is in it can be read", member.since)
        oldest = min(each.since for each in self._state.window.values())
        cap, end = oldest + self._policy.coalesce_max, member.since + self._policy.coalesce_window
        runs = one.identity.revision is not None and (one.pending > 0 or not one.complete)
        text = "waits in the window for what is pending" if runs else "waits in the window for other news"
        return Because.COALESCING, Fact(text, member.since, cap if runs else min(end, cap))


_SAID: Final = {
    wakes.Disposition.DISPATCHED: "dispatched, until it is about something else",
    wakes.Disposition.CLAIMED: "claimed: somebody is at work on it",
}


def _dispatched(memory: states.SubjectState, identity: verdicts.Identity) -> bool:
    said = memory.dispositions.get(identity)
    return said is not None and said.disposition is wakes.Disposition.DISPATCHED


def _facts(state: states.State, under: limits.Limits, now: ids.Instant) -> Iterator[Fact]:
    if state.ended is not None:
        yield Fact(f"ended: {state.ended.value.lower()}")
    else:
        yield from _delivery(state, now)
        yield from _course(state, under)
        for name, memory in state.subjects.items():
            yield from _subject(name, memory, under)
    yield from _budgets(state, under)


def _delivery(state: states.State, now: ids.Instant) -> Iterator[Fact]:
    if state.silence_until is not None and now < state.silence_until:
        yield Fact("silenced", None, state.silence_until)
    if (flown := state.in_flight) is not None:
        where = "waits for a session" if flown.claimed is None else "is with a session"
        yield Fact(f"the wake in flight ({flown.current.reason}) {where}, and nothing else leaves", flown.decided_at)
    for question in sorted({row.question for memory in state.subjects.values() for row in memory.parked.values()}):
        yield Fact(f"the question {question} waits for an answer")


def _course(state: states.State, under: limits.Limits) -> Iterator[Fact]:
    policy, stall = under.policy, state.stall
    if stall is not None and under.finite and policy.stall_action is not limits.StallAction.OFF and not stall.told:
        text = f"{stall.ticks} of {policy.stall_ticks} settled reads showed the same open entries; no stall"
        yield Fact(text, stall.since, stall.since + policy.stall_min_duration)
    if policy.floor_ticks > 0:
        yield Fact(f"{state.floor} of {policy.floor_ticks} quiet reads before the floor", state.floor_since)
    if state.blocked is not None:
        yield Fact("it cannot be read, and retrying does not heal that", state.blocked.since)


def _subject(name: ids.SubjectId, memory: states.SubjectState, under: limits.Limits) -> Iterator[Fact]:
    if memory.retired is not None:
        yield Fact(f"{name} has ended: {memory.retired.value.lower()}")
    if memory.errors:
        limit = under.budgets.provider_errors
        yield Fact(f"{name}: {memory.errors}{_of(limit)} reads in a row failed", memory.failing)
    if memory.blind is not None:
        yield Fact(f"{name}: told that it is blind", memory.blind, memory.blind + under.policy.realert_after)


def _budgets(state: states.State, under: limits.Limits) -> Iterator[Fact]:
    budgets, spent = under.budgets, state.spent
    yield Fact(f"{spent.turns}{_of(budgets.turns)} turns and {spent.tokens}{_of(budgets.tokens)} tokens are spent")
    if budgets.active_time is not None:
        yield Fact(f"{spent.active_time:.0f} of {budgets.active_time:.0f} seconds of active time are spent")
    if budgets.lifetime is not None and state.started is not None and state.ended is None:
        yield Fact("alive", state.started, state.started + budgets.lifetime)


def _of(limit: int | None) -> str:
    return "" if limit is None else f" of {limit}"
