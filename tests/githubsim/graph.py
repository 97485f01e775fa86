"""How a world answers a query: each field as the world says it, else by GitHub's own defaults."""

import base64
import dataclasses
import functools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import graphql

from tests.githubsim import assets, faults, times, worlds


class GitHubError(graphql.GraphQLError):
    """An error inside of an answer, with GitHub's own type."""

    def __init__(self, kind: str, message: str, extensions: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, extensions={"type": kind, **(extensions or {})})


@functools.cache
def schema() -> graphql.GraphQLSchema:
    """GitHub's public schema."""
    return graphql.build_schema(assets.graphql_schema(), assume_valid=True, assume_valid_sdl=True)


@dataclasses.dataclass(frozen=True)
class Thing:
    """An object of the world: its type, what the world says of it, where it is, and what holds it."""

    type: str
    said: Mapping[str, Any]
    path: tuple[str, ...]
    repository: str = ""
    pull: str = ""
    owner: "Thing | None" = None

    @property
    def id(self) -> str:
        """Its node id: the world's, or one that its place gives it."""
        return str(self.said.get("id") or "_".join(self.path))


@dataclasses.dataclass(frozen=True)
class Page:
    """A part of a connection."""

    type: str
    items: Sequence[Any]
    start: int
    total: int
    broken_cursor: bool
    holder: Thing


@dataclasses.dataclass(frozen=True)
class Scene:
    """What one query is answered from: the world now, who asks, and the faults that this request meets."""

    world: Mapping[str, Any]
    now: float
    viewer: Mapping[str, Any]
    faults: Sequence[faults.Fault]
    rate: Mapping[str, Any]
    base: str = ""
    """Where GitHub answers, as it says it in URLs."""
    pulls: dict[str, dict[str, Thing]] = dataclasses.field(default_factory=dict[str, dict[str, Thing]])
    branches: dict[str, dict[str, list[Thing]]] = dataclasses.field(default_factory=dict[str, dict[str, list[Thing]]])
    """What was looked up in the world once."""

    def repository(self, full: str) -> Thing | None:
        """A repository by its name, whatever its case; a rename is followed."""
        names = {name.lower(): name for name in self.world.get("repositories") or {}}
        moved = {old.lower(): new.lower() for old, new in (self.world.get("renamed") or {}).items()}
        wanted = full.lower()
        name = names.get(wanted) or names.get(moved.get(wanted, ""))
        if name is None:
            return None
        said = self.world["repositories"][name]
        return Thing("Repository", said, ("R", name), repository=name)

    def pull_request(self, repository: Thing, number: object) -> Thing | None:
        """A pull request of a repository."""
        return self._pulls(repository).get(str(number))

    def pull_requests(self, repository: Thing) -> list[Thing]:
        """All of a repository, by number."""
        return list(self._pulls(repository).values())

    def on_branch(self, repository: Thing, branch: str) -> list[Thing]:
        """Those whose head is this branch."""
        if repository.repository not in self.branches:
            found = defaultdict[str, list[Thing]](list)
            for one in self.pull_requests(repository):
                found[str(one.said.get("headRefName"))].append(one)
            self.branches[repository.repository] = found
        return self.branches[repository.repository][branch]

    def _pulls(self, repository: Thing) -> dict[str, Thing]:
        if repository.repository not in self.pulls:
            said = {str(number): one for number, one in (repository.said.get("pullRequests") or {}).items()}
            self.pulls[repository.repository] = {
                number: Thing(
                    "PullRequest",
                    said[number],
                    ("PR", repository.id, number),
                    repository.repository,
                    number,
                    repository,
                )
                for number in sorted(said, key=int)
            }
        return self.pulls[repository.repository]


def resolve(source: Any, info: graphql.GraphQLResolveInfo[Any], **arguments: Any) -> Any:
    """The value of any field."""
    scene: Scene = info.context
    name = info.field_name
    if isinstance(source, Page):
        return _of_page(source, name)
    thing = source if isinstance(source, Thing) else Thing("Query", {}, ())
    _fail(scene, thing, name)
    special = _SPECIAL.get((thing.type, name))
    value = special(scene, thing, arguments) if special else thing.said.get(name)
    return _shaped(value, info.return_type, thing, name, arguments, scene)


