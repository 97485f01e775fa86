"""GitHub's limits of a query: its pages, its nodes, and the points that it costs, by GitHub's published formulas.

The cost is the number of requests that are needed to fulfil each unique connection, if every one gives as much as it
was asked for, divided by 100 and rounded, at least 1. The nodes are counted in the same way.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import graphql
from graphql import language

NODES = 500_000
PAGE = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Refusal:
    """Why GitHub does not execute a query: its type of error and a sentence."""

    type: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Weight:
    """What a query asks for."""

    requests: int = 0
    nodes: int = 0
    refusals: tuple[Refusal, ...] = ()

    @property
    def cost(self) -> int:
        """The points of it."""
        return max(1, round(self.requests / 100))


def weigh(schema: graphql.GraphQLSchema, document: language.DocumentNode, variables: Mapping[str, Any]) -> Weight:
    """Weigh the one operation of a valid document."""
    fragments = {
        one.name.value: one for one in document.definitions if isinstance(one, language.FragmentDefinitionNode)
    }
    operation = next(one for one in document.definitions if isinstance(one, language.OperationDefinitionNode))
    root = schema.query_type
    assert root is not None
    scale = _Scale(schema, fragments, variables)
    scale.walk(operation.selection_set, root, 1)
    refusals = scale.refusals
    if scale.nodes > NODES:
        sentence = f"By the time this query traverses to the last connection, it is requesting up to {scale.nodes:,} "
        refusals.append(Refusal("MAX_NODE_LIMIT_EXCEEDED", f"{sentence}possible nodes which exceeds {NODES:,}."))
    return Weight(scale.requests, scale.nodes, tuple(refusals))


class _Scale:
    def __init__(
        self,
        schema: graphql.GraphQLSchema,
        fragments: Mapping[str, language.FragmentDefinitionNode],
        variables: Mapping[str, Any],
    ) -> None:
        self.requests = 0
        self.nodes = 0
        self.refusals: list[Refusal] = []
        self._schema = schema
        self._fragments = fragments
        self._variables = variables
        self._seen = set[tuple[int, int]]()

    def walk(self, selections: language.SelectionSetNode, parent: Any, times: int) -> None:
        for field, owner in self._fields(selections, parent):
            definition = owner.fields.get(field.name.value) if hasattr(owner, "fields") else None
            if definition is None or field.selection_set is None:
                continue
            kind = graphql.get_named_type(definition.type)
            inner = times
            if kind.name.endswith("Connection"):
                inner = times * self._page(field)
                self.requests += times
                self.nodes += inner if self._lists(field) else 0
            self.walk(field.selection_set, kind, inner)

    def _fields(self, selections: language.SelectionSetNode, parent: Any) -> Iterator[tuple[language.FieldNode, Any]]:
        for one in selections.selections:
            if isinstance(one, language.FieldNode):
                yield one, parent
            elif isinstance(one, language.InlineFragmentNode):
                named = one.type_condition
                yield from self._fields(one.selection_set, self._schema.type_map[named.name.value] if named else parent)
            elif isinstance(one, language.FragmentSpreadNode):
                fragment = self._fragments[one.name.value]
                yield from self._fields(
                    fragment.selection_set, self._schema.type_map[fragment.type_condition.name.value]
                )

    def _lists(self, field: language.FieldNode) -> bool:
        """Whether the nodes of a connection are asked for, and not only how many there are."""
        assert field.selection_set is not None
        anything = graphql.GraphQLObjectType("Any", {})
        return any(one.name.value in {"nodes", "edges"} for one, _ in self._fields(field.selection_set, anything))

    def _page(self, field: language.FieldNode) -> int:
        asked = {
            one.name.value: graphql.value_from_ast_untyped(one.value, dict(self._variables))
            for one in field.arguments or ()
        }
        sizes = {name: asked[name] for name in ("first", "last") if asked.get(name) is not None}
        name = field.name.value
        if not sizes:
            if self._lists(field):
                sentence = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
                self.refusals.append(Refusal("MISSING_PAGINATION_BOUNDARIES", sentence))
            return 1
        if len(sizes) == 2:
            sentence = f"Passing both `first` and `last` to paginate the `{name}` connection is not supported."
            self.refusals.append(Refusal("UNPROCESSABLE", sentence))
        ((which, size), *_) = sizes.items()
        if not 1 <= size <= PAGE:
            sentence = (
                f"Requesting {size} records on the `{name}` connection exceeds the `{which}` limit of {PAGE} records."
            )
            self.refusals.append(Refusal("EXCESSIVE_PAGINATION", sentence))
        return max(1, int(size))
