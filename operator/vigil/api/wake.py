"""The wire between the operator and the sidecar: a wake, where it stands, and what became of it.

`api/turn.py` has the session's half, `api/ledger.py` the ledger's, `api/base.py` the bounds of all three.
"""

import dataclasses
from typing import Annotated, ClassVar, Literal, Self

import pydantic

from vigil import ports
from vigil.api import base
from vigil.model import ids, observations, wakes


class SecretKey(base.Answer):
    """A key of a Secret in the Watch's namespace."""

    name: base.Name
    key: Annotated[str, pydantic.StringConstraints(min_length=1, max_length=253)]


class Notify(base.Answer):
    """Where a notification goes; one of them is set."""

    url_from: SecretKey | None = None
    receiver: base.Word | None = None

    @classmethod
    def of(cls, notify: wakes.Notify) -> Self:
        """From the value."""
        source = notify.url_from
        return cls(url_from=SecretKey(name=source.name, key=source.key) if source else None, receiver=notify.receiver)

    def value(self) -> wakes.Notify:
        """As the value."""
        source = self.url_from
        return wakes.Notify(wakes.SecretKey(source.name, source.key) if source else None, self.receiver)


class Fresh(base.Answer):
    """What starts a fresh context; one of them is set."""

    endpoint: base.Word | None = None
    command: base.Word | None = None
    cron_job: base.Name | None = None


class Prompt(base.Answer):
    """The prompt of one reason."""

    reason: base.Word
    text: base.Text


class Deliver(base.Answer):
    """How the news reaches somebody."""

    session: base.Name | None = None
    mode: wakes.Mode = wakes.Mode.SESSION
    wake: bool = True
    prompt: base.Text = ""
    prompts: Annotated[tuple[Prompt, ...], pydantic.Field(max_length=64)] = ()
    notify: Notify | None = None
    fresh: Fresh | None = None

    @classmethod
    def of(cls, deliver: wakes.Deliver) -> Self:
        """From the value."""
        return cls(
            session=deliver.session,
            mode=deliver.mode,
            wake=deliver.wake,
            prompt=base.fit(deliver.prompt, 4000),
            prompts=tuple(Prompt(reason=reason, text=base.fit(text, 4000)) for reason, text in deliver.prompts[:64]),
            notify=Notify.of(deliver.notify) if deliver.notify else None,
            fresh=Fresh(**dataclasses.asdict(deliver.fresh)) if deliver.fresh else None,
        )

    def value(self) -> wakes.Deliver:
        """As the value."""
        return wakes.Deliver(
            session=self.session,
            mode=self.mode,
            wake=self.wake,
            prompt=self.prompt,
            prompts=tuple((each.reason, each.text) for each in self.prompts),
            notify=self.notify.value() if self.notify else None,
            fresh=wakes.Fresh(**self.fresh.model_dump()) if self.fresh else None,
        )


class Watch(base.Answer):
    """Which Watch."""

    uid: base.Id
    namespace: base.Namespace
    name: base.Name
    generation: base.Count = 1

    @classmethod
    def of(cls, watch: wakes.WatchRef) -> Self:
        """From the value."""
        return cls(uid=watch.uid, namespace=watch.namespace, name=watch.name, generation=watch.generation)

    def value(self) -> wakes.WatchRef:
        """As the value."""
        return wakes.WatchRef(ids.WatchUid(self.uid), self.namespace, self.name, self.generation)


class Entry(base.Answer):
    """One entry as it is told."""

    subject: base.Short
    key: base.Short
    severity: observations.Severity
    brief: base.Text = ""
    since: base.Time
    revision: base.Short = ""
    outcome: observations.Outcome | None = None

    @classmethod
    def of(cls, entry: wakes.WakeEntry) -> Self:
        """From the value."""
        return cls(
            subject=base.fit(entry.subject, 300),
            key=base.fit(entry.key, 300),
            severity=entry.severity,
            brief=base.fit(entry.brief, 4000),
            since=base.time_of(entry.since),
            revision=base.fit(entry.revision, 300),
            outcome=entry.outcome,
        )

    def value(self) -> wakes.WakeEntry:
        """As the value."""
        return wakes.WakeEntry(
            subject=self.subject,
            key=self.key,
            severity=self.severity,
            brief=self.brief,
            since=self.since.timestamp(),
            revision=self.revision,
            outcome=self.outcome,
        )


class Wake(base.Answer):
    """One version of a wake: the body of PUT /v1/wakes/{id}."""

    id: base.Id
    sequence: base.Count
    watch: Watch
    type: wakes.WakeType
    reason: base.Word
    brief: base.Text = ""
    entries: Annotated[tuple[Entry, ...], pydantic.Field(max_length=base.ENTRIES_LIMIT)] = ()
    decided_at: base.Time
    observed_at: base.Time
    evidence: Annotated[str, pydantic.StringConstraints(max_length=base.EVIDENCE_LIMIT)] = ""
    deliver: Deliver | None = None
    kind: base.Word = ""
    description: base.Text = ""

    @classmethod
    def of(cls, message: wakes.WakeMessage) -> Self:
        """From the value, cut to the bounds of the wire."""
        return cls(
            id=message.id,
            sequence=message.sequence,
            watch=Watch.of(message.watch),
            type=message.type,
            reason=message.reason,
            brief=base.fit(message.brief, 4000),
            entries=tuple(Entry.of(each) for each in message.entries[: base.ENTRIES_LIMIT]),
            decided_at=base.time_of(message.decided_at),
            observed_at=base.time_of(message.observed_at),
            evidence=base.fit(message.evidence, base.EVIDENCE_LIMIT),
            deliver=Deliver.of(message.deliver) if message.deliver else None,
            kind=message.kind,
            description=base.fit(message.description, 4000),
        )

    def value(self) -> wakes.WakeMessage:
        """As the value."""
        return wakes.WakeMessage(
            id=ids.WakeId(self.id),
            sequence=self.sequence,
            watch=self.watch.value(),
            type=self.type,
            reason=self.reason,
            brief=self.brief,
            entries=tuple(each.value() for each in self.entries),
            decided_at=self.decided_at.timestamp(),
            observed_at=self.observed_at.timestamp(),
            evidence=self.evidence,
            deliver=self.deliver.value() if self.deliver else None,
            kind=self.kind,
            description=self.description,
        )