def resolve_type(value: Any, _info: graphql.GraphQLResolveInfo[Any], _abstract: Any) -> str:
    """The concrete type of an object."""
    assert isinstance(value, Thing)
    return value.type


def _fail(scene: Scene, thing: Thing, name: str) -> None:
    for fault in scene.faults:
        if fault.hits(thing.repository, thing.pull, name):
            raise GitHubError(fault.type, fault.message, fault.extensions)


def _shaped(value: Any, of: Any, owner: Thing, name: str, arguments: Mapping[str, Any], scene: Scene) -> Any:
    """A value of the world in the form that the field's type asks for."""
    kind = graphql.get_named_type(of)
    required = graphql.is_non_null_type(of)
    if kind.name.endswith("Connection"):
        if value is None and not required and name in owner.said:
            return None
        return _page(kind, list(value or []), owner, name, arguments, scene)
    inner = of.of_type if required else of
    if isinstance(inner, graphql.GraphQLList):
        return None if value is None and not required else [_one(one, kind, owner, name, scene) for one in value or []]
    if value is None and not required:
        return None
    return _one(value, kind, owner, name, scene)


def _one(value: Any, kind: Any, owner: Thing, name: str, scene: Scene) -> Any:
    if isinstance(value, Thing):
        return value
    if graphql.is_leaf_type(kind):
        return _leaf(kind, owner, name, scene) if value is None else value
    said = _SHORT.get(kind.name, "login")
    fields = {said: value} if isinstance(value, str) else dict(value or {})
    named = str(fields.get("__typename") or _CONCRETE.get(kind.name, kind.name))
    return Thing(named, fields, (*owner.path, name), owner.repository, owner.pull, owner)


_SHORT = {"GitObject": "oid", "Commit": "oid", "App": "slug"}
"""What a text stands for, where the schema has an object; a login for all that can be an author."""

_CONCRETE = {"Actor": "User", "GitObject": "Commit", "RepositoryOwner": "Organization"}


def _leaf(kind: Any, owner: Thing, name: str, scene: Scene) -> Any:
    """What GitHub gives for a field that cannot be null and of which the world says nothing."""
    if kind.name == "ID":
        return owner.id
    if kind.name == "URI":
        return f"https://github.com/{owner.repository}/{'/'.join(owner.path)}"
    if isinstance(kind, graphql.GraphQLEnumType):
        preferred = ("UNKNOWN", "OPEN", "COMPLETED", "SUBMITTED", "NONE")
        return next((one for one in preferred if one in kind.values), next(iter(kind.values)))
    defaults = {"Boolean": False, "Int": 0, "Float": 0.0, "BigInt": "0", "GitObjectID": "0"}
    return times.text(scene.now) if kind.name == "DateTime" else defaults.get(kind.name, "")


def _page(kind: Any, found: list[Any], owner: Thing, name: str, arguments: Mapping[str, Any], scene: Scene) -> Page:
    items = _filtered(found, name, arguments)
    start, end = 0, len(items)
    if arguments.get("after"):
        start = _index(arguments["after"]) + 1
    if arguments.get("before"):
        end = _index(arguments["before"])
    first, last = arguments.get("first"), arguments.get("last")
    if first is not None:
        end = min(end, start + int(first))
    if last is not None:
        start = max(start, end - int(last))
    item = worlds.item_type(kind)
    shown = [
        _one(one, item, dataclasses.replace(owner, path=(*owner.path, str(start + index))), name, scene)
        for index, one in enumerate(items[start:end])
    ]
    broken = any(fault.breaks_cursor(owner.repository, owner.pull, name) for fault in scene.faults)
    return Page(kind.name, shown, start, len(items), broken, owner)


