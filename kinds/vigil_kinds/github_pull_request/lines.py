"""Where the pull request stands in line: in the merge queue, and in a stack of pull requests."""

import dataclasses
from collections.abc import Iterator
from typing import Final

from vigil.model import observations
from vigil_kinds.github_pull_request import entries, merging, raw, text

_REMOVED: Final = "RemovedFromMergeQueueEvent"
"""What came after it in the timeline (a new place in the queue, a commit, a force push) makes it moot."""

_WAITING: Final = frozenset({"PENDING", "EXPECTED"})


@dataclasses.dataclass(frozen=True, slots=True)
class Lines:
    """What the queue and the stack say; `trouble` says in words what is still under way."""

    entries: tuple[observations.Observation, ...] = ()
    trouble: tuple[str, ...] = ()


def assess(pull: raw.PullRequest) -> Lines:
    """Judge the place in the queue and the parents in the stack."""
    found, trouble = list(_ejected(pull)), list[str]()
    if pull.is_in_merge_queue:
        place = f" at {pull.merge_queue_entry.position}" if pull.merge_queue_entry else ""
        trouble.append(f"in the merge queue{place}")
    for parent in parents(pull):
        if _waits(parent):
            trouble.append(f"the checks of its parent #{parent.number} still run")
        elif reasons := _not_ready(parent):
            found.append(
                entries.wake(
                    f"parent-not-ready:{parent.number}",
                    f"#{parent.number} {text.cut(parent.title, 80)}: {', '.join(reasons)}",
                    resets_on=entries.NEVER,
                    hold=observations.SETTLE,
                )
            )
    return Lines(tuple(found), tuple(trouble))


def parents(pull: raw.PullRequest) -> list[raw.Parent]:
    """The open pull requests of this repository whose branch is the base of this one."""
    listed = pull.base_ref.associated_pull_requests if pull.base_ref else None
    return [one for one in raw.listed(listed) if not one.is_cross_repository]


def _ejected(pull: raw.PullRequest) -> Iterator[observations.Observation]:
    items = raw.listed(pull.timeline_items)
    if pull.is_in_merge_queue or not items or items[-1].typename != _REMOVED:
        return
    last = items[-1]
    who = f" by {text.cut(last.actor.login)}" if last.actor else ""
    why = f": {text.cut(last.reason)}" if last.reason else ""
    yield entries.wake(
        "queue-ejected", f"taken out of the merge queue{who}{why}", resets_on=entries.NEVER, episode=last.id
    )


def _waits(parent: raw.Parent) -> bool:
    """Whether a parent is about to be ready by itself."""
    rollup = parent.status_check_rollup
    return parent.mergeable == "UNKNOWN" or (rollup is not None and rollup.state in _WAITING)


def _not_ready(parent: raw.Parent) -> list[str]:
    reasons = ["it is a draft"] if parent.is_draft else []
    if parent.mergeable != "MERGEABLE":
        reasons.append(f"mergeability is {text.cut(parent.mergeable, 40)}")
    if parent.merge_state_status not in merging.CLEAN:
        reasons.append(f"the merge state is {text.cut(parent.merge_state_status, 40)}")
    if parent.review_decision and parent.review_decision != "APPROVED":
        reasons.append(f"the review decision is {text.cut(parent.review_decision, 40)}")
    if parent.status_check_rollup is not None and parent.status_check_rollup.state != "SUCCESS":
        reasons.append(f"its checks are {text.cut(parent.status_check_rollup.state, 40)}")
    return reasons
