"""The lists of a pull request that are longer than a page, read to their end within a bound."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple, TypeAlias

from vigil.kind import transport
from vigil.model import failures
from vigil_providers.github import batch, client, values

Node: TypeAlias = dict[str, Any]

PAGES: Final = 10
"""Pages of a list that are read, the first one included."""


class List(NamedTuple):
    """One list: the part it belongs to, the operation for its next page, and where it is in a pull request."""

    part: str
    operation: str
    path: tuple[str | int, ...]

    def of(self, pull: Node) -> Any:
        """The list in a pull request."""
        return values.part(pull, *self.path)


LISTS: Final = (
    List("statusCheckRollup", "MoreChecks", ("statusCheckRollup", "contexts")),
    List("commits", "MoreSuites", ("commits", "nodes", 0, "commit", "checkSuites")),
    List("reviewThreads", "MoreThreads", ("reviewThreads",)),
    List("comments", "MoreComments", ("comments",)),
    List("reviews", "MoreReviews", ("reviews",)),
    List("latestOpinionatedReviews", "MoreOpinions", ("latestOpinionatedReviews",)),
)


def unfinished(pull: Node) -> Iterator[List]:
    """The lists that have more than what was read of them."""
    for one in LISTS:
        if values.part(one.of(pull), "pageInfo", "hasNextPage"):
            yield one


async def finish(github: client.Client, documents: batch.Documents, pull: Node, one: List) -> failures.Failure | None:
    """Read a list to its end, into the pull request itself; or say why that did not succeed."""
    connection = one.of(pull)
    for _ in range(PAGES - 1):
        cursor = connection["pageInfo"].get("endCursor")
        if not cursor:
            return failures.Failure(
                failures.Category.MALFORMED, f"GitHub says that {one.part} goes on, and does not say where"
            )
        try:
            page = await _page(github, documents, pull, one, cursor)
        except transport.ReadError as error:
            return error.failure
        if isinstance(page, failures.Failure):
            return page
        connection["nodes"] += page["nodes"]
        connection["pageInfo"] = page["pageInfo"]
        if not page["pageInfo"].get("hasNextPage"):
            return None
    return failures.Failure(failures.Category.TOO_LARGE, f"{one.part} has more than {PAGES} pages of 100")


async def _page(
    github: client.Client, documents: batch.Documents, pull: Node, one: List, cursor: str
) -> Node | failures.Failure:
    answer = await github.query(documents.text(one.operation, 0), {"id": pull["id"], "after": cursor})
    if answer.errors:
        return answer.errors[0].failure
    node = values.mapping(answer.data.get("node")) or {}
    if node.get("headRefOid") != pull.get("headRefOid"):
        return failures.Failure(failures.Category.TRANSIENT, f"the head moved while {one.part} was read")
    page = values.mapping(one.of(node)) or {}
    fits = isinstance(page.get("nodes"), list) and isinstance(page.get("pageInfo"), dict)
    return page if fits else failures.Failure(failures.Category.MALFORMED, f"a page of {one.part} is none")