def _filtered(found: list[Any], name: str, arguments: Mapping[str, Any]) -> list[Any]:
    def of(one: Any, field: str) -> Any:
        return (one.said if isinstance(one, Thing) else one).get(field)

    if types := arguments.get("itemTypes"):
        wanted = {one.replace("_", "").lower() for one in types}
        found = [one for one in found if str(of(one, "__typename")).lower() in wanted]
    if content := arguments.get("content"):
        found = [one for one in found if of(one, "content") == content]
    if states := arguments.get("states"):
        found = [one for one in found if (of(one, "state") or "OPEN") in states]
    for field in ("baseRefName", "headRefName"):
        if arguments.get(field) is not None:
            found = [one for one in found if _ref_name(one, field) == arguments[field]]
    if order := arguments.get("orderBy"):
        field = {"UPDATED_AT": "updatedAt", "CREATED_AT": "createdAt"}.get(order["field"], "")
        found = sorted(found, key=lambda one: str(of(one, field) or ""), reverse=order["direction"] == "DESC")
    return found


def _ref_name(one: Any, field: str) -> Any:
    return _base_name(one) if field == "baseRefName" else one.said.get(field)


def _of_page(page: Page, name: str) -> Any:
    if name == "totalCount":
        return page.total
    if name == "nodes":
        return list(page.items)
    if name == "pageInfo":
        last = page.start + len(page.items) - 1
        more = last + 1 < page.total
        cursor = None if page.broken_cursor and more else _cursor(last)
        said = {
            "hasNextPage": more,
            "hasPreviousPage": page.start > 0,
            "endCursor": cursor if page.items else None,
            "startCursor": _cursor(page.start) if page.items else None,
        }
        return Thing("PageInfo", said, (), page.holder.repository)
    if name == "edges":
        kind = page.type.replace("Connection", "Edge")
        return [
            Thing(kind, {"node": one, "cursor": _cursor(page.start + index)}, ())
            for index, one in enumerate(page.items)
        ]
    return None


def _cursor(index: int) -> str:
    return base64.b64encode(f"cursor:v2:{index}".encode()).decode()


def _index(cursor: str) -> int:
    try:
        return int(base64.b64decode(cursor).decode().removeprefix("cursor:v2:"))
    except ValueError:
        raise GitHubError("INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor.") from None


# --- what GitHub works out by itself ----------------------------------------------------------------------------------


def _repository(scene: Scene, _thing: Thing, arguments: Mapping[str, Any]) -> Thing:
    full = f"{arguments['owner']}/{arguments['name']}"
    found = scene.repository(full)
    if found is None:
        raise GitHubError("NOT_FOUND", f"Could not resolve to a Repository with the name '{full}'.")
    for fault in scene.faults:
        if fault.hits_whole(found.repository):
            raise GitHubError(fault.type, fault.message, fault.extensions)
    return found


def _pull_request(scene: Scene, thing: Thing, arguments: Mapping[str, Any]) -> Thing:
    found = scene.pull_request(thing, arguments["number"])
    if found is None:
        raise GitHubError("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {arguments['number']}.")
    for fault in scene.faults:
        if fault.hits_whole(found.repository, found.pull):
            raise GitHubError(fault.type, fault.message, fault.extensions)
    return found


def _node(scene: Scene, _thing: Thing, arguments: Mapping[str, Any]) -> Thing:
    for full in scene.world.get("repositories") or {}:
        repository = scene.repository(full)
        assert repository is not None
        for pull in scene.pull_requests(repository):
            if pull.id == arguments["id"]:
                return pull
    raise GitHubError("NOT_FOUND", f"Could not resolve to a node with the global id of '{arguments['id']}'.")


def _base_name(pull: Thing) -> str:
    repository = pull.owner.said if pull.owner else {}
    return str(pull.said.get("baseRefName") or repository.get("defaultBranchRef") or "main")


def _tip(pull: Thing, branch: str) -> str | None:
    refs = (pull.owner.said.get("refs") or {}) if pull.owner else {}
    return refs.get(branch)


def _base_ref(_scene: Scene, pull: Thing, _arguments: Mapping[str, Any]) -> Any:
    """The branch as it is now; what the world says of it lies over that. A branch that is gone is null."""
    name, said = _base_name(pull), pull.said.get("baseRef")
    tip = _tip(pull, name)
    if tip is None and not said:
        return None
    fields = {"name": name, **({"target": {"oid": tip}} if tip else {}), **(said or {})}
    return Thing("Ref", fields, ("REF", pull.repository, name), pull.repository, pull.pull, pull.owner)


