"""The Watch resource, `vigil.dev/v1alpha1`: what a manifest may say, with its defaults and bounds.

The CustomResourceDefinition is made of this file.
"""

import re
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

import pydantic
from pydantic import alias_generators

from vigil.api import durations, schema, yamljson
from vigil.model import limits, observations, verdicts, wakes

GROUP: Final = "vigil.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
KIND: Final = "Watch"

POKE: Final = "vigil.dev/poke"
SILENCE_UNTIL: Final = "vigil.dev/silence-until"
RESET: Final = "vigil.dev/reset"

MIN_INTERVAL: Final = "10s"
DEFAULT_LIFETIME: Final = "168h"
MAX_SUBJECTS: Final = 50
REASONS: Final = tuple(
    sorted({*verdicts.WakeReason, *verdicts.StopReason, *(outcome.value.lower() for outcome in observations.Outcome)})
)
"""The reasons that `deliver.prompts` may name."""

_WORD: Final = r"^[a-z]([a-z0-9_-]*[a-z0-9])?$"
_DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_DNS_NAME: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
_SECRET_KEY: Final = r"^[-._a-zA-Z0-9]+$"  # noqa: S105 - a pattern
_HOST: Final = r"^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$"


def _host(text: str) -> str:
    if not re.fullmatch(_HOST, text):
        raise ValueError("must be the name of a host, perhaps with a port, such as github.com: no scheme and no path")
    return text


Host: TypeAlias = Annotated[
    str, pydantic.Field(max_length=259, json_schema_extra={"pattern": _HOST}), pydantic.AfterValidator(_host)
]
Word: TypeAlias = Annotated[str, pydantic.Field(pattern=_WORD, max_length=63)]
DnsLabel: TypeAlias = Annotated[str, pydantic.Field(pattern=_DNS_LABEL, max_length=63)]
DnsName: TypeAlias = Annotated[str, pydantic.Field(pattern=_DNS_NAME, max_length=253)]
SecretKeyName: TypeAlias = Annotated[str, pydantic.Field(pattern=_SECRET_KEY, max_length=253)]
Prompt: TypeAlias = Annotated[str, pydantic.Field(max_length=2048)]
Count: TypeAlias = Annotated[int, pydantic.Field(ge=0, le=1_000_000), schema.WHOLE]
Ticks: TypeAlias = Annotated[int, pydantic.Field(ge=1, le=1_000_000), schema.WHOLE]
Tokens: TypeAlias = Annotated[int, pydantic.Field(ge=0, le=1_000_000_000_000), schema.WHOLE]

_LOOSE: Final[dict[str, Any]] = {"x-kubernetes-preserve-unknown-fields": True}
Subject: TypeAlias = Annotated[schema.Loose, pydantic.Field(max_length=32, json_schema_extra=_LOOSE)]


class SecretRef(schema.Model):
    """A key of a Secret in the Watch's own namespace."""

    name: DnsName = pydantic.Field(description="The name of the Secret.")
    key: SecretKeyName = pydantic.Field(default="token", description="The key in it.")


class Source(schema.Model):
    """Where the subjects are read, and as whom."""

    host: Host | None = pydantic.Field(
        default=None, description="The provider's host, such as github.com; the kind's own when it is not given."
    )
    credential_ref: SecretRef | None = pydantic.Field(
        default=None,
        description="The Secret that holds the credential, in the Watch's own namespace. It is sent only to the hosts"
        " that the Secret's annotation vigil.dev/allowed-hosts names, or to the kind's own.",
    )


class CadenceSpec(schema.Model):
    """How often the subjects are read."""

    interval: schema.Duration = pydantic.Field(
        default="2m", description=f"The time between two reads while anything happens; at least {MIN_INTERVAL}."
    )
    quiet_interval: schema.Duration = pydantic.Field(
        default="10m", description="The time between two reads when nothing happened for quietAfter; at least interval."
    )
    quiet_after: schema.Duration = pydantic.Field(
        default="30m", description="How long nothing must be pending, open or changed before quietInterval is used."
    )
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        schema.Rule(
            cel=schema.cel_at_least("self.interval", f"'{MIN_INTERVAL}'"),
            message=f"interval must be at least {MIN_INTERVAL}",
            holds=lambda self: durations.parse(self.interval) >= durations.parse(MIN_INTERVAL),
            field=".interval",
        ),
        schema.Rule(
            cel=schema.cel_at_least("self.quietInterval", "self.interval"),
            message="quietInterval (10m unless it is given) must be at least interval",
            holds=lambda self: durations.parse(self.quiet_interval) >= durations.parse(self.interval),
            field=".quietInterval",
        ),
    )


class CoalesceSpec(schema.Model):
    """How news is gathered into one wake."""

    window: schema.Duration = pydantic.Field(
        default="4m", description="How long an entry waits for others before it wakes; 0s wakes at once."
    )
    max: schema.Duration = pydantic.Field(
        default="30m", description="The longest wait while something is still pending."
    )


