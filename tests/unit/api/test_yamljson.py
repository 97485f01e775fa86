"""YAML is a way to write JSON, and nothing more."""

import json
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from vigil.api import yamljson

scalars = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
)
strings = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), max_size=20)
values = st.recursive(
    scalars | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=20,
)


@hypothesis.settings(deadline=None)
@hypothesis.given(st.lists(values, max_size=5), st.booleans())
def test_json_is_read_as_json(value: Any, escaped: bool) -> None:
    assert yamljson.load(json.dumps(value, ensure_ascii=escaped, indent=1)) == value


@hypothesis.settings(deadline=None)
@hypothesis.given(values.filter(lambda value: value is not None))
def test_json_within_yaml_is_read_as_json(value: Any) -> None:
    assert yamljson.load(f"value: {json.dumps(value, ensure_ascii=False)}") == {"value": value}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Off", "Off"),
        ("yes", "yes"),
        ("on", "on"),
        ("n", "n"),
        ("true", True),
        ("False", False),
        ("'true'", "true"),
        ("2026-03-01", "2026-03-01"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
        ("012", "012"),
        ("0x1F", "0x1F"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("1:30", "1:30"),
        ("+5", "+5"),
        (".5", ".5"),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("-7", -7),
        ("7.0", 7.0),
        ("1e3", 1000.0),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("|\n  a\n  b\n", "a\nb\n"),
        ("9223372036854775807", 9223372036854775807),
        ("9223372036854775808", 9223372036854775808.0),
        ("[null, ~, Null, ]", [None, None, None]),
    ],
)
def test_a_scalar_has_one_of_jsons_types(text: str, value: object) -> None:
    read = yamljson.load(text)
    assert read == value
    assert type(read) is type(value)


def test_a_value_that_is_left_out_is_null() -> None:
    assert yamljson.load("a:\nb: ''\n") == {"a": None, "b": ""}


def test_a_key_is_text_whatever_it_looks_like() -> None:
    assert yamljson.load("1: a\ntrue: b\non: c\n1.5: d\n'': e\n") == {
        "1": "a",
        "true": "b",
        "on": "c",
        "1.5": "d",
        "": "e",
    }


def test_anchors_and_merges_are_expanded_and_what_stands_there_wins() -> None:
    text = "base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo: {y: 4, <<: [{x: 7, z: 8}, *b]}\nlist: [*b]\n"
    assert yamljson.load(text) == {
        "base": {"x": 1, "y": 2},
        "one": {"x": 1, "y": 3},
        "two": {"x": 7, "y": 4, "z": 8},
        "list": [{"x": 1, "y": 2}],
    }


def test_a_quoted_merge_key_is_a_key() -> None:
    assert yamljson.load("'<<': {a: 1}") == {"<<": {"a": 1}}


def test_documents_are_read_in_order_and_empty_ones_are_left_out() -> None:
    assert yamljson.load_all(b"\xef\xbb\xbfa: 1\n---\n---\n# nothing\n---\n- 2\n...\n") == [{"a": 1}, [2]]
    assert yamljson.load_all("") == []


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("a: 1\nb: 2\na: 3", 3, "the key 'a' stands twice"),
        ("a: {x: 1, x: 1}", 1, "the key 'x' stands twice"),
        ('{"x": 1,\n"x": 1}', 2, "the key 'x' stands twice"),
        ('{"x": NaN, "y": "\\ud800"}', 1, "it is not YAML"),
        ("a: 1\nb: !!timestamp 2026-03-01", 2, "is not read"),
        ("!!binary aGVsbG8=", 1, "is not read"),
        ("!!set {a, b}", 1, "is not read"),
        ("!!python/object/apply:os.getcwd []", 1, "is not read"),
        ("!mine 5", 1, "is not read"),
        ("!!int '5'", 1, "is not read"),
        ("[1]: 2", 1, "a key is text"),
        ("{a: 1}: 2", 1, "a key is text"),
        ("~: 2", 1, "a key is text, not null"),
        ("a: &x 1\n*x : 2", 2, "a key is text"),
        ("a: *nobody", 1, "there is no anchor &nobody"),
        ("a: &a [*a]", 1, "there is no anchor &a"),
        ("a: &x 1\n---\nb: *x", 3, "there is no anchor &x"),
        ("a: {<<: 5}", 1, "merges mappings only"),
        ("a: 1e999", 1, "out of range"),
        ("a: [1, 2", 2, "it is not YAML"),
        ("a: b: c", 1, "it is not YAML"),
        ("\ta: 1", 1, "it is not YAML"),
        ("a: '\x07'", 0, "it is not YAML"),
        ("[" * 5000, 1, "it is not YAML: exceeded maximum nesting depth"),
        ("[" * 200 + "]" * 200, 1, "it is nested deeper than 100"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int, sentence: str) -> None:
    with pytest.raises(yamljson.YamlError) as refused:
        yamljson.load_all(text)
    assert sentence in str(refused.value)
    assert refused.value.line == line


def test_bytes_that_are_no_utf8_are_refused_with_their_line() -> None:
    with pytest.raises(yamljson.YamlError, match="line 2: it is not UTF-8"):
        yamljson.load_all(b"a: 1\nb: \xff\n")


def test_a_text_that_is_too_large_is_not_read() -> None:
    with pytest.raises(yamljson.YamlError, match="it has 11 bytes, and at most 10 are read"):
        yamljson.load_all("a: 12345678", max_bytes=10)
    with pytest.raises(yamljson.YamlError, match="and at most 1048576 are read"):
        yamljson.load_all("é" * 524_289)


def test_aliases_cost_what_they_stand_for() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
    with pytest.raises(yamljson.YamlError, match="line 6: it has more than 200000 values"):
        yamljson.load_all("\n".join(levels))


def test_one_document_means_one() -> None:
    with pytest.raises(yamljson.YamlError, match="one document is expected, and there are 2"):
        yamljson.load("a: 1\n---\nb: 2\n")
    with pytest.raises(yamljson.YamlError, match="one document is expected, and there are 0"):
        yamljson.load("# nothing")


@hypothesis.settings(deadline=None)
@hypothesis.given(st.text(max_size=80))
def test_any_text_is_read_or_refused_and_never_more(text: str) -> None:
    try:
        read = yamljson.load_all(text)
    except yamljson.YamlError:
        return
    assert json.loads(json.dumps(read)) == read
