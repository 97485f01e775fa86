"""The first stage: what a cheap answer says of each pull request, and whether it needs a second look."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from vigil.kind import api
from vigil.model import failures
from vigil_kinds.github_pull_request import lines, merging, raw, rows
from vigil_providers.github import client, values

Node: TypeAlias = dict[str, Any]

_OPTIONAL: Final = frozenset(
    {
        "associatedPullRequests",
        "autoMergeRequest",
        "branchProtectionRule",
        "children",
        "compare",
        "mergeQueueEntry",
        "mergedBy",
        "refUpdateRule",
        "reviewRequests",
        "rules",
    }
)
"""What a credential may well not see, and what is decided without it: GitHub's own merge state holds the rules too."""

_NAMES: Final = {"threads": "reviewThreads", "lastComment": "comments", "suites": "commits"}
"""The parts behind the query's own names."""


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """One pull request in an answer: its repository, itself, its children, and the parts that could not be read."""

    repository: Node
    pull: Node
    children: list[Any]
    missing: Mapping[str, failures.Failure]


def found(answer: client.Answer, alias: str, wanted: api.Wanted, label: str) -> Found | failures.Failure:
    """What the answer says under this alias, or why it says nothing of the pull request."""
    wrong = [one for one in answer.errors if one.path[:1] == (alias,)]
    repository = values.mapping(answer.data.get(alias))
    pull = values.mapping(values.part(repository, "pullRequest"))
    if repository is None or pull is None:
        return _why(wrong, label)
    if wanted.anchor and pull.get("id") != wanted.anchor:
        return _stranger(repository, label)
    return Found(
        repository={"id": repository.get("id"), "nameWithOwner": repository.get("nameWithOwner")},
        pull=pull,
        children=values.nodes(repository.get("children")),
        missing={_part(one.path): one.failure for one in wrong if not _OPTIONAL & set(one.path)},
    )


def _why(wrong: list[client.GraphError], label: str) -> failures.Failure:
    """Absence without a reason is no deletion: it is an answer that makes no sense."""
    if not wrong:
        return failures.Failure(failures.Category.MALFORMED, f"{label}: GitHub's answer says nothing of it")
    first = wrong[0].failure
    hidden = first.category is failures.Category.NOT_FOUND
    hint = " (it is not there, or the credential may not see it)" if hidden else ""
    return dataclasses.replace(first, message=f"{label}: {first.message}{hint}")


def _stranger(repository: Node, label: str) -> failures.Failure:
    where = str(repository.get("nameWithOwner"))[:200]
    return failures.Failure(
        failures.Category.MOVED,
        f"{label} is another pull request than the one that was watched: its repository was moved, and {where} has"
        " taken its name",
    )


def _part(path: tuple[str | int, ...]) -> str:
    named = [_NAMES.get(step, step) for step in path[2:] if isinstance(step, str)]
    return named[0] if named else "pullRequest"


def is_open(pull: Node) -> bool:
    """Whether there is more to read of it."""
    return pull.get("state") not in {"MERGED", "CLOSED"}


def ended(pull: Node) -> Node:
    """Of one that has ended, only what is read whole in the first stage."""
    return {name: value for name, value in pull.items() if name not in {"commits", "statusCheckRollup"}}


def is_green(pull: raw.PullRequest) -> bool:
    """Whether nothing of it can change that the first stage does not show: only then its second stage is left out."""
    rollup = pull.status_check_rollup
    return (
        rollup is not None
        and rollup.state == "SUCCESS"
        and not pull.is_draft
        and not pull.is_in_merge_queue
        and pull.mergeable == "MERGEABLE"
        and pull.merge_state_status in merging.CLEAN
        and pull.review_decision in {None, "APPROVED"}
        and not (merging.base_trouble(pull) or merging.stale_test_merge(pull))
        and all(run.status == rows.COMPLETED for run in rows.runs_of(pull.suites).values())
        and all(thread.is_resolved for thread in raw.listed(pull.review_threads))
        and not raw.listed(pull.reactions)
        and not lines.parents(pull)
    )