class StallSpec(schema.Model):
    """What becomes of a Watch whose subjects never change."""

    ticks: Ticks = pydantic.Field(
        default=12, description="So many settled reads with the same open entries, and minDuration, are a stall."
    )
    min_duration: schema.Duration = pydantic.Field(default="72h", description="The shortest stall.")
    action: limits.StallAction = pydantic.Field(
        default=limits.StallAction.STOP,
        strict=False,
        description="What a stall does: Stop ends the Watch, Notify wakes once, Off nothing. Write Off in quotes:"
        " kubectl reads the bare word as false.",
    )


class PolicySpec(schema.Model):
    """When news becomes a wake."""

    realert_after: schema.Duration = pydantic.Field(
        default="6h", description="The time after which an entry is told again unless somebody disposed of it."
    )
    coalesce: CoalesceSpec = pydantic.Field(
        default_factory=CoalesceSpec, description="How news is gathered into one wake."
    )
    settle: schema.Duration = pydantic.Field(
        default="5m", description="How long a subject must be quiet before a claim such as `ready` counts."
    )
    floor_ticks: Count = pydantic.Field(
        default=0, description="After so many quiet reads in a row a wake tells what is open; 0 never."
    )
    blind_after: Count = pydantic.Field(
        default=6, description="After so many failed reads in a row a wake says that the Watch is blind; 0 never."
    )
    stall: StallSpec = pydantic.Field(
        default_factory=StallSpec, description="What becomes of a Watch whose subjects never change."
    )
    on_first_observation: limits.FirstObservation = pydantic.Field(
        default=limits.FirstObservation.WAKE,
        strict=False,
        description="What is made of what is already true at the first read: Wake tells it, Baseline takes it as told.",
    )
    confirm: limits.Confirm = pydantic.Field(
        default=limits.Confirm.EXPLICIT,
        strict=False,
        description="What disposes of an entry: the agent's word (Explicit) or the accepted delivery (Delivered).",
    )


class BudgetsSpec(schema.Model):
    """What a Watch may spend before it stops; null is no limit."""

    turns: Count | None = pydantic.Field(
        default=8, description="Turns of agents.", json_schema_extra={"nullable": True}
    )
    tokens: Tokens | None = pydantic.Field(
        default=250_000, description="Tokens of all turns.", json_schema_extra={"nullable": True}
    )
    provider_errors: Count | None = pydantic.Field(
        default=50, description="Failed reads of one subject in a row.", json_schema_extra={"nullable": True}
    )
    active_time: schema.Duration | None = schema.nullable("Time between reads, gaps over 15 minutes not counted.")
    lifetime: schema.Duration | None = schema.nullable(
        f"Time since the Watch began; {DEFAULT_LIFETIME} when it is not given and the objective has an end of its own."
    )


class Named(schema.Model):
    """Something by its name."""

    name: DnsName = pydantic.Field(description="The name.")


class JobSource(schema.Model):
    """What a Job is made from."""

    cron_job: Named = pydantic.Field(
        description="A suspended CronJob of the Watch's namespace that opted in; every wake makes a Job of it."
    )


class FreshSpec(schema.Model):
    """What starts the fresh session of a wake: one of an endpoint, a command and a Job."""

    endpoint: Word | None = pydantic.Field(default=None, description="An HTTP endpoint that the chart names.")
    command: Word | None = pydantic.Field(default=None, description="A command that the chart names.")
    job_from: JobSource | None = pydantic.Field(
        default=None, description="A Job that is made as `kubectl create job --from` does."
    )
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        schema.Rule(
            cel="[has(self.endpoint), has(self.command), has(self.jobFrom)].filter(given, given).size() == 1",
            message="fresh must have exactly one of endpoint, command and jobFrom",
            holds=lambda self: [self.endpoint, self.command, self.job_from].count(None) == 2,
        ),
    )


class SecretSource(schema.Model):
    """A value that a Secret holds."""

    secret_key_ref: SecretRef = pydantic.Field(description="The key of a Secret in the Watch's own namespace.")


class NotifySpec(schema.Model):
    """Where a notification goes: one of a URL from a Secret and a receiver."""

    url_from: SecretSource | None = pydantic.Field(default=None, description="The URL to post to.")
    receiver: Word | None = pydantic.Field(default=None, description="A receiver that the chart names.")
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        schema.Rule(
            cel="has(self.urlFrom) != has(self.receiver)",
            message="notify must have exactly one of urlFrom and receiver",
            holds=lambda self: (self.url_from is None) != (self.receiver is None),
        ),
    )


PROMPTS_RULE: Final = schema.Rule(
    cel=f"self.all(reason, reason in {list(map(str, REASONS))!r})",
    message=f"prompts are named by reason, one of: {', '.join(REASONS)}",
    holds=lambda prompts: set(prompts) <= set(REASONS),
)


