"""What an item of `subjects` and the `options` of a Watch of a pull request may hold."""

from typing import Annotated, Final

import pydantic

from vigil.kind import api, durations
from vigil_providers.github import names

REVIEW_READY: Final = "review_ready"
MERGED: Final = "merged"
CHECKS_GREEN: Final = "checks_green"

_CONTEXT_LIMIT: Final = 200


class PullRequestSubject(api.Subject):
    """A pull request by its number: a branch may be that of several, one after the other."""

    repository: names.RepositoryName = pydantic.Field(description="The repository, `owner/name`.")
    number: Annotated[int, pydantic.Field(gt=0, le=2**31 - 1, strict=True)] = pydantic.Field(
        description="The number of the pull request."
    )

    def host(self, scope: api.Scope) -> str:
        """The host whose API answers: api.github.com for github.com."""
        return names.api_host(scope.host)

    def identity(self, scope: api.Scope) -> str:  # noqa: ARG002 - a pull request is the same in every namespace
        """`acme/api/42`, in lower case, as GitHub tells no difference."""
        return f"{self.repository.lower()}/{self.number}"

    def label(self) -> str:
        """`acme/api#42`."""
        return f"{self.repository}#{self.number}"


class PullRequestOptions(api.Model):
    """The options of a Watch of a pull request."""

    allow_no_checks: bool = pydantic.Field(
        default=False, description="Whether a head on which no check and no run exists may be ready."
    )
    always_current: bool = pydantic.Field(
        default=False,
        description="Whether the head has to hold the newest commit of the base even where no rule of the branch asks"
        " for it.",
    )
    approval_drain: durations.Duration = pydantic.Field(
        default="5m",
        description="How long nothing may happen before a run that waits for an approval is news: a Go duration, at"
        " most 30m.",
    )
    stuck_after: durations.Duration = pydantic.Field(
        default="2h",
        description="How long a check may be in progress before it counts as stuck: a Go duration, at least 1m.",
    )
    readiness_context: Annotated[str, pydantic.Field(min_length=1, max_length=_CONTEXT_LIMIT)] | None = pydantic.Field(
        default=None,
        description="A check or status that must have succeeded before `ready`. It can veto; it never makes good what"
        " another check says.",
    )
    self_logins: Annotated[list[names.Login], pydantic.Field(max_length=20)] = pydantic.Field(
        default=[],
        description="Accounts whose words are the watching agent's own, beside the credential's account.",
    )
    ignore_comments_of: Annotated[list[names.Login], pydantic.Field(max_length=50)] = pydantic.Field(
        default=[],
        description="Accounts whose comments on the pull request as a whole are no news. Their reviews, threads and"
        " checks are.",
    )

    @pydantic.field_validator("approval_drain")
    @classmethod
    def _drained_in_time(cls, text: str) -> str:
        if durations.seconds(text) > 1800:
            raise ValueError("is at most 30m")
        return text

    @pydantic.field_validator("stuck_after")
    @classmethod
    def _some_time(cls, text: str) -> str:
        if not 60 <= durations.seconds(text) <= 30 * 86400:
            raise ValueError("is from 1m to 720h")
        return text


def of(wanted: api.Wanted) -> PullRequestSubject:
    """The subject that is wanted; raises TypeError for one of another kind, which no caller may hand in."""
    if not isinstance(wanted.subject, PullRequestSubject):
        raise TypeError(f"not a subject of this kind: {wanted.subject!r}")
    return wanted.subject
