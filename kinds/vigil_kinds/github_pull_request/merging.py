"""Whether the head can be merged into the base as it is now, and whether it is current.

Mergeability counts only against the base as it is now: the tip of the base branch, the base that GitHub recorded, and
the parents of the test merge are compared. Since when they differ is told by the reader, which alone remembers.
"""

import dataclasses
import re
from collections.abc import Iterator
from typing import Final

from vigil.model import ids, observations
from vigil_kinds.github_pull_request import entries, raw, subject, text
from vigil_providers.github import names

PATIENCE: Final = 600.0
"""Seconds for which a base that does not match may yet come right by itself."""

RECHECK: Final = 10.0
"""Seconds after which GitHub may have computed what it is asked for the first time."""

CLEAN: Final = frozenset({"CLEAN", "HAS_HOOKS"})


@dataclasses.dataclass(frozen=True, slots=True)
class Since:
    """Since when the head, the base and the test merge are what they are, and since when the base is in trouble."""

    same: ids.Instant
    trouble: ids.Instant | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Merging:
    """What stands between the head and the base.

    `pending` counts what GitHub is about to settle. `trouble` says in words why it cannot be merged; `notes` what is
    to be known if it can.
    """

    entries: tuple[observations.Observation, ...] = ()
    pending: int = 0
    trouble: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    recheck_after: ids.Seconds | None = None
    unknown_currency: bool = False


def live_base(pull: raw.PullRequest) -> str:
    """The tip of the base branch, empty if there is no such branch any more."""
    return pull.base_ref.target.oid if pull.base_ref and pull.base_ref.target else ""


def _test_merge(pull: raw.PullRequest) -> tuple[str, ...]:
    return tuple(one.oid for one in pull.potential_merge_commit.parents.all) if pull.potential_merge_commit else ()


def identity(pull: raw.PullRequest) -> tuple[object, ...]:
    """All that has to be the same for the base to be stable."""
    return pull.head_ref_oid, pull.base_ref_name, live_base(pull), pull.base_ref_oid, _test_merge(pull)


def base_trouble(pull: raw.PullRequest) -> str:
    """What of the base does not fit, in words; empty if it fits, or if only the test merge's base is an older one."""
    live, parents = live_base(pull), _test_merge(pull)
    if not live:
        return f"the base branch {text.cut(pull.base_ref_name)} does not exist any more"
    if pull.base_ref_oid != live:
        return f"GitHub has recorded the base {short(pull.base_ref_oid)} and the branch is at {short(live)}"
    if pull.mergeable == "MERGEABLE" and len(parents) == 2 and parents[1] != pull.head_ref_oid:
        return f"the test merge is of the head {short(parents[1])}"
    return ""


def stale_test_merge(pull: raw.PullRequest) -> bool:
    """Whether all fits but that the test merge was made with an older base."""
    parents = _test_merge(pull)
    return (
        pull.mergeable == "MERGEABLE" and len(parents) == 2 and parents[0] != live_base(pull) and not base_trouble(pull)
    )


def short(oid: str) -> str:
    """A commit's name as people know it."""
    return oid[:10]


def conflicting(pull: raw.PullRequest) -> bool:
    """Whether the head conflicts with the base as it is now; this needs no test merge."""
    return pull.mergeable == "CONFLICTING" and not base_trouble(pull)


