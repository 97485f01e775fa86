"""What the `options` of a Watch of a JSON document may hold: named rules, written in CEL."""

import re
from typing import Annotated, Final, TypeAlias

import durationpy
import pydantic

from vigil.kind import api
from vigil.model import ids, observations
from vigil_kinds.http_json import language, text

REACHED: Final = "reached"
WATCHING: Final = "watching"

EXPRESSION_LIMIT: Final = 1000
"""Characters of an expression."""

RULES_LIMIT: Final = 20
"""Rules of a Watch."""

_NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_DURATION = r"^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$"
_LONGEST_HOLD: Final = 168 * 3600.0


def _expression(source: str) -> str:
    fault = language.problem(source)
    if fault is not None:
        raise ValueError(fault)
    return source


Expression: TypeAlias = Annotated[
    str,
    pydantic.Field(min_length=1, max_length=EXPRESSION_LIMIT),
    pydantic.AfterValidator(_expression),
]


def seconds(hold: str) -> observations.Hold:
    """What `hold` means; raises ValueError for what is neither `settle` nor a Go duration of at most 168h."""
    if hold == observations.SETTLE:
        return observations.SETTLE
    if not re.fullmatch(_DURATION, hold):
        raise ValueError("is neither settle nor a duration like 90s, 10m or 1h30m")
    length: ids.Seconds = 0.0 if hold == "0" else float(durationpy.from_str(hold).total_seconds())
    if length > _LONGEST_HOLD:
        raise ValueError("is at most 168h")
    return length


def _held(hold: str) -> str:
    seconds(hold)
    return hold


class Rule(api.Model):
    """One rule: the entry `matched:<name>` is there while `when` gives true."""

    name: Annotated[str, pydantic.Field(min_length=1, max_length=63, pattern=_NAME)] = pydantic.Field(
        description="The rule's name, unique in the Watch; the entry's key is `matched:` and this name."
    )
    when: Expression = pydantic.Field(
        description="CEL that gives true or false. A field that is not there is no answer, and so neither."
    )
    severity: observations.Severity = pydantic.Field(
        default=observations.Severity.WAKE, description="How the entry is delivered; Terminal ends the Watch."
    )
    claim: bool = pydantic.Field(
        default=False,
        description="Whether the rule is a judgement that all is well, which is withheld while anything else is open.",
    )
    outcome: observations.Outcome | None = pydantic.Field(
        default=None,
        validate_default=True,
        description="Whether the end is good or bad: required with severity Terminal or claim, and refused otherwise.",
    )
    resets_on: observations.ResetsOn = pydantic.Field(
        default=observations.ResetsOn.NEVER, description="Whether a new revision clears the memory of the entry."
    )
    hold: Annotated[str, pydantic.Field(max_length=40), pydantic.AfterValidator(_held)] = pydantic.Field(
        default="0", description="How long the entry must stand before it counts: settle, or a Go duration up to 168h."
    )
    episode: Expression | None = pydantic.Field(
        default=None, description="CEL that gives a string: what the entry is about. A new one is news."
    )
    detail: Expression | None = pydantic.Field(
        default=None, description="CEL that gives anything: what a question about the entry would rest on."
    )
    brief: Annotated[str, pydantic.Field(max_length=text.BRIEF_LIMIT)] = pydantic.Field(
        default="", description="The text that goes with the entry."
    )
    brief_from: Expression | None = pydantic.Field(
        default=None, description="CEL that gives this text; where it gives none, `brief` is used."
    )

    @pydantic.field_validator("outcome")
    @classmethod
    def _fits(cls, outcome: observations.Outcome | None, info: pydantic.ValidationInfo) -> observations.Outcome | None:
        """Say nothing of a rule whose severity is already refused."""
        if "severity" not in info.data or "claim" not in info.data:
            return outcome
        ends = info.data["claim"] or info.data["severity"] is observations.Severity.TERMINAL
        if ends and outcome is None:
            raise ValueError("is required with severity Terminal or claim: Succeeded or Failed")
        if outcome is not None and not ends:
            raise ValueError("is only for severity Terminal or claim")
        return outcome

    @property
    def key(self) -> str:
        """The key of the rule's entry."""
        return f"matched:{self.name}"


def _distinct(rules: list[Rule]) -> list[Rule]:
    names = [rule.name for rule in rules]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"has the rule {twice} twice")
    return rules


class DocumentOptions(api.Model):
    """The options of a Watch of a JSON document."""

    rules: Annotated[
        list[Rule], pydantic.Field(min_length=1, max_length=RULES_LIMIT), pydantic.AfterValidator(_distinct)
    ] = pydantic.Field(description="What to look for.")
    expect: Expression | None = pydantic.Field(
        default=None,
        description="CEL that must give true before anything else is asked: that the document is the one that is meant "
        "and is not empty. Where it does not, nothing is known in that tick.",
    )
    revision: Expression | None = pydantic.Field(
        default=None, description="CEL that gives a string or a whole number: which state of the subject this is."
    )
    pending: Expression | None = pydantic.Field(
        default=None, description="CEL that gives true or a count: whether, or how many, parts are still running."
    )
    activity: Expression | None = pydantic.Field(
        default=None, description="CEL that gives anything: what must not change for a hold to run."
    )


def check(_subject: api.Subject, objective: str, options: DocumentOptions) -> str | None:
    """Why the rules do not fit the objective, or None."""
    ends = [rule for rule in options.rules if rule.severity is observations.Severity.TERMINAL]
    if objective == REACHED and not ends:
        return f"objective: {REACHED} needs a rule of severity Terminal, and there is none; {WATCHING} has no end"
    if objective == WATCHING and ends:
        return f"objective: {WATCHING} has no end, and the rule {ends[0].name} is Terminal; use {REACHED}"
    return None
