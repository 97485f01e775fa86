"""What an agent parked for a person: it stands while what it rests on is unchanged, and is answered by its name."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping

from vigil.decision import digests, step
from vigil.model import ids, states, verdicts

ANSWER_LIMIT = 1000
"""Characters of an answer that are kept until a wake has told it."""
NAME_LIMIT = 64
"""Characters of the name of a question; a longer one is known by its digest."""


def void(tick: step.Step) -> None:
    """Void each question of which an entry changed or went, as a whole; what is left of its entries is news again."""
    rows = list(_parked(tick.subjects))
    if not rows:
        return
    changed = {row.question for identity, row in rows if not _stands(tick, identity, row)}
    over = [identity for identity, row in rows if row.question in changed]
    for identity in over:
        surviving = not _gone(tick, identity)
        tick.keep(identity.subject, _reopened(tick.subject(identity.subject), identity, surviving))
    tick.flown = unstamped(tick.flown, over)


def _parked(
    subjects: Mapping[ids.SubjectId, states.SubjectState],
) -> Iterator[tuple[verdicts.Identity, states.Parked]]:
    for memory in subjects.values():
        yield from memory.parked.items()


def _stands(tick: step.Step, identity: verdicts.Identity, row: states.Parked) -> bool:
    """Whether an entry is open as it was when the question was asked; a read that is not complete proves no absence."""
    shown = tick.entries.get(identity)
    return digests.short(shown.detail) == row.detail if shown is not None else not _gone(tick, identity)


def _gone(tick: step.Step, identity: verdicts.Identity) -> bool:
    memory, result = tick.subject(identity.subject), tick.results.get(identity.subject)
    if memory.retired is not None or identity.revision not in (None, memory.revision):
        return True
    return result is not None and result.complete and identity not in tick.entries


def _reopened(memory: states.SubjectState, identity: verdicts.Identity, surviving: bool) -> states.SubjectState:
    """The memory without the entry under its question, and without its stamp if it is still open."""
    parked = {one: row for one, row in memory.parked.items() if one != identity}
    alerted = {one: stamp for one, stamp in memory.alerted.items() if not surviving or one != identity}
    return dataclasses.replace(memory, parked=parked, alerted=alerted)


def unstamped(flown: states.InFlight | None, over: Collection[verdicts.Identity]) -> states.InFlight | None:
    """The wake in flight, which does not make these entries told: their question ended after its verdict."""
    if flown is None or not over:
        return flown
    sent = tuple(dataclasses.replace(one, stamps=False) if one.identity in over else one for one in flown.sent)
    return dataclasses.replace(flown, sent=sent)


def park(memory: states.SubjectState, identity: verdicts.Identity, question: str, detail: str) -> states.SubjectState:
    """Put an entry under a question, unless that was answered for what it rests on; what was said of it before goes."""
    answered = memory.answered.get(identity)
    if answered is not None and answered.detail == detail:
        return memory
    said = {one: told for one, told in memory.dispositions.items() if one != identity}
    parked = {**memory.parked, identity: states.Parked(_name(question), detail)}
    return dataclasses.replace(memory, dispositions=said, parked=parked)


def take_back(state: states.State, question: str) -> states.State:
    """Void a question as a whole; its entries are news again, and can be parked again."""
    return _ended(state, question, None, 0.0)


def answer(state: states.State, question: str, text: str, at: ids.Instant) -> states.State:
    """Answer a question: its entries are news again, and the answer goes with the wake that tells them.

    A question that does not stand changes nothing: the same state comes back.
    """
    return _ended(state, _name(question), text[:ANSWER_LIMIT], at)


def _name(question: str) -> str:
    return question if len(question) <= NAME_LIMIT else digests.short(question)


def _ended(state: states.State, question: str, text: str | None, at: ids.Instant) -> states.State:
    over = {identity: row for identity, row in _parked(state.subjects) if row.question == question}
    if not over:
        return state
    subjects, forgotten = dict(state.subjects), state.forgotten
    for identity, row in over.items():
        before = subjects[identity.subject]
        memory = _reopened(before, identity, surviving=True)
        forgotten += len(before.alerted) - len(memory.alerted)
        if text is not None:
            answered = {**memory.answered, identity: states.Answered(row.detail, at, text)}
            memory = dataclasses.replace(memory, answered=answered)
        subjects[identity.subject] = memory
    flown = unstamped(state.in_flight, over)
    return dataclasses.replace(state, subjects=subjects, forgotten=forgotten, in_flight=flown)