def _without_nulls(prompts: Any) -> Any:
    if not yamljson.is_object(prompts):
        return prompts
    return {key: text for key, text in prompts.items() if text is not None}


def _known_reasons(prompts: dict[str, str]) -> dict[str, str]:
    PROMPTS_RULE.check(prompts)
    return prompts


class DeliverSpec(schema.Model):
    """How news reaches somebody."""

    session: DnsName | None = pydantic.Field(
        default=None, description="The session of the Watch's namespace that takes the turns."
    )
    mode: wakes.Mode = pydantic.Field(
        default=wakes.Mode.SESSION,
        strict=False,
        description="Whose context takes a turn: the session's own (Session), or a new one for every wake (Fresh).",
    )
    fresh: FreshSpec | None = pydantic.Field(default=None, description="What starts a fresh session; with mode Fresh.")
    wake: bool = pydantic.Field(
        default=True, description="false: entries ride with the session's next turn and never start one."
    )
    prompt: Prompt = pydantic.Field(default="", description="What the session is asked to do.")
    prompts: Annotated[
        dict[str, Prompt],
        pydantic.Field(max_length=32, json_schema_extra={"x-kubernetes-validations": [{**PROMPTS_RULE.as_schema()}]}),
        pydantic.BeforeValidator(_without_nulls),
        pydantic.AfterValidator(_known_reasons),
    ] = pydantic.Field(default_factory=dict, description="Other prompts by the reason of the wake.")
    notify: NotifySpec | None = pydantic.Field(
        default=None, description="Where a notification goes when no session can take the turn."
    )
    rules: ClassVar[tuple[schema.Rule, ...]] = (
        schema.Rule(
            cel="(self.mode == 'Fresh') == has(self.fresh)",
            message="mode Fresh needs fresh, and fresh needs mode Fresh",
            holds=lambda self: (self.mode is wakes.Mode.FRESH) == (self.fresh is not None),
            field=".fresh",
        ),
        schema.Rule(
            cel="self.mode == 'Fresh' || has(self.session) || has(self.notify)",
            message="deliver needs a session, mode Fresh or notify; without deliver a wake is only recorded",
            holds=lambda self: self.mode is wakes.Mode.FRESH or self.session is not None or self.notify is not None,
            field=".session",
        ),
    )


class WatchSpec(schema.Model):
    """What is watched, until when, and who is told."""

    description: Annotated[str, pydantic.Field(max_length=1024)] = pydantic.Field(
        default="", description="What this Watch is for, told with every wake."
    )
    kind: Word = pydantic.Field(
        description="The kind of the subjects, one that `vigil kinds` lists. It cannot be changed.",
        json_schema_extra={
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "kind cannot be changed: make another Watch"}
            ]
        },
    )
    objective: Word = pydantic.Field(description="What the Watch waits for, a word of the kind's own.")
    subjects: Annotated[list[Subject], pydantic.Field(min_length=1, max_length=MAX_SUBJECTS)] = pydantic.Field(
        description="What is watched. The fields of an item are the kind's own.",
        json_schema_extra={"x-kubernetes-list-type": "atomic"},
    )
    options: Annotated[schema.Loose, pydantic.Field(max_length=64)] = pydantic.Field(
        default_factory=dict, description="The kind's own options.", json_schema_extra=_LOOSE
    )
    source: Source = pydantic.Field(default_factory=Source, description="Where the subjects are read, and as whom.")
    cadence: CadenceSpec = pydantic.Field(default_factory=CadenceSpec, description="How often the subjects are read.")
    policy: PolicySpec = pydantic.Field(default_factory=PolicySpec, description="When news becomes a wake.")
    budgets: BudgetsSpec = pydantic.Field(
        default_factory=BudgetsSpec, description="What the Watch may spend before it stops; null is no limit."
    )
    exclusive: Annotated[str, pydantic.Field(max_length=253)] = pydantic.Field(
        default="", description="Among Watches of a namespace with the same value the newest valid one is active."
    )
    deliver: DeliverSpec | None = pydantic.Field(
        default=None, description="How news reaches somebody; without it a wake is only recorded."
    )
    suspend: bool = pydantic.Field(default=False, description="true: nothing is read until it is false again.")


class Metadata(pydantic.BaseModel):
    """What is used of a Watch's metadata; the rest is Kubernetes' own and passes."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(
        extra="ignore", frozen=True, strict=True, alias_generator=alias_generators.to_camel
    )

    name: DnsName
    namespace: DnsLabel = "default"
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    annotations: dict[str, str] = pydantic.Field(default_factory=dict)


class Watch(schema.Model):
    """One Watch as it is written; `status` is whatever was last written there."""

    api_version: Literal["vigil.dev/v1alpha1"]
    kind: Literal["Watch"]
    metadata: Metadata
    spec: WatchSpec
    status: schema.Loose = pydantic.Field(default_factory=dict)