def _head_ref(_scene: Scene, pull: Thing, _arguments: Mapping[str, Any]) -> Any:
    name = str(pull.said.get("headRefName") or "")
    tip = _tip(pull, name)
    if tip is None:
        return pull.said.get("headRef")
    return Thing(
        "Ref",
        {"name": name, "target": {"oid": tip}},
        ("REF", pull.repository, name),
        pull.repository,
        pull.pull,
        pull.owner,
    )


def _of_branch(scene: Scene, ref: Thing, _arguments: Mapping[str, Any]) -> Any:
    """The pull requests whose head is this branch."""
    if "associatedPullRequests" in ref.said:
        return ref.said["associatedPullRequests"]
    repository = scene.repository(ref.repository)
    return scene.on_branch(repository, str(ref.said.get("name"))) if repository else []


def _commits(_scene: Scene, pull: Thing, _arguments: Mapping[str, Any]) -> Any:
    """The commits, the last one the head; what the world says of checks belongs to it."""
    said = pull.said.get("commits")
    if said is None:
        return [{"commit": _head_commit(pull, {})}]
    last = dict(said[-1].get("commit") or {})
    is_head = last.get("oid", pull.said.get("headRefOid")) == pull.said.get("headRefOid")
    return [*said[:-1], {**said[-1], "commit": _head_commit(pull, last) if is_head else last}]


def _head_commit(pull: Thing, said: Mapping[str, Any]) -> Mapping[str, Any]:
    rollup = pull.said.get("statusCheckRollup")
    suites = pull.said.get("checkSuites")
    if suites is None:
        rows = (rollup or {}).get("contexts") or []
        held = [row["checkSuite"] for row in rows if row.get("checkSuite")]
        suites = list({repr(one): one for one in held}.values())
    return {"oid": pull.said.get("headRefOid"), "statusCheckRollup": rollup, "checkSuites": suites, **said}


def _rollup(_scene: Scene, pull: Thing, _arguments: Mapping[str, Any]) -> Any:
    said = pull.said.get("statusCheckRollup")
    return said and {"commit": {"oid": pull.said.get("headRefOid")}, **said}


def _opinions(_scene: Scene, pull: Thing, _arguments: Mapping[str, Any]) -> Any:
    """The latest review of each author that is an opinion."""
    if "latestOpinionatedReviews" in pull.said:
        return pull.said["latestOpinionatedReviews"]
    latest = dict[str, Any]()
    for review in sorted(pull.said.get("reviews") or [], key=lambda one: str(one.get("submittedAt") or "")):
        if review.get("state") in {"APPROVED", "CHANGES_REQUESTED", "DISMISSED"}:
            latest[repr(review.get("author"))] = review
    return list(latest.values())


Special = Callable[[Scene, Thing, Mapping[str, Any]], Any]
_SPECIAL: Mapping[tuple[str, str], Special] = {
    ("Query", "repository"): _repository,
    ("Query", "node"): _node,
    ("Query", "viewer"): lambda scene, _, __: dict(scene.viewer),
    ("Query", "rateLimit"): lambda scene, _, __: dict(scene.rate),
    ("Repository", "nameWithOwner"): lambda _, thing, __: thing.repository,
    ("Repository", "pullRequest"): _pull_request,
    ("Repository", "pullRequests"): lambda scene, thing, _: scene.pull_requests(thing),
    ("PullRequest", "number"): lambda _, thing, __: thing.said.get("number") or int(thing.pull),
    ("PullRequest", "url"): lambda _, thing, __: f"https://github.com/{thing.repository}/pull/{thing.pull}",
    ("PullRequest", "repository"): lambda _, thing, __: thing.owner,
    ("PullRequest", "baseRefName"): lambda _, thing, __: _base_name(thing),
    ("PullRequest", "baseRefOid"): lambda _, thing, __: thing.said.get("baseRefOid") or _tip(thing, _base_name(thing)),
    ("PullRequest", "baseRef"): _base_ref,
    ("PullRequest", "headRef"): _head_ref,
    ("PullRequest", "commits"): _commits,
    ("PullRequest", "statusCheckRollup"): _rollup,
    ("PullRequest", "latestOpinionatedReviews"): _opinions,
    ("Ref", "associatedPullRequests"): _of_branch,
}
