"""What `vigil run` tells while it works: a line where something changed, or one JSON object a verdict."""

import datetime
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, assert_never

from vigil.model import failures, ids, observations, verdicts
from vigil.tick import memory, phase

SUCCEEDED: Final = 0
FAILED: Final = 3
STOPPED: Final = 4

_EXIT: Final = {
    phase.Phase.SUCCEEDED: SUCCEEDED,
    phase.Phase.FAILED: FAILED,
}


def exit_code(watches: list[memory.Memory]) -> int:
    """The exit code of a run whose Watches have all ended: the worst of theirs."""
    return max((_EXIT.get(phase.phase_of(one.current), STOPPED) for one in watches), default=SUCCEEDED)


class Reporter:
    """Tells of ticks; `write` takes one line."""

    def __init__(self, write: Callable[[str], None], *, as_json: bool) -> None:
        self._write = write
        self._as_json = as_json
        self._told: dict[ids.WatchUid, tuple[object, ...]] = {}

    def tell(self, known: memory.Memory, now: ids.Instant) -> None:
        """One tick of a Watch."""
        if self._as_json:
            self._write(json.dumps(_object(known, now), ensure_ascii=False))
            return
        verdict = known.current.verdict
        facts = (_words(verdict), phase.phase_of(known.current), _progress(known), _trouble(known))
        if self._told.get(known.watch.ref.uid) == facts:
            return
        self._told[known.watch.ref.uid] = facts
        for line in _lines(known, now):
            self._write(line)


def _object(known: memory.Memory, now: ids.Instant) -> dict[str, Any]:
    ref, spent = known.watch.ref, known.state.spent
    verdict = known.current.verdict
    return {
        "at": _utc(now),
        "watch": f"{ref.namespace}/{ref.name}",
        "verdict": None if verdict is None else _verdict(verdict, several=len(known.watch.targets) > 1),
        "phase": phase.phase_of(known.current),
        "spent": {"turns": spent.turns, "tokens": spent.tokens},
    }


def _verdict(verdict: verdicts.Verdict, *, several: bool) -> dict[str, Any]:
    keys = sorted({f"{i.subject}#{i.key}" if several else i.key for i in _identities(verdict)})
    return {"type": type(verdict).__name__, "reason": str(verdict.reason), "keys": keys}


def _identities(verdict: verdicts.Verdict) -> Iterator[verdicts.Identity]:
    if isinstance(verdict, verdicts.Wake | verdicts.Terminal):
        yield from (entry.identity for entry in verdict.entries)


def _lines(known: memory.Memory, now: ids.Instant) -> Iterator[str]:
    ref = known.watch.ref
    clock = datetime.datetime.fromtimestamp(now, datetime.UTC).strftime("%H:%M:%S")
    yield f"{clock}  {ref.namespace}/{ref.name}  {_words(known.current.verdict)}{_progress(known)}"
    if (trouble := _trouble(known)) is not None:
        yield f"          its wake waits: {trouble}"
    for target in known.live:
        of = known.current.reading.get(target.id)
        if isinstance(of, failures.Failure):
            yield f"          {target.label} could not be read: {of.category}: {of.message}"
    if isinstance(known.current.verdict, verdicts.Stop):
        yield f"          stopped; to go on: raise the budget in its manifest and run vigil run again ({ref.name})"


def _words(verdict: verdicts.Verdict | None) -> str:
    match verdict:
        case None:
            return "not decided yet"
        case verdicts.Quiet(reason=reason):
            return f"quiet, {reason}"
        case verdicts.Wake(entries=entries, reason=reason):
            return f"WAKE, {reason}: {', '.join(entry.identity.key for entry in entries) or 'no entries'}"
        case verdicts.Terminal(entries=entries):
            return f"END, {verdict.reason}: {', '.join(entry.identity.key for entry in entries)}"
        case verdicts.Stop(reason=reason):
            return f"STOP, {reason}"
        case _:
            assert_never(verdict)


def _progress(known: memory.Memory) -> str:
    results = [of for of in known.current.reading.values() if isinstance(of, observations.ProbeResult)]
    parts = [
        f"{running} running" if (running := sum(result.pending for result in results)) else "",
        f"{opened} open" if (opened := sum(len(result.observations) for result in results)) else "",
        f"{known.state.spent.turns} turns" if known.state.spent.turns else "",
    ]
    told = ", ".join(part for part in parts if part)
    return f"  ({told})" if told else ""


def _trouble(known: memory.Memory) -> str | None:
    trouble, deliver = known.current.trouble, known.watch.deliver
    if trouble is None:
        return None
    session = "" if deliver is None or deliver.session is None else f" (session {deliver.session})"
    return f"{trouble.reason}{session}"


def _utc(at: ids.Instant) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).isoformat(timespec="milliseconds")
