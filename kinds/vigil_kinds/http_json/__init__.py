"""A JSON document at a URL, observed by named rules that the Watch writes in CEL. See README.md."""

from vigil.kind import api
from vigil.model import observations
from vigil_kinds.http_json import evidence, observe, read, rules, subject

KIND = api.Kind(
    name="http_json",
    summary="A JSON document at a URL, observed by named rules that the Watch writes in CEL.",
    subject=subject.DocumentSubject,
    options=rules.DocumentOptions,
    objectives={
        rules.REACHED: api.Objective("A rule of severity Terminal matches; the Watch has at least one."),
        rules.WATCHING: api.Objective("Never: every match is news, and no rule may be Terminal.", finite=False),
    },
    keys=(
        api.Key(
            "matched:<rule>",
            "rules",
            frozenset(observations.Severity),
            frozenset(observations.ResetsOn),
            "The rule's `when` gives true. Severity, outcome, claim, hold and the rest are the rule's own.",
        ),
    ),
    reader=read.DocumentReader,
    observe=observe.observe,
    chunk=8,
    evidence=evidence.render,
    check=rules.check,
    offload=True,
)
