"""What the reader hands to the pure half: GitHub's answers, what of them is missing, and what only time tells.

- `asked`: the repository as the Watch names it, `owner/name`
- `viewer`: the account of the credential, null if GitHub did not say
- `repository`: its id and its name as it is now
- `pullRequest`: the pull request, with each list read to its end
- `children`: the open pull requests that are based on its branch
- `since`: since when base and head are what they are, and since when the base is in trouble (seconds since the epoch)
- `readAt`: the time of the read
- `missing`: the parts that could not be read, and why
"""

from typing import Any, Final

import pydantic

from vigil.kind import api
from vigil.model import failures
from vigil_kinds.github_pull_request import merging, raw
from vigil_providers.github import errors, parts, values

PARTS: Final = ("asked", "viewer", "repository", "pullRequest", "children", "since", "readAt", "missing")

NEEDED: Final = {
    "commits": "commits",
    "reviewThreads": "review_threads",
    "comments": "comments",
    "reviews": "reviews",
    "latestOpinionatedReviews": "latest_opinionated_reviews",
    "reactions": "reactions",
    "timelineItems": "timeline_items",
}
"""The lists of an open pull request by GitHub's names; one that is not there must be said to be missing."""


class Repository(raw.Raw):
    """The repository of the pull request."""

    id: str
    name_with_owner: str


class Since(raw.Raw):
    """What the reader remembers."""

    same: float = pydantic.Field(allow_inf_nan=False)
    trouble: float | None = pydantic.Field(allow_inf_nan=False)


class Missing(parts.Unread):
    """A part that could not be read."""

    part: str


class Payload(raw.Raw):
    """The payload of a snapshot."""

    asked: str
    viewer: raw.Actor | None
    repository: Repository
    pull_request: raw.PullRequest
    children: list[raw.Child]
    since: Since
    read_at: float = pydantic.Field(allow_inf_nan=False)
    missing: list[Missing]

    @property
    def remembered(self) -> merging.Since:
        """Since when things are as they are."""
        return merging.Since(self.since.same, self.since.trouble)

    @property
    def unread(self) -> frozenset[str]:
        """The names of the parts that could not be read."""
        return frozenset(one.part for one in self.missing)


def of(snapshot: api.Snapshot) -> Payload:
    """The payload of a snapshot. Raises ReadError, `malformed`."""
    told = values.mapping(snapshot.payload) or {}
    absent = [part for part in PARTS if part not in told]
    if absent:
        raise errors.malformed(f"the snapshot has no part {absent[0]}")
    payload = parts.parse(Payload, snapshot.payload, "the snapshot")
    if payload.pull_request.state not in {"MERGED", "CLOSED"}:
        _whole(payload)
    return payload


def _whole(payload: Payload) -> None:
    for name, field in NEEDED.items():
        if getattr(payload.pull_request, field) is None and name not in payload.unread:
            raise errors.malformed(f"the pull request has no {name}, and nothing says why")


def missing(part: str, failure: failures.Failure) -> dict[str, Any]:
    """The entry of `missing` for a part."""
    return {"part": part, **parts.unread(failure)}
