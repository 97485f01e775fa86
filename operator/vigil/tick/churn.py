"""Facts about how a Watch goes round in circles: they ride along with a wake and are never judged. Pure."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from vigil.decision import outcomes
from vigil.model import ids, observations, readings, states, verdicts, wakes

MAX_RELAPSES: Final = 50
MAX_SERIES: Final = 20
MAX_ROUNDS: Final = 20


def of_reading(before: states.Churn, reading: readings.Reading) -> states.Churn:
    """The facts after a tick: only complete reads tell that something has cleared."""
    relapses, series = dict(before.relapses), list(before.series)
    for subject, of in reading.items():
        if isinstance(of, observations.ProbeResult) and of.complete:
            _count_relapses(relapses, subject, of)
            _count_open(series, subject, of)
    # The keys that came back most often are the ones to keep.
    kept = sorted(relapses.items(), key=lambda item: -item[1].count)[:MAX_RELAPSES]
    return dataclasses.replace(before, relapses=dict(kept), series=tuple(series[-MAX_SERIES:]))


def _count_relapses(
    relapses: dict[tuple[ids.SubjectId, str], states.Relapses], subject: ids.SubjectId, of: observations.ProbeResult
) -> None:
    shown = {seen.key for seen in of.observations if not seen.claim}
    for key in sorted(shown):
        known = relapses.get((subject, key))
        if known is None:
            relapses[subject, key] = states.Relapses(of.revision)
        elif known.cleared and known.revision != of.revision:
            relapses[subject, key] = states.Relapses(of.revision, count=known.count + 1)
        elif known.cleared or known.revision != of.revision:
            relapses[subject, key] = dataclasses.replace(known, revision=of.revision, cleared=False)
    for (name, key), known in relapses.items():
        if name == subject and key not in shown and not known.cleared:
            relapses[name, key] = dataclasses.replace(known, cleared=True)


def _count_open(
    series: list[tuple[ids.SubjectId, str, int]], subject: ids.SubjectId, of: observations.ProbeResult
) -> None:
    """How many entries are open at a revision: the last count of it is the one that is kept."""
    row = (subject, of.revision, sum(1 for seen in of.observations if not seen.claim))
    if (place := _last_of(series, subject)) is not None and series[place][1] == of.revision:
        series[place] = row
    else:
        series.append(row)


def _last_of(series: list[tuple[ids.SubjectId, str, int]], subject: ids.SubjectId) -> int | None:
    return next((place for place in reversed(range(len(series))) if series[place][0] == subject), None)


def of_wake(before: states.Churn, verdict: verdicts.Verdict, stream_of: Callable[[str], str]) -> states.Churn:
    """The facts after a wake: how often the next one is about another stream."""
    if not isinstance(verdict, verdicts.Wake) or not verdict.entries:
        return before
    streams = {stream_of(entry.identity.key) for entry in verdict.entries}
    if before.stream in streams:
        return before
    alternations = before.alternations + (1 if before.stream else 0)
    return dataclasses.replace(before, stream=min(streams), alternations=alternations)


def of_outcome(before: states.Churn, event: wakes.OutcomeEvent) -> states.Churn:
    """The facts after an outcome: how many rounds an invariant has taken."""
    named = [said.invariant[: outcomes.INVARIANT_LIMIT] for said in event.dispositions if said.invariant]
    if not named:
        return before
    rounds = dict(before.rounds)
    for invariant in named:
        rounds[invariant] = rounds.get(invariant, 0) + 1
    kept = sorted(rounds.items(), key=lambda item: -item[1])[:MAX_ROUNDS]
    return dataclasses.replace(before, rounds=dict(kept))


def told(churn: states.Churn, labels: Mapping[ids.SubjectId, str]) -> Iterator[str]:
    """The facts as lines for people and agents; none where nothing goes in circles."""
    for (subject, key), known in sorted(churn.relapses.items()):
        if known.count:
            label = labels.get(subject, subject)
            yield f"{label}: {key} cleared and came back on another revision {_times(known.count)}"
    if churn.alternations > 1:
        yield f"the wakes changed between streams {_times(churn.alternations)}"
    for subject in dict.fromkeys(subject for subject, _, _ in churn.series):
        counts = [count for name, _, count in churn.series if name == subject]
        since = len(counts) - 1 - counts.index(min(counts))
        if since:
            listed = ", ".join(str(count) for count in counts)
            yield f"{labels.get(subject, subject)}: {since} revisions since the fewest open entries ({listed})"
    for invariant, count in sorted(churn.rounds.items()):
        if count > 1:
            yield f"round {count} of {invariant}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
