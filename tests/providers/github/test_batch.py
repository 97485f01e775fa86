"""One operation for one subject becomes one query for many."""

import graphql
import pytest

from vigil_providers.github import batch

SOURCE = """
query Both($owner: String!, $number: Int!) {
  rateLimit { ...Cost }
  repository(owner: $owner) { ...Place thing(number: $number) { id } }
}
query Other($id: ID!) { node(id: $id) { ...Place } }
fragment Cost on RateLimit { cost }
fragment Place on Repository { id ...Deep }
fragment Deep on Repository { name }
fragment Unused on Repository { name }
"""


def squeezed(text: str) -> str:
    """The text without what layout adds."""
    return graphql.print_ast(graphql.parse(text))


def test_each_subject_has_an_alias_and_variables_of_its_own_and_what_is_shared_stands_once() -> None:
    expected = """
    query Both($owner_0: String!, $number_0: Int!, $owner_1: String!, $number_1: Int!) {
      rateLimit { ...Cost }
      s0: repository(owner: $owner_0) { ...Place thing(number: $number_0) { id } }
      s1: repository(owner: $owner_1) { ...Place thing(number: $number_1) { id } }
    }
    fragment Cost on RateLimit { cost }
    fragment Deep on Repository { name }
    fragment Place on Repository { id ...Deep }
    """
    assert batch.Documents(SOURCE).text("Both", 2) == squeezed(expected)


def test_an_operation_for_none_stands_as_it_is_written_with_the_fragments_that_it_needs() -> None:
    text = batch.Documents(SOURCE).text("Other", 0)
    parsed = graphql.parse(text)
    assert [one.name.value for one in parsed.definitions if hasattr(one, "name") and one.name] == [
        "Other",
        "Deep",
        "Place",
    ]


def test_variables_are_numbered_as_the_aliases_are() -> None:
    assert batch.variables([{"owner": "a", "number": 1}, {"owner": "b", "number": 2}]) == {
        "owner_0": "a",
        "number_0": 1,
        "owner_1": "b",
        "number_1": 2,
    }


def test_an_operation_of_two_subjects_cannot_be_multiplied() -> None:
    twice = "query Two { a: repository { id } b: repository { id } }"
    with pytest.raises(ValueError, match="one field"):
        batch.Documents(twice).text("Two", 3)


def test_the_same_text_is_made_once() -> None:
    documents = batch.Documents(SOURCE)
    assert documents.text("Both", 3) is documents.text("Both", 3)
