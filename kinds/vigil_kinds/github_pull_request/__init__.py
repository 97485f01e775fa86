"""A pull request on GitHub: its checks, reviews, threads and comments, and whether it can be merged. See README.md."""

from vigil.kind import api
from vigil.model import observations
from vigil_kinds.github_pull_request import evidence, observe, read, subject
from vigil_providers.github import app, names

_WAKE = frozenset({observations.Severity.WAKE})
_TERMINAL = frozenset({observations.Severity.TERMINAL})
_IMMEDIATE = frozenset({observations.Severity.IMMEDIATE})
_REVISION = frozenset({observations.ResetsOn.REVISION})
_NEVER = frozenset({observations.ResetsOn.NEVER})

KIND = api.Kind(
    name="github_pull_request",
    summary="A pull request on GitHub: its checks, reviews, threads and comments, and whether it can be merged.",
    subject=subject.PullRequestSubject,
    options=subject.PullRequestOptions,
    objectives={
        subject.REVIEW_READY: api.Objective(
            "`ready` has stood for `policy.settle` with nothing else open, or it was merged."
        ),
        subject.MERGED: api.Objective("It was merged; `ready` is a wake on the way. Closed without that is a failure."),
        subject.CHECKS_GREEN: api.Objective(
            "`checks-green` has stood for `policy.settle`; only the checks are looked at. Or it was merged."
        ),
    },
    keys=(
        api.Key(
            "ready",
            "review",
            _WAKE | _TERMINAL,
            _REVISION,
            "Nothing stands against a merge: a claim, held for `policy.settle`. An end for `review_ready`. Succeeded.",
        ),
        api.Key("checks-green", "ci", _TERMINAL, _REVISION, "Every check has passed: a claim, held. Succeeded."),
        api.Key("merged", "review", _TERMINAL, _NEVER, "It was merged. Succeeded."),
        api.Key("closed", "review", _TERMINAL, _NEVER, "It was closed without being merged. Failed."),
        api.Key(
            "red:<check>",
            "ci",
            _WAKE,
            _REVISION,
            "The newest attempt has not passed: `red:ci/unit`, episode the attempt.",
        ),
        api.Key(
            "missing:<context>",
            "ci",
            _WAKE,
            _REVISION,
            "It is expected or required, and nothing that still runs could bring it: held for 5 minutes.",
        ),
        api.Key("stuck:<check>", "ci", _WAKE, _REVISION, "It is in progress for longer than `stuckAfter`."),
        api.Key("no-checks", "ci", _WAKE, _REVISION, "No check and no run exists on the head: held for 5 minutes."),
        api.Key(
            "approval-gate:<workflow>",
            "ci",
            _WAKE,
            _REVISION,
            "A run waits until a person approves it: held for `approvalDrain`.",
        ),
        api.Key(
            "comment:<id>",
            "review",
            _WAKE,
            _NEVER,
            "Somebody else than the watching identity commented, or wrote a review with a text (`review-<id>`).",
        ),
        api.Key(
            "thread:<id>",
            "review",
            _WAKE,
            _NEVER,
            "A thread is not resolved, and somebody else spoke in it: episode the last such comment.",
        ),
        api.Key(
            "changes-requested:<login>",
            "review",
            _WAKE,
            _NEVER,
            "The reviewer's latest standing opinion asks for changes: episode the review.",
        ),
        api.Key(
            "stale:<login>",
            "review",
            _WAKE,
            _REVISION,
            "The reviewer's latest standing opinion is of an older commit, and GitHub's decision is not satisfied.",
        ),
        api.Key(
            "conflict", "currency", _IMMEDIATE, _REVISION, "It conflicts with the base as it is now: episode the base."
        ),
        api.Key(
            "behind",
            "currency",
            _WAKE,
            _REVISION,
            "It lacks commits of the base that GitHub, a rule or `alwaysCurrent` asks for: episode the base.",
        ),
        api.Key(
            "base-ref-blocked",
            "currency",
            _WAKE,
            _REVISION,
            "What GitHub has recorded of the base has not fitted the branch for 10 minutes, or the branch is gone.",
        ),
        api.Key(
            "unrequested-base-merge",
            "currency",
            _WAKE,
            _REVISION,
            "The head is a merge of the base that somebody else than the watching identity made.",
        ),
        api.Key(
            "queue-ejected",
            "currency",
            _WAKE,
            _NEVER,
            "It was taken out of the merge queue, until its head moves or it is queued again: episode the removal.",
        ),
        api.Key(
            "parent-not-ready:<number>",
            "currency",
            _WAKE,
            _NEVER,
            "The pull request whose branch is the base of this one is not ready: held for `policy.settle`.",
        ),
    ),
    reader=read.PullRequestReader,
    observe=observe.observe,
    chunk=read.CHUNK,
    default_host=names.API,
    evidence=evidence.render,
    sign_in=app.AppSignIn(),
)
