"""One query for many subjects: an operation that asks for one of them is multiplied by aliases."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final

import graphql
from graphql import language

PREFIX: Final = "s"
"""The alias of the n-th subject is `s<n>`."""

SHARED: Final = frozenset({"rateLimit", "viewer"})
"""Fields of an operation that are asked for once, however many subjects there are."""


class Documents:
    """The operations of a file of queries, each as a text that can be sent."""

    def __init__(self, source: str) -> None:
        parsed = graphql.parse(source)
        self._operations = {
            one.name.value: one
            for one in parsed.definitions
            if isinstance(one, language.OperationDefinitionNode) and one.name is not None
        }
        self._fragments = {
            one.name.value: one for one in parsed.definitions if isinstance(one, language.FragmentDefinitionNode)
        }
        self.text = functools.lru_cache(maxsize=256)(self._text)
        """The text of an operation (its name) for so many subjects; with 0, as it stands in the file."""

    @property
    def operations(self) -> Sequence[str]:
        """The names of the operations."""
        return tuple(self._operations)

    def _text(self, operation: str, subjects: int) -> str:
        root = self._operations[operation]
        asked = root if subjects == 0 else _multiplied(root, subjects)
        used = _used(asked, self._fragments)
        definitions = (asked, *(self._fragments[name] for name in sorted(used)))
        return graphql.print_ast(language.DocumentNode(definitions=definitions))


def variables(of_subjects: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The variables of a multiplied operation: those of the n-th subject end in `_<n>`."""
    return {f"{name}_{index}": value for index, one in enumerate(of_subjects) for name, value in one.items()}


def _multiplied(root: language.OperationDefinitionNode, subjects: int) -> language.OperationDefinitionNode:
    fields = [one for one in root.selection_set.selections if isinstance(one, language.FieldNode)]
    shared = [one for one in fields if one.name.value in SHARED]
    each = [one for one in fields if one.name.value not in SHARED]
    if len(each) != 1:
        raise ValueError("an operation to be multiplied has one field that names its subject")
    aliased = [_aliased(each[0], index) for index in range(subjects)]
    definitions = [
        graphql.visit(one, _Renamed(index)) for index in range(subjects) for one in root.variable_definitions or ()
    ]
    return language.OperationDefinitionNode(
        operation=root.operation,
        name=root.name,
        variable_definitions=tuple(definitions),
        directives=(),
        selection_set=language.SelectionSetNode(selections=(*shared, *aliased)),
    )


def _aliased(field: language.FieldNode, index: int) -> language.FieldNode:
    renamed: language.FieldNode = graphql.visit(field, _Renamed(index))
    return language.FieldNode(
        alias=language.NameNode(value=f"{PREFIX}{index}"),
        name=renamed.name,
        arguments=renamed.arguments,
        directives=renamed.directives,
        selection_set=renamed.selection_set,
    )


class _Renamed(graphql.Visitor):
    """Gives each variable the number of its subject; fragments, which all subjects share, have none."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self._index = index

    def enter_variable(self, node: language.VariableNode, *_: object) -> language.VariableNode:
        return language.VariableNode(name=language.NameNode(value=f"{node.name.value}_{self._index}"))


def _used(node: language.Node, fragments: Mapping[str, language.FragmentDefinitionNode]) -> frozenset[str]:
    """The fragments that a definition needs, directly or through others."""
    found, ahead = set[str](), [node]
    while ahead:
        spread = _Spreads()
        graphql.visit(ahead.pop(), spread)
        fresh = spread.names - found
        found |= fresh
        ahead += [fragments[name] for name in fresh]
    return frozenset(found)


class _Spreads(graphql.Visitor):
    """Takes down the fragments that are spread."""

    def __init__(self) -> None:
        super().__init__()
        self.names = set[str]()

    def enter_fragment_spread(self, node: language.FragmentSpreadNode, *_: object) -> None:
        self.names.add(node.name.value)