def assess(
    pull: raw.PullRequest,
    since: Since,
    options: subject.PullRequestOptions,
    self_logins: frozenset[str],
    now: ids.Instant,
) -> Merging:
    """Judge mergeability and currency."""
    found, pending = list(_base_entries(pull, since, now)), 0
    trouble, notes = list(_merge_trouble(pull)), list[str]()
    if wrong := base_trouble(pull):
        trouble.append(wrong)
        pending += not found
    elif stale_test_merge(pull):
        stable = now - since.same
        line = f"the test merge was made with an older base than {short(live_base(pull))}"
        if stable < PATIENCE:
            trouble.append(line)
            pending += 1
        else:
            notes.append(f"{line}, and nothing has changed for {int(stable // 60)} minutes")
    behind = list(_currency(pull, options))
    found += [*behind, *_unrequested_merge(pull, self_logins)]
    behind_unknown = options.always_current and _behind_by(pull) is None
    return Merging(
        entries=tuple(found),
        pending=pending,
        trouble=(*trouble, *(one.brief for one in behind)),
        notes=tuple(notes),
        recheck_after=RECHECK if pull.mergeable == "UNKNOWN" else None,
        unknown_currency=behind_unknown,
    )


def _base_entries(pull: raw.PullRequest, since: Since, now: ids.Instant) -> Iterator[observations.Observation]:
    wrong = base_trouble(pull)
    if wrong and since.trouble is not None and now - since.trouble >= PATIENCE:
        yield entries.wake("base-ref-blocked", wrong)
    if conflicting(pull):
        yield entries.wake(
            "conflict",
            f"conflicts with {text.cut(pull.base_ref_name)} at {short(live_base(pull))}",
            severity=entries.IMMEDIATE,
            episode=live_base(pull),
        )


def _merge_trouble(pull: raw.PullRequest) -> Iterator[str]:
    if pull.mergeable == "UNKNOWN":
        yield "GitHub has not computed mergeability (UNKNOWN)"
    elif pull.mergeable != "MERGEABLE":
        yield f"mergeability is {text.cut(pull.mergeable, 40)}"
    if pull.merge_state_status not in CLEAN:
        yield f"the merge state is {text.cut(pull.merge_state_status, 40)}"


def _currency(pull: raw.PullRequest, options: subject.PullRequestOptions) -> Iterator[observations.Observation]:
    """`behind`, only where somebody asks for a current head: GitHub, a rule of the branch, or the Watch."""
    by = _behind_by(pull)
    asked = options.always_current or _strict(pull.base_ref)
    if pull.merge_state_status == "BEHIND" or (asked and by):
        commits = f"by {by} commits " if by else ""
        brief = f"behind {text.cut(pull.base_ref_name)} {commits}at {short(live_base(pull))}"
        yield entries.wake("behind", brief, episode=live_base(pull))


def _behind_by(pull: raw.PullRequest) -> int | None:
    return pull.base_ref.compare.behind_by if pull.base_ref and pull.base_ref.compare else None


def _strict(base: raw.BaseRef | None) -> bool:
    if base is None:
        return False
    classic = base.branch_protection_rule is not None and base.branch_protection_rule.requires_strict_status_checks
    rules = [one.parameters for one in raw.listed(base.rules) if one.parameters]
    return classic or any(one.strict_required_status_checks_policy for one in rules)


def _unrequested_merge(pull: raw.PullRequest, self_logins: frozenset[str]) -> Iterator[observations.Observation]:
    """The head is a merge of the base that the watching identity has not made."""
    head = next((one.commit for one in raw.listed(pull.commits)), None)
    if head is None or len(head.parents.all) != 2 or not _merges_base(head, pull):
        return
    by = [one.user.login for one in (head.author, head.committer) if one and one.user]
    if not any(names.login(login) in self_logins for login in by):
        who = text.cut(by[0]) if by else "somebody"
        yield entries.wake("unrequested-base-merge", f"{who} merged {text.cut(pull.base_ref_name)} into the head")


def _merges_base(head: raw.HeadCommit, pull: raw.PullRequest) -> bool:
    """Whether the second parent is of the base: as GitHub and git write it, or as the commits say it themselves."""
    branch = re.escape(pull.base_ref_name)
    written = re.match(rf"Merge (?:remote-tracking )?branch '(?:[^']*/)?{branch}'", head.message_headline)
    return written is not None or head.parents.all[1].oid in {live_base(pull), pull.base_ref_oid}
