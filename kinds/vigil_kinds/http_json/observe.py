"""The pure half: what the rules of a Watch see in a document.

An expression that gives no answer (a field that is not there, a value of the wrong kind, no time) is neither true nor
false: the read is then not complete and says which rule it was. What other rules found is real and stays. Without the
revision, or where the document is not the one that `expect` describes, nothing can be said at all, and the read is a
failure.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from vigil.kind import api, transport
from vigil.model import failures, ids, observations
from vigil_kinds.http_json import evaluator, rules, text, worker

_NAMED: Final = 5
"""Problems that a message names."""

Answers: TypeAlias = Mapping[str, evaluator.Answer]
Expressions: TypeAlias = Iterator[evaluator.Expression]


def observe(
    snapshot: api.Snapshot, _objective: str, options: rules.DocumentOptions, now: ids.Instant
) -> observations.ProbeResult:
    """The entries of the rules that match.

    Takes up to some seconds of CPU time in another process and blocks meanwhile. Raises ReadError: `malformed` for a
    payload that is no document or not the one that is expected; the category of the problem where `expect` or
    `revision` gives no answer.
    """
    answers = evaluator.shared().evaluate(_state(snapshot, now), list(_expressions(options)))
    _hold_to_expectation(options, answers)
    problems = {name: one for name, one in answers.items() if isinstance(one, evaluator.Problem) and _decides(name)}
    entries = [entry for rule in options.rules if (entry := _entry(rule, answers)) is not None]
    return observations.ProbeResult(
        observations=tuple(entry for entry in entries if not (entry.claim and problems)),
        revision=_text(answers, "revision"),
        complete=not problems,
        error=_failure(problems) if problems else None,
        pending=_count(answers),
        activity=_text(answers, "activity"),
    )


def _state(snapshot: api.Snapshot, now: ids.Instant) -> evaluator.State:
    match snapshot.payload:
        case {"status": int(status), "body": body}:
            return evaluator.State(body=body, status=status, now=now)
        case _:
            raise _error(failures.Category.MALFORMED, "the snapshot holds no document with its status")


def _expressions(options: rules.DocumentOptions) -> Expressions:
    """All that is to be evaluated: first what decides, then what only a match needs, briefs last."""
    first = "expect" if options.expect else ""
    if options.expect:
        yield evaluator.Expression("expect", options.expect, worker.Shape.TRUTH)
    for name, source, shape in (
        ("revision", options.revision, worker.Shape.NAME),
        ("pending", options.pending, worker.Shape.COUNT),
        ("activity", options.activity, worker.Shape.DIGEST),
    ):
        if source:
            yield evaluator.Expression(name, source, shape, first)
    for rule in options.rules:
        yield evaluator.Expression(_name(rule, "when"), rule.when, worker.Shape.TRUTH, first)
    for rule in options.rules:
        yield from _of_a_match(rule, "episode", rule.episode, worker.Shape.NAME)
        yield from _of_a_match(rule, "detail", rule.detail, worker.Shape.DIGEST)
    for rule in options.rules:
        yield from _of_a_match(rule, "briefFrom", rule.brief_from, worker.Shape.TEXT)


def _of_a_match(rule: rules.Rule, field: str, source: str | None, shape: worker.Shape) -> Expressions:
    if source:
        yield evaluator.Expression(_name(rule, field), source, shape, _name(rule, "when"))


def _name(rule: rules.Rule, field: str) -> str:
    return f"rules.{rule.name}.{field}"


def _decides(name: str) -> bool:
    """Whether an expression has a part in what is seen: a brief is text for people and decides nothing."""
    return not name.endswith(".briefFrom")


def _hold_to_expectation(options: rules.DocumentOptions, answers: Answers) -> None:
    for name in ("expect", "revision"):
        answer = answers.get(name)
        if isinstance(answer, evaluator.Problem):
            raise _error(answer.category, _sentence(name, answer))
    if options.expect and answers["expect"] is not True:
        raise _error(failures.Category.MALFORMED, "the document is not the one that options.expect describes")


def _entry(rule: rules.Rule, answers: Answers) -> observations.Observation | None:
    """The entry of a rule that matches; none while what makes up its identity is unknown."""
    unknown = [isinstance(answers.get(_name(rule, field)), evaluator.Problem) for field in ("episode", "detail")]
    if answers.get(_name(rule, "when")) is not True or any(unknown):
        return None
    return observations.Observation(
        key=rule.key,
        severity=rule.severity,
        resets_on=rule.resets_on,
        brief=_brief(rule, answers),
        outcome=rule.outcome,
        claim=rule.claim,
        hold=rules.seconds(rule.hold),
        episode=text.line(_text(answers, _name(rule, "episode")), worker.NAME_LIMIT),
        detail=_text(answers, _name(rule, "detail")),
    )


def _brief(rule: rules.Rule, answers: Answers) -> str:
    made = text.line(_text(answers, _name(rule, "briefFrom")), text.BRIEF_LIMIT)
    return made or text.line(rule.brief, text.BRIEF_LIMIT)


def _text(answers: Answers, name: str) -> str:
    answer = answers.get(name, "")
    return answer if isinstance(answer, str) else ""


def _count(answers: Answers) -> int:
    answer = answers.get("pending", 0)
    return answer if isinstance(answer, int) else 0


def _failure(problems: Mapping[str, evaluator.Problem]) -> failures.Failure:
    """One failure of all problems, with the category of the first."""
    sentences: Sequence[str] = [_sentence(name, one) for name, one in problems.items()]
    more = [f"and {len(sentences) - _NAMED} more"] if len(sentences) > _NAMED else []
    category = next(iter(problems.values())).category
    return failures.Failure(category, "; ".join([*sentences[:_NAMED], *more]))


def _sentence(name: str, problem: evaluator.Problem) -> str:
    return text.line(f"options.{name}: {problem.sentence}", text.BRIEF_LIMIT)


def _error(category: failures.Category, sentence: str) -> transport.ReadError:
    return transport.ReadError(failures.Failure(category, sentence))
