"""What `vigil run` tells while it works: a line where something changed, or one JSON object a verdict."""

import dataclasses
import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, assert_never

from vigil.api import status_prior
from vigil.cli import aftermath
from vigil.model import failures, ids, observations, verdicts, wakes
from vigil.state import codec
from vigil.tick import memory, phase

SUCCEEDED: Final = 0
FAILED: Final = 3
STOPPED: Final = 4

SHOWN: Final = 10
"""Entries of one wake that are listed."""

_EXIT: Final = {
    phase.Phase.SUCCEEDED: SUCCEEDED,
    phase.Phase.FAILED: FAILED,
}
_INDENT: Final = " " * 10


def exit_code(watches: list[memory.Memory]) -> int:
    """The exit code of a run whose Watches have all ended: the worst of theirs."""
    return max((_EXIT.get(phase.phase_of(one.current), STOPPED) for one in watches), default=SUCCEEDED)


def over(known: memory.Memory) -> bool:
    """Whether nothing will come of a Watch any more: it has ended and was told, or its state must not be touched."""
    return known.state.quiet_for_good or _held(known)


@dataclasses.dataclass(slots=True)
class _Told:
    """What was last told of a Watch."""

    facts: tuple[object, ...] = ()
    verdict: verdicts.Verdict | None = None
    became: Mapping[ids.WakeId, wakes.WakeState] = dataclasses.field(default_factory=dict[ids.WakeId, wakes.WakeState])
    trouble: str | None = None


class Reporter:
    """Tells of ticks: `write` takes one line of the result, `note` one beside it, `resume` is the command to go on."""

    def __init__(
        self, write: Callable[[str], None], note: Callable[[str], None], *, resume: str, as_json: bool
    ) -> None:
        self._write = write
        self._note = note
        self._resume = resume
        self._as_json = as_json
        self._told: dict[ids.WatchUid, _Told] = {}

    def begin(self, known: memory.Memory) -> None:
        """A Watch as an earlier run left it: what was told then is not told again."""
        self._told[known.watch.ref.uid] = _Told(became=_states(known))
        if known.current.quarantined == codec.QuarantineReason.VERSION_UNKNOWN:
            self._note(f"{_name(known)}: its state is of another version of Vigil: it is held, and nothing overwritten")
        elif known.current.quarantined:
            self._note(f"{_name(known)}: its state could not be read; it was set aside, and a fresh one begins")
        if known.state.quiet_for_good:
            self._note(
                f"{_name(known)}: has ended already, {phase.phase_of(known.current)}; {self._how_to_go_on(known)}"
            )

    def tell(self, known: memory.Memory, now: ids.Instant) -> None:
        """A tick of a Watch, or what became of its wake."""
        told = self._told.setdefault(known.watch.ref.uid, _Told())
        lines = list(self._changes(told, known, now)) if not self._as_json else list(_objects(told, known, now))
        told.facts, told.verdict, told.became = _facts(known), known.current.verdict, _states(known)
        told.trouble = _trouble(known)
        for line in lines:
            self._write(line)

    def _changes(self, told: _Told, known: memory.Memory, now: ids.Instant) -> Iterator[str]:
        head = f"{datetime.datetime.fromtimestamp(now, datetime.UTC):%H:%M:%S}  {_name(known)}"
        if told.facts != _facts(known):
            yield f"{head}  {_words(known)}{_progress(known)}"
            yield from (f"{_INDENT}{line}" for line in self._details(known))
        for one in reversed(known.current.wakes):
            if told.became.get(one.id, wakes.WakeState.QUEUED) is not one.state:
                yield f"{head}  {aftermath.sentence(one, known)}"
        trouble = _trouble(known)
        if trouble is not None and trouble != told.trouble:
            yield f"{head}  {trouble}"

    def _details(self, known: memory.Memory) -> Iterator[str]:
        verdict = known.current.verdict
        match verdict:
            case verdicts.Wake(entries=entries) | verdicts.Terminal(entries=entries):
                yield from _entries(entries, known)
            case verdicts.Stop():
                yield self._how_to_go_on(known)
            case verdicts.Quiet() | None:
                pass
            case _:
                assert_never(verdict)
        for target in known.live:
            of = known.current.reading.get(target.id)
            if isinstance(of, failures.Failure):
                yield f"{target.label} could not be read: {of.category}: {_plain(of.message)}"

    def _how_to_go_on(self, known: memory.Memory) -> str:
        return aftermath.how_to_go_on(known, self._resume)


