"""The options: what is refused before anything is read, with a sentence that helps, and the examples of this kind."""

import pathlib
from typing import Any

import pydantic
import pytest

from tests.kinds import golden
from vigil.model import observations
from vigil_kinds.http_json import KIND, language, rules, worker

EXAMPLES = sorted((pathlib.Path(__file__).parents[3] / "crds" / "examples").glob("http-json*.yaml"))


def options(**fields: Any) -> rules.DocumentOptions:
    """Options with one rule, or the rules given."""
    return rules.DocumentOptions.model_validate({"rules": [{"name": "a", "when": "true"}], **fields})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("body.open >", "is not CEL: mismatched input '<EOF>' (line 1, column 12)"),
        ("body.open > 0 &&\nbody..x", "is not CEL: no viable alternative at input '..' (line 2, column 6)"),
        ("boddy.open > 0", "names boddy, which is not there; there are body, now, status"),
        ("body.items.exists(i, j.open)", "names j, which is not there; there are body, now, status"),
        ("body.items.exists(j, j.open) || j.open", None),
        ("length(body) > 0", "calls length, and there is no such function"),
        ("body.name.toLower() == 'a'", "calls toLower, and there is no such function"),
        ("(" * 400 + "1" + ")" * 400, "is not CEL: it is nested too deeply"),
        ("type(body.count) == int", None),
        ("math.greatest(body.a, body.b) > 1 && now > timestamp('2026-01-01T00:00:00Z')", None),
        ("body.items.map(i, i.tags.filter(t, t == i.name)).flatten().size() == status", None),
        ("optional.of(body.a).orValue('b') == strings.quote('c')", None),
    ],
)
def test_a_fault_of_an_expression_is_told_with_its_place(source: str, said: str | None) -> None:
    assert language.problem(source) == said


def test_an_expression_has_at_most_1000_characters() -> None:
    options(expect="true" + " " * 996)
    with pytest.raises(pydantic.ValidationError, match="1000"):
        options(expect="true" + " " * 997)


def test_a_watch_has_at_most_20_rules() -> None:
    many = [{"name": f"r{index}", "when": "true"} for index in range(21)]
    assert len(options(rules=many[:20]).rules) == 20
    with pytest.raises(pydantic.ValidationError, match="20"):
        options(rules=many)


def test_one_fault_in_a_rule_is_one_error_at_its_field() -> None:
    with pytest.raises(pydantic.ValidationError) as raised:
        options(rules=[{"name": "a", "when": "body.", "severity": "Loud"}])
    assert [".".join(map(str, one["loc"])) for one in raised.value.errors()] == ["rules.0.when", "rules.0.severity"]


@pytest.mark.parametrize(
    ("hold", "meant"),
    [("0", 0.0), ("90s", 90.0), ("1h30m", 5400.0), ("0.5s", 0.5), ("168h", 604800.0), ("settle", observations.SETTLE)],
)
def test_a_hold_is_settle_or_a_duration(hold: str, meant: observations.Hold) -> None:
    assert rules.seconds(hold) == meant


@pytest.mark.parametrize("hold", ["", "5", "-5m", "5 m", "1d", "Settle", "168h1s", "90s\n"])
def test_what_is_neither_is_refused(hold: str) -> None:
    with pytest.raises(ValueError, match=r"is neither|at most"):
        rules.seconds(hold)


def test_every_function_that_validation_lets_through_is_one_that_the_language_has() -> None:
    unknown = {name for name in worker.NATIVE_FUNCTIONS if not _is_there(name)}
    assert unknown == set()


def _is_there(name: str) -> bool:
    forms = (f"{name}('a')", f"'a'.{name}()", f"'a'.{name}('a')", f"optional.{name}('a')", f"optional.{name}()")
    moments = (f"timestamp('2026-01-01T00:00:00Z').{name}()",)
    return any(not _undefined(form) for form in forms + moments)


def _undefined(source: str) -> bool:
    try:
        worker.compiled(source).execute({})
    except Exception as error:
        return "Undefined" in str(error)
    return False


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_accepted(path: pathlib.Path) -> None:
    spec = golden.load_yaml(path.read_text(encoding="utf-8"))["spec"]
    made = rules.DocumentOptions.model_validate(spec["options"])
    subjects = [KIND.subject.model_validate(item) for item in spec["subjects"]]
    assert spec["kind"] == KIND.name
    assert [KIND.check(one, spec["objective"], made) for one in subjects] == [None] * len(subjects)


def test_both_objectives_have_an_example() -> None:
    shown = {golden.load_yaml(path.read_text(encoding="utf-8"))["spec"]["objective"] for path in EXAMPLES}
    assert shown == set(KIND.objectives)
