"""A scenario: a policy and a made-up course of events, so that the policy can be tried before it is applied."""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Final, Literal

import pydantic

from vigil.api import durations, manifest, problems, schema, yamljson
from vigil.model import failures, ids, limits, observations, wakes
from vigil.tick import simulation

MAX_BYTES: Final = 4 * 1024 * 1024
MAX_STEPS: Final = 10_000
MAX_SUBJECTS: Final = 50
MAX_OBSERVATIONS: Final = 1000
OFFSET: Final = f"an offset is a duration such as 90s or 1h30m, at most {durations.LONGEST}, or one with a - before it"

ONLY: Final = ids.SubjectId("subject")
"""The name of the one subject of a scenario that names none."""

_Text = Annotated[str, pydantic.Field(max_length=1000)]
_Key = Annotated[str, pydantic.Field(min_length=1, max_length=observations.KEY_LIMIT)]
_Count = Annotated[int, pydantic.Field(ge=0, le=2**53), schema.WHOLE]


def _offset(text: str) -> str:
    """An offset is a duration with a sign: a clock can step back behind the start too."""
    try:
        _seconds(text)
    except durations.DurationError as error:
        raise ValueError(OFFSET) from error
    return text


def _names(subjects: dict[str, Any]) -> dict[str, Any]:
    for name in subjects:
        if not observations.is_key(name):
            raise ValueError(f"{name[:50]!r} is no name: 1 to {observations.KEY_LIMIT} printable characters")
    return subjects


def _hold(text: str) -> str:
    if text != observations.SETTLE:
        durations.parse(text)
    return text


_Hold = Annotated[str, pydantic.BeforeValidator(schema.zero), pydantic.AfterValidator(_hold)]
_Offset = Annotated[str, pydantic.BeforeValidator(schema.zero), pydantic.AfterValidator(_offset)]


def _rule(message: str, holds: Callable[[Any], bool], field: str) -> schema.Rule:
    """A rule of a file that no API server sees."""
    return schema.Rule("", message, holds, field)


class ObservationSpec(schema.Model):
    """One entry that a subject shows."""

    key: _Key
    severity: Annotated[observations.Severity, pydantic.Field(strict=False)]
    resets_on: Annotated[observations.ResetsOn, pydantic.Field(strict=False)]
    hold: _Hold = "0s"
    episode: _Text = ""
    detail: _Text = ""
    outcome: Annotated[observations.Outcome, pydantic.Field(strict=False)] | None = None
    claim: bool = False
    brief: _Text = ""
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        _rule(
            message="outcome must be given for a Terminal entry and for a claim, and for no other",
            holds=lambda self: (
                (self.outcome is not None) == (self.severity is observations.Severity.TERMINAL or self.claim)
            ),
            field=".outcome",
        ),
        _rule(
            message="a key is printable characters without outer blanks",
            holds=lambda self: observations.is_key(self.key),
            field=".key",
        ),
    )


class ErrorSpec(schema.Model):
    """Why a subject could not be read."""

    category: Annotated[failures.Category, pydantic.Field(strict=False)]
    retry_after: schema.Duration | None = None
    shared: bool = False


class ReadingSpec(schema.Model):
    """What one read shows of a subject."""

    revision: _Text | None = None
    complete: bool = True
    pending: _Count = 0
    activity: _Text = ""
    observations: Annotated[list[ObservationSpec], pydantic.Field(max_length=MAX_OBSERVATIONS)] = pydantic.Field(
        default_factory=list[ObservationSpec]
    )
    error: ErrorSpec | None = None
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        _rule(
            message="a read that failed shows no observations",
            holds=lambda self: self.error is None or not self.observations,
            field=".observations",
        ),
    )


class DispositionSpec(schema.Model):
    """What an agent says of an entry; one that is parked without a question stands under one of its key's name."""

    key: _Key
    subject: _Text = ""
    disposition: Annotated[wakes.Disposition, pydantic.Field(strict=False)]
    question: _Text = ""
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        _rule(
            message="question may be given with the disposition parked, and with no other",
            holds=lambda self: not self.question or self.disposition is wakes.Disposition.PARKED,
            field=".question",
        ),
    )


class DeliverySpec(schema.Model):
    """What becomes of the wake in flight."""

    state: Annotated[simulation.Delivered, pydantic.Field(strict=False)]
    tokens: _Count = 0
    dispositions: Annotated[list[DispositionSpec], pydantic.Field(max_length=1000)] = pydantic.Field(
        default_factory=list[DispositionSpec]
    )


class AnswerSpec(schema.Model):
    """What a person says to a question."""

    question: Annotated[str, pydantic.Field(min_length=1, max_length=1000)]
    text: Annotated[str, pydantic.Field(max_length=4000)]