def _objects(told: _Told, known: memory.Memory, now: ids.Instant) -> Iterator[str]:
    """One object for a verdict: an outcome comes with the verdict that was told before."""
    verdict = known.current.verdict
    if verdict is not None and verdict is told.verdict:
        return
    ref, spent = known.watch.ref, known.state.spent
    yield json.dumps(
        {
            "at": _utc(now),
            "watch": f"{ref.namespace}/{ref.name}",
            "verdict": None if verdict is None else _verdict(verdict, known),
            "phase": phase.phase_of(known.current),
            "spent": {"turns": spent.turns, "tokens": spent.tokens},
        }
    )


def _verdict(verdict: verdicts.Verdict, known: memory.Memory) -> dict[str, Any]:
    labels = {target.id: target.label for target in known.watch.targets}
    entries = verdict.entries if isinstance(verdict, verdicts.Wake | verdicts.Terminal) else ()
    keys = {
        f"{labels.get(one.subject, one.subject)}#{one.key}" if len(labels) > 1 else one.key
        for one in (entry.identity for entry in entries)
    }
    return {"type": type(verdict).__name__, "reason": str(verdict.reason), "keys": sorted(keys)}


def _facts(known: memory.Memory) -> tuple[object, ...]:
    """What a line is told of when it changes: the verdict, and of a wake which one it is."""
    sends = isinstance(known.current.verdict, verdicts.Wake | verdicts.Terminal | verdicts.Stop)
    newest = known.current.wakes[0].id if sends and known.current.wakes else None
    failed = tuple(of.category for of in known.current.reading.values() if isinstance(of, failures.Failure))
    return (_words(known), newest, phase.phase_of(known.current), _progress(known), failed)


def _words(known: memory.Memory) -> str:
    verdict = known.current.verdict
    match verdict:
        case None:
            return "held: its state is of another version of Vigil" if _held(known) else "not decided yet"
        case verdicts.Quiet(reason=reason):
            return f"quiet, {reason}"
        case verdicts.Wake(entries=entries, reason=reason):
            return f"WAKE, {reason}: {_keys(entries)}"
        case verdicts.Terminal(entries=entries):
            return f"END, {verdict.reason}: {_keys(entries)}"
        case verdicts.Stop(reason=reason):
            return f"STOP, {reason}"
        case _:
            assert_never(verdict)


def _keys(entries: tuple[verdicts.Entry, ...]) -> str:
    keys = list(dict.fromkeys(_plain(entry.identity.key) for entry in entries))
    more = f", and {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
    return ", ".join(keys[:SHOWN]) + more if keys else "no entries"


def _entries(entries: tuple[verdicts.Entry, ...], known: memory.Memory) -> Iterator[str]:
    """What a wake tells beside its keys: the briefs, and of which subject where there are several."""
    labels = {target.id: target.label for target in known.watch.targets}
    for entry in entries[:SHOWN]:
        subject = f"{labels.get(entry.identity.subject, '')}  " if len(labels) > 1 else ""
        if subject or entry.observation.brief:
            yield f"{subject}{_plain(entry.identity.key)}  {_plain(entry.observation.brief)}".rstrip()


def _progress(known: memory.Memory) -> str:
    results = [of for of in known.current.reading.values() if isinstance(of, observations.ProbeResult)]
    parts = [
        f"{running} running" if (running := sum(result.pending for result in results)) else "",
        f"{opened} open" if (opened := sum(len(result.observations) for result in results)) else "",
    ]
    told = ", ".join(part for part in parts if part)
    return f"  ({told})" if told else ""


def _trouble(known: memory.Memory) -> str | None:
    trouble = known.current.trouble
    return None if trouble is None else aftermath.waits(trouble, known)


def _states(known: memory.Memory) -> dict[ids.WakeId, wakes.WakeState]:
    return {one.id: one.state for one in known.current.wakes}


def _held(known: memory.Memory) -> bool:
    return known.current.quarantined == codec.QuarantineReason.VERSION_UNKNOWN


def _name(known: memory.Memory) -> str:
    return f"{known.watch.ref.namespace}/{known.watch.ref.name}"


def _plain(text: str) -> str:
    """A stranger's text on one line, without what a terminal acts on."""
    return status_prior.cut(text, failures.MESSAGE_LIMIT)


def _utc(at: ids.Instant) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")
