"""The pure half: what a pull request, as it was read, says about the objective.

The entries come from four places: `checks`, `merging`, `reviews` and `lines` (queue and stack). This module puts them
together, and makes the claim `ready` or `checks-green` where each of them has nothing against it.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

from vigil.kind import api
from vigil.model import failures, ids, observations
from vigil_kinds.github_pull_request import checks, entries, lines, merging, payload, raw, reviews, subject, text
from vigil_providers.github import names

WAITING: Final = 400
"""Characters of the line that says why it is not ready."""

_ROLLUP: Final = "statusCheckRollup"


def observe(
    snapshot: api.Snapshot, objective: str, options: subject.PullRequestOptions, now: ids.Instant
) -> observations.ProbeResult:
    """The entries of one pull request.

    Raises transport.ReadError, `malformed`, for a payload that is not what GitHub documents.
    """
    read = payload.of(snapshot)
    pull = read.pull_request
    match pull.state:
        case "MERGED":
            who = f" by {text.cut(pull.merged_by.login)}" if pull.merged_by else ""
            return _ended(pull, entries.end("merged", f"merged{who}", entries.SUCCEEDED))
        case "CLOSED":
            return _ended(pull, entries.end("closed", "closed without being merged", entries.FAILED))
        case _:
            judged = judge(read, options, now)
            return judged.of_checks() if objective == subject.CHECKS_GREEN else judged.of_all(objective)


def _ended(pull: raw.PullRequest, end: observations.Observation) -> observations.ProbeResult:
    return observations.ProbeResult((end,), revision=pull.head_ref_oid)


@dataclasses.dataclass(frozen=True, slots=True)
class Judged:
    """An open pull request, judged from each side."""

    read: payload.Payload
    checks: checks.Checks
    merging: merging.Merging
    reviews: reviews.Reviews
    lines: lines.Lines
    unread: frozenset[str]

    @property
    def pull(self) -> raw.PullRequest:
        """The pull request."""
        return self.read.pull_request

    def of_checks(self) -> observations.ProbeResult:
        """What the objective `checks_green` looks at."""
        complete = not self.unread & {_ROLLUP, "commits", "head"}
        good = complete and not self.checks.trouble
        claimed = [entries.claim("checks-green", self._passed(), ends=True)] if good else []
        return self._result(
            [*self.checks.entries, *claimed],
            self.checks.trouble,
            pending=self.checks.pending,
            complete=complete,
            activity=text.digest(self.pull.head_ref_oid, self.checks.states),
        )

    def of_all(self, objective: str) -> observations.ProbeResult:
        """What the objectives `review_ready` and `merged` look at."""
        trouble = list(self.trouble())
        ends = objective == subject.REVIEW_READY
        brief = "; ".join((self._passed(), *self.merging.notes))
        return self._result(
            [
                *self.checks.entries,
                *self.merging.entries,
                *self.reviews.entries,
                *self.lines.entries,
                *([] if trouble else [entries.claim("ready", brief, ends=ends)]),
            ],
            trouble,
            pending=self.checks.pending + self.merging.pending + len(self.lines.trouble) + self.reviews.under_way,
            complete=not self.unread,
            activity=self._activity(),
        )

    def trouble(self) -> Iterator[str]:
        """Why it is not ready, in words; what somebody said and nobody disposed of is the engine's to weigh."""
        if self.unread:
            yield f"not read whole: {', '.join(sorted(self.unread))}"
        if self.pull.state != "OPEN":
            yield f"its state is {text.cut(self.pull.state, 40)}"
        if self.pull.is_draft:
            yield "it is a draft"
        yield from self.checks.trouble
        yield from self.merging.trouble
        yield from self.lines.trouble
        if self.pull.review_decision and self.pull.review_decision != "APPROVED":
            yield f"the review decision is {text.cut(self.pull.review_decision, 40)}"
        if self.reviews.under_way:
            yield "a review is under way"

    def _passed(self) -> str:
        return f"{self.checks.passed} checks passed, head {merging.short(self.pull.head_ref_oid)}"

    def _activity(self) -> str:
        """All that must be quiet before a claim counts; the test merge is not part of it, since GitHub redoes it."""
        pull = self.pull
        return text.digest(
            pull.head_ref_oid,
            pull.is_draft,
            pull.review_decision,
            pull.mergeable,
            pull.merge_state_status,
            pull.base_ref_name,
            merging.live_base(pull),
            self.checks.states,
            self.reviews.words,
        )

    def _result(
        self,
        found: list[observations.Observation],
        trouble: Iterable[str],
        *,
        pending: int,
        complete: bool,
        activity: str,
    ) -> observations.ProbeResult:
        return observations.ProbeResult(
            observations=tuple(sorted(found, key=lambda one: (one.key, one.episode))),
            revision=self.pull.head_ref_oid,
            complete=complete,
            error=None if complete else self._error(),
            pending=pending,
            activity=activity,
            recheck_after=self.merging.recheck_after,
            waiting=text.cut("; ".join(trouble), WAITING),
        )

    def _error(self) -> failures.Failure | None:
        """The failure of the parts that were not read; a throttle first, since it says when to come back."""
        found = [one.failure for one in self.read.missing]
        return next((one for one in found if one.category is failures.Category.THROTTLED), next(iter(found), None))


def judge(read: payload.Payload, options: subject.PullRequestOptions, now: ids.Instant) -> Judged:
    """Judge an open pull request from each side."""
    unread = set(read.unread)
    pull = read.pull_request
    if read.viewer is None:
        # Its own words could not be told from those of others.
        unread.add("viewer")
    if _of_another_commit(pull):
        # For some seconds after a push GitHub tells the new head with the checks of the old one.
        unread.add("head")
    self_logins = frozenset(map(names.login, [*([read.viewer.login] if read.viewer else []), *options.self_logins]))
    merges = merging.assess(pull, read.remembered, options, self_logins, now)
    if merges.unknown_currency:
        unread.add("compare")
    known = not unread & {_ROLLUP, "commits", "head"}
    conflicting = merging.conflicting(pull)
    return Judged(
        read=read,
        checks=checks.assess(pull, options, now, conflicting=conflicting)
        if known
        else _partly(pull, options, now, unread),
        merging=merges,
        reviews=reviews.assess(pull, options, self_logins, now),
        lines=lines.assess(pull),
        unread=frozenset(unread),
    )


def _of_another_commit(pull: raw.PullRequest) -> bool:
    rollup = pull.status_check_rollup.commit if pull.status_check_rollup else None
    last = [one.commit.oid for one in raw.listed(pull.commits)]
    return any(oid != pull.head_ref_oid for oid in (*last, *([rollup.oid] if rollup else [])))


def _partly(
    pull: raw.PullRequest, options: subject.PullRequestOptions, now: ids.Instant, unread: set[str]
) -> checks.Checks:
    """What is certain of checks that were not read whole: a red that was seen is red; nothing is missing for it."""
    if "head" in unread:
        return checks.Checks(trouble=("checks of another commit",))
    seen = checks.assess(pull, options, now, conflicting=False)
    certain = tuple(one for one in seen.entries if one.key.partition(":")[0] in {"red", "stuck"})
    return dataclasses.replace(seen, entries=certain, trouble=("checks not read whole",))
