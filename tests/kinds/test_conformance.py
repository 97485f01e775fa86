"""What every kind has to keep, whoever wrote it. README.md says what the files hold."""

import ast
import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hypothesis
import pydantic
import pytest
from hypothesis import strategies

from tests.kinds import golden
from vigil.kind import api, readme, schema, transport
from vigil.model import failures, observations

Case = tuple[golden.Package, golden.Row]

FILES = ("__init__.py", "subject.py", "read.py", "observe.py", "golden.yaml", "schema.json", "README.md", "fixtures")
LARGEST_FIXTURE = 256 * 1024
PART_GONE = object()

BOUNDED = hypothesis.settings(max_examples=100, deadline=None, derandomize=True, database=None)
LEAVES = (
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats(allow_nan=False, allow_infinity=False)
    | strategies.text(max_size=40)
)
JSON = strategies.recursive(
    LEAVES,
    lambda inner: (
        strategies.lists(inner, max_size=4) | strategies.dictionaries(strategies.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=15,
)


# The package


def test_a_kind_has_every_file_under_its_name(package: golden.Package) -> None:
    assert [name for name in FILES if not (package.root / name).exists()] == []


def test_a_kind_is_described_in_words_that_its_users_can_type(package: golden.Package) -> None:
    kind = package.kind
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,62}", kind.name)
    assert kind.summary
    assert kind.objectives
    assert all(re.fullmatch(r"[a-z][a-z0-9_]*", name) and one.summary for name, one in kind.objectives.items())
    assert all(
        re.fullmatch(r"[a-z0-9-]+(:<[a-z-]+>)?", row.pattern) and row.stream and row.meaning for row in kind.keys
    )
    assert len({row.pattern for row in kind.keys}) == len(kind.keys)
    assert kind.chunk >= 1
    assert kind.default_host or kind.access is api.Access.HTTP


def test_a_kind_imports_only_the_contract_the_values_itself_and_third_parties(package: golden.Package) -> None:
    foreign = {
        f"{path.name}: {name}"
        for path in package.root.rglob("*.py")
        for name in _imports(ast.parse(path.read_text(encoding="utf-8")))
        if not _may_import(name, package.module)
    }
    assert foreign == set()


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _may_import(name: str, module: str) -> bool:
    if name.startswith("."):
        return not name.startswith("..")
    ours = name.partition(".")[0] in ("vigil", "vigil_kinds", module.partition(".")[0])
    allowed = ("vigil.kind", "vigil.model", module)
    return not ours or any(name == one or name.startswith(f"{one}.") for one in allowed)


def test_the_schema_is_the_one_that_the_models_give(package: golden.Package) -> None:
    assert package.text(schema.FILE_NAME) == schema.render(package.kind)


def test_the_tables_of_the_readme_are_those_of_the_registration(package: golden.Package) -> None:
    text = package.text(readme.FILE_NAME)
    assert text == readme.rewrite(text, package.kind)


def test_the_watch_of_the_readme_is_accepted(package: golden.Package) -> None:
    block = re.search(r"^```yaml\n(.*?)^```", package.text(readme.FILE_NAME), re.DOTALL | re.MULTILINE)
    assert block is not None
    spec = golden.load_yaml(block[1])["spec"]
    assert spec["kind"] == package.kind.name
    options = package.kind.options.model_validate(spec.get("options", {}))
    subjects = [package.kind.subject.model_validate(item) for item in spec["subjects"]]
    assert subjects
    assert spec["objective"] in package.kind.objectives
    assert [package.kind.check(subject, spec["objective"], options) for subject in subjects] == [None] * len(subjects)


# Subjects and options


def test_every_spelling_of_a_subject_has_one_id_and_other_subjects_have_others(package: golden.Package) -> None:
    groups = [_ids(package, group) for group in package.golden["subjects"]]
    assert [group for group in groups if len(group) != 1] == []
    assert len(set().union(*groups)) == len(groups)


def _ids(package: golden.Package, group: Mapping[str, Any]) -> set[str]:
    scope = package.scope(group)
    subjects = [package.kind.subject.model_validate(item) for item in group["items"]]
    return {str(package.kind.subject_id(subject, scope)) for subject in subjects}


def test_a_subject_has_one_partition_and_a_label_of_one_line(package: golden.Package) -> None:
    for group in package.golden["subjects"]:
        scope = package.scope(group)
        subjects = [package.kind.subject.model_validate(item) for item in group["items"]]
        assert len({package.kind.partition(subject, scope) for subject in subjects}) == 1
        assert all(subject.label().isprintable() and subject.label().strip() for subject in subjects)


def test_what_is_refused_is_refused_at_its_field(package: golden.Package) -> None:
    assert package.golden["refused"]
    for row in package.golden["refused"]:
        assert _refusal(package.kind, row) == row["at"], row


def _refusal(kind: api.Kind, row: Mapping[str, Any]) -> str | None:
    """The path of the first field that is refused, or None."""
    try:
        subject = kind.subject.model_validate(row["subject"]) if "subject" in row else None
        options = kind.options.model_validate(row.get("options", {})) if subject is None or "objective" in row else None
    except pydantic.ValidationError as error:
        return ".".join(str(part) for part in error.errors()[0]["loc"])
    if subject is None or options is None:
        return None
    sentence = kind.check(subject, row["objective"], options)
    return None if sentence is None else sentence.partition(":")[0]


def test_unknown_options_and_fields_of_a_subject_are_refused(package: golden.Package) -> None:
    item = package.golden["subjects"][0]["items"][0]
    surprise = {"surprise": 1}
    with pytest.raises(pydantic.ValidationError, match="surprise"):
        package.kind.subject.model_validate({**item, **surprise})
    with pytest.raises(pydantic.ValidationError, match="surprise"):
        package.kind.options.model_validate({**package.rows[0].options, **surprise})


# The golden table


def test_every_fixture_key_and_objective_occurs_in_a_golden_row(package: golden.Package) -> None:
    rows = package.rows
    shown = [entry["key"] for row in rows if row.result is not None for entry in row.result["observations"]]
    assert {row.fixture for row in rows} == set(package.fixtures)
    assert [row.pattern for row in package.kind.keys if not any(row.matches(key) for key in shown)] == []
    assert {row.objective for row in rows} >= set(package.kind.objectives)


def test_every_claim_is_a_sentence_of_its_own(package: golden.Package) -> None:
    claims = [row.claim for row in package.rows]
    assert len(set(claims)) == len(claims)
    assert [claim for claim in claims if not re.match(r"[A-Z0-9`].*\.$", claim)] == []


def test_a_fixture_is_named_by_a_state_and_is_small(package: golden.Package) -> None:
    for path in package.root.glob("fixtures/*"):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*\.json", path.name)
        assert path.stat().st_size <= LARGEST_FIXTURE


def test_a_row_says_exactly_what_is_seen(case: Case) -> None:
    package, row = case
    assert (row.result is None) != (row.raises is None), "a row has either a result or what is raised"
    if row.raises is not None:
        with pytest.raises(transport.ReadError) as raised:
            package.observe(package.fixtures[row.fixture], row)
        assert raised.value.failure.category == row.raises
        return
    actual = golden.described(package.observe(package.fixtures[row.fixture], row))
    assert actual == golden.expected(row, actual)


def test_entries_are_as_the_table_of_keys_says(case: Case) -> None:
    package, row = case
    result = _seen(package, package.fixtures[row.fixture], row)
    if result is not None:
        _assert_described(package.kind, result)


def _assert_described(kind: api.Kind, result: observations.ProbeResult) -> None:
    for entry in result.observations:
        rows = [row for row in kind.keys if row.matches(entry.key)]
        assert len(rows) == 1, f"{entry.key} is described by {len(rows)} rows"
        assert entry.severity in rows[0].severities
        assert entry.resets_on in rows[0].resets_on
    identities = [(entry.key, entry.episode) for entry in result.observations]
    assert len(set(identities)) == len(identities)
    assert result.pending >= 0


def test_what_is_seen_depends_on_nothing_but_the_arguments_and_changes_none(case: Case) -> None:
    package, row = case
    payload = package.fixtures[row.fixture]
    before = copy.deepcopy(payload)
    first = _seen(package, payload, row)
    assert payload == before
    assert first == _seen(package, copy.deepcopy(payload), row)
    assert first == _seen(package, _other_order(payload), row)


def _other_order(value: Any) -> Any:
    """The same JSON with the members of each object in another order."""
    if isinstance(value, dict):
        return {name: _other_order(value[name]) for name in reversed(value)}
    return [_other_order(part) for part in value] if isinstance(value, list) else value


def _seen(package: golden.Package, payload: Any, row: golden.Row) -> observations.ProbeResult | None:
    """The result, or None for a failure that the kind documents by a golden row, or for a malformed payload."""
    try:
        return package.observe(payload, row)
    except transport.ReadError as error:
        if error.failure.category not in {failures.Category.MALFORMED, *(one.raises for one in package.rows)}:
            raise
        return None


# Missing evidence


def test_missing_evidence_is_never_green(case: Case) -> None:
    package, row = case
    payload = package.fixtures[row.fixture]
    whole = _seen(package, payload, row)
    if whole is None or not _succeeds(whole) or not isinstance(payload, dict):
        assert not row.unneeded, "only a success says which parts it does not need"
        return
    assert set(row.unneeded) <= set(payload)
    for part in payload:
        for lesser in _without(payload, part):
            result = _seen(package, lesser, row)
            if part not in row.unneeded:
                assert result is None or not _succeeds(result), f"{part} is missing and the outcome is a success"
    for part in row.unneeded:
        assert _same_if_readable(whole, [_seen(package, lesser, row) for lesser in _without(payload, part)])


def _succeeds(result: observations.ProbeResult) -> bool:
    return any(entry.outcome is observations.Outcome.SUCCEEDED for entry in result.observations)


def _without(payload: Mapping[str, Any], part: str) -> Iterator[Mapping[str, Any]]:
    """The payload without a part: removed, null, and empty. What was so from the start is left out."""
    yield {name: value for name, value in payload.items() if name != part}
    for less in (None, type(payload[part])()):
        if less != payload[part] and (less is None or isinstance(less, str | list | dict)):
            yield {**payload, part: less}


def _same_if_readable(whole: observations.ProbeResult, others: Sequence[observations.ProbeResult | None]) -> bool:
    return all(other is None or other.observations == whole.observations for other in others)


# Anything at all


@BOUNDED
@hypothesis.given(data=strategies.data())
def test_no_payload_makes_observe_fail_otherwise_than_as_malformed(
    package: golden.Package, data: strategies.DataObject
) -> None:
    row = data.draw(strategies.sampled_from(package.rows))
    result = _seen(package, data.draw(JSON), row)
    if result is not None:
        _assert_described(package.kind, result)


@BOUNDED
@hypothesis.given(data=strategies.data())
def test_no_change_of_a_fixture_makes_observe_fail_otherwise_than_as_malformed(
    package: golden.Package, data: strategies.DataObject
) -> None:
    row = data.draw(strategies.sampled_from(package.rows))
    payload = package.fixtures[row.fixture]
    path = data.draw(strategies.sampled_from(list(_paths(payload))))
    result = _seen(package, _changed(payload, path, data.draw(JSON | strategies.just(PART_GONE))), row)
    if result is not None:
        _assert_described(package.kind, result)


def _paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    yield ()
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from ((name, *path) for path in _paths(part))


def _changed(value: Any, path: tuple[str | int, ...], part: Any) -> Any:
    if not path:
        return None if part is PART_GONE else part
    copied = copy.copy(value)
    if len(path) == 1 and part is PART_GONE:
        del copied[path[0]]
    else:
        copied[path[0]] = _changed(value[path[0]], path[1:], part)
    return copied


# Evidence


def test_the_evidence_of_every_fixture_is_text_and_changes_nothing(package: golden.Package) -> None:
    for payload in package.fixtures.values():
        before = json.dumps(payload)
        text = package.kind.evidence(api.Snapshot(payload))
        assert text.strip()
        assert text.encode("utf-8")
        assert json.dumps(payload) == before