class DispositionOf(base.Asked):
    """What an agent says of an entry.

    `watch` names the Watch when the turn was about several; empty is the turn's first.
    """

    key: Annotated[str, pydantic.StringConstraints(min_length=1, max_length=300)]
    disposition: wakes.Disposition
    subject: base.Short = ""
    invariant: base.Short = ""
    question: base.Short = ""
    watch: Annotated[str, pydantic.StringConstraints(max_length=253)] = ""

    @classmethod
    def of(cls, disposition: wakes.DispositionOf) -> Self:
        """From the value."""
        return cls(
            key=disposition.key,
            disposition=disposition.disposition,
            subject=disposition.subject,
            invariant=disposition.invariant,
            question=disposition.question,
        )

    def value(self) -> wakes.DispositionOf:
        """As the value; which Watch it was for is no part of it."""
        return wakes.DispositionOf(self.key, self.disposition, self.subject, self.invariant, self.question)


class Disposed(DispositionOf):
    """A disposition as it is answered."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(extra="ignore")


Dispositions = Annotated[tuple[DispositionOf, ...], pydantic.Field(max_length=base.DISPOSITIONS_LIMIT)]


class Outcome(base.Answer):
    """What became of one wake."""

    cursor: base.Count
    wake: base.Id
    watch: base.Id
    state: wakes.WakeState
    sequence: base.Count
    at: base.Time
    tokens: base.Count = 0
    dispositions: Annotated[tuple[Disposed, ...], pydantic.Field(max_length=base.DISPOSITIONS_LIMIT)] = ()

    @classmethod
    def of(cls, event: wakes.OutcomeEvent) -> Self:
        """From the value."""
        return cls(
            cursor=event.cursor,
            wake=event.wake,
            watch=event.watch,
            state=event.state,
            sequence=event.sequence,
            at=base.time_of(event.at),
            tokens=event.tokens,
            dispositions=tuple(Disposed.of(each) for each in event.dispositions),
        )

    def value(self) -> wakes.OutcomeEvent:
        """As the value."""
        return wakes.OutcomeEvent(
            cursor=self.cursor,
            wake=ids.WakeId(self.wake),
            watch=ids.WatchUid(self.watch),
            state=self.state,
            sequence=self.sequence,
            at=self.at.timestamp(),
            tokens=self.tokens,
            dispositions=tuple(each.value() for each in self.dispositions),
        )


class Standing(base.Answer):
    """Where a wake stands: the state and the version that the sidecar holds, why it waits, or what became of it."""

    state: wakes.WakeState
    sequence: base.Count
    reason: wakes.QueuedReason | None = None
    outcome: Outcome | None = None

    @classmethod
    def of(cls, result: wakes.SubmitResult) -> Self:
        """From the value."""
        outcome = None if result.event is None else Outcome.of(result.event)
        return cls(state=result.state, sequence=result.sequence, reason=result.reason, outcome=outcome)

    def value(self) -> wakes.SubmitResult:
        """As the value."""
        event = None if self.outcome is None else self.outcome.value()
        return wakes.SubmitResult(self.state, self.sequence, self.reason, event)


class WakeView(Standing):
    """One wake as GET /v1/wakes/{id} shows it; after a while only its state is known."""

    id: base.Id
    watch: Watch
    type: wakes.WakeType
    wake_reason: base.Word
    entries: base.Count
    offers: base.Count
    submitted_at: base.Time
    evidence_url: str | None = None


ProblemCode = Literal[
    "invalid",
    "unauthenticated",
    "forbidden",
    "not-found",
    "not-attached",
    "settled",
    "another-wake-claimed",
    "stale",
    "too-large",
    "unavailable",
]


class Problem(base.Answer):
    """Why a request had no effect.

    `state`, `sequence` and `outcome` are those of the wake that stands in its way, if one does.
    """

    code: ProblemCode
    message: Annotated[str, pydantic.StringConstraints(max_length=1000)]
    state: wakes.WakeState | None = None
    sequence: base.Count | None = None
    wake: base.Id | None = None
    outcome: Outcome | None = None


class Outcomes(base.Answer):
    """A page of outcomes, and the cursor to ask with for the next ones."""

    events: Annotated[tuple[Outcome, ...], pydantic.Field(max_length=base.OUTCOMES_LIMIT)] = ()
    cursor: base.Count

    @classmethod
    def of(cls, page: ports.OutcomePage) -> Self:
        """From the value."""
        return cls(events=tuple(Outcome.of(each) for each in page.events), cursor=page.cursor)

    def value(self) -> ports.OutcomePage:
        """As the value."""
        return ports.OutcomePage(tuple(each.value() for each in self.events), self.cursor)