class StepSpec(ReadingSpec):
    """One step: a reading of the one subject, or of several, and what happens before it."""

    at: _Offset
    subjects: (
        Annotated[dict[str, ReadingSpec], pydantic.Field(max_length=MAX_SUBJECTS), pydantic.AfterValidator(_names)]
        | None
    ) = None
    delivery: DeliverySpec | None = None
    answer: AnswerSpec | None = None
    silence_until: _Offset | None = None
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        *ReadingSpec.rules,
        _rule(
            message="a step with subjects has their readings under their names, and none beside them",
            holds=lambda self: self.subjects is None or not self.reads,
            field=".subjects",
        ),
    )

    @property
    def reads(self) -> bool:
        """Whether it holds a reading of the one subject."""
        return bool(self.model_fields_set & set(ReadingSpec.model_fields))

    @property
    def waits(self) -> bool:
        """Whether it is nothing but a time."""
        return self.model_fields_set == {"at"}


class ScenarioSpec(schema.Model):
    """A scenario as it is written; `spec` holds what a Watch's spec does of these."""

    class Spec(schema.Model):
        """What of a Watch's spec a scenario may hold."""

        policy: dict[str, Any] | None = None
        budgets: dict[str, Any] | None = None
        objective: Literal["finite", "standing"] = "finite"

    spec: Spec = pydantic.Field(default_factory=Spec)
    steps: Annotated[list[StepSpec], pydantic.Field(min_length=1, max_length=MAX_STEPS)]


@dataclasses.dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that can be played; `several` says that its subjects have names."""

    subjects: tuple[ids.SubjectId, ...]
    steps: tuple[simulation.Step, ...]
    limits: limits.Limits
    several: bool = False


def load(text: str | bytes, source: str) -> Scenario:
    """The scenario of a YAML or JSON text; raises InvalidManifest, whose messages begin with `source`."""
    if len(text) > MAX_BYTES:
        raise problems.InvalidManifest("", f"{source}: a scenario has at most {MAX_BYTES} bytes, and this has more")
    try:
        spec = manifest.parse_part(ScenarioSpec, yamljson.load(text, MAX_BYTES), "", bare_zero=True)
        under = manifest.parse_limits(spec.spec.policy, spec.spec.budgets, finite=spec.spec.objective == "finite")
        return _scenario(spec, under)
    except yamljson.YamlError as error:
        raise problems.InvalidManifest("", f"{source}: {error}") from error
    except problems.InvalidManifest as error:
        first, *others = error.problems
        raise problems.InvalidManifest("", f"{source}: {first}", *others) from error


def _scenario(spec: ScenarioSpec, under: limits.Limits) -> Scenario:
    named = dict.fromkeys(name for step in spec.steps for name in step.subjects or {})
    if len(named) > MAX_SUBJECTS:
        raise problems.InvalidManifest("steps", f"name more than {MAX_SUBJECTS} subjects")
    for number, step in enumerate(spec.steps):
        if named and step.reads and step.subjects is None:
            raise problems.InvalidManifest(f"steps[{number}]", "has a reading, and others name several subjects")
    several = any(step.subjects is not None for step in spec.steps)
    subjects = tuple(ids.SubjectId(name) for name in named) or (ONLY,)
    return Scenario(subjects, tuple(_step(step, several=several) for step in spec.steps), under, several)


def _step(spec: StepSpec, *, several: bool) -> simulation.Step:
    delivery, answer = spec.delivery, spec.answer
    return simulation.Step(
        at=_seconds(spec.at),
        readings=_readings(spec, several=several),
        delivery=None if delivery is None else _delivery(delivery, several=several),
        answer=None if answer is None else (answer.question, answer.text),
        silence_until=None if spec.silence_until is None else _seconds(spec.silence_until),
    )


def _readings(spec: StepSpec, *, several: bool) -> dict[ids.SubjectId, simulation.Shown] | None:
    if several:
        named = {ids.SubjectId(name): _shown(reading) for name, reading in (spec.subjects or {}).items()}
        return named if spec.subjects is not None or spec.waits else None
    return {ONLY: _shown(spec)} if spec.reads or spec.waits else None


def _shown(spec: ReadingSpec) -> simulation.Shown:
    if spec.error is not None:
        after = None if spec.error.retry_after is None else durations.parse(spec.error.retry_after)
        return failures.Failure(spec.error.category, "as the scenario says", after, spec.error.shared)
    result = observations.ProbeResult(
        observations=tuple(_observation(one) for one in spec.observations),
        revision="",
        complete=spec.complete,
        pending=spec.pending,
        activity=spec.activity,
    )
    return simulation.Seen(result, spec.revision)


def _observation(spec: ObservationSpec) -> observations.Observation:
    return observations.Observation(
        key=spec.key,
        severity=spec.severity,
        resets_on=spec.resets_on,
        brief=spec.brief,
        outcome=spec.outcome,
        claim=spec.claim,
        hold=observations.SETTLE if spec.hold == observations.SETTLE else durations.parse(spec.hold),
        episode=spec.episode,
        detail=spec.detail,
    )


def _delivery(spec: DeliverySpec, *, several: bool) -> simulation.Delivery:
    said = tuple(
        wakes.DispositionOf(one.key, one.disposition, one.subject if several else "", question=one.question)
        for one in spec.dispositions
    )
    return simulation.Delivery(spec.state, spec.tokens, said)


def _seconds(offset: str) -> ids.Seconds:
    seconds = durations.parse(offset[1:] if offset.startswith(("-", "+")) else offset)
    return -seconds if offset.startswith("-") else seconds
