"""What an item of `subjects` and the `options` of a Watch of a workflow run may hold."""

from typing import Annotated, Final, Self

import pydantic

from vigil.kind import api, durations
from vigil_providers.github import names

RUN_COMPLETE: Final = "run_complete"

_FORMS: Final = "needs either run, or workflow together with branch or head"


class WorkflowRunSubject(api.Subject):
    """A run by its id, or the newest run of a workflow on a branch or a commit."""

    repository: names.RepositoryName = pydantic.Field(description="The repository, `owner/name`.")
    run: Annotated[int, pydantic.Field(gt=0, le=2**53, strict=True)] | None = pydantic.Field(
        default=None, description="The id of a run, as in its URL."
    )
    workflow: Annotated[str, pydantic.Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=200)] | None = pydantic.Field(
        default=None, description="The workflow: the name of its file, such as ci.yaml, or its id."
    )
    branch: Annotated[str, pydantic.Field(pattern=r"^[^\s~^:?*\[\\]+$", max_length=255)] | None = pydantic.Field(
        default=None, description="The branch of the newest run."
    )
    head: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{7,64}$")] | None = pydantic.Field(
        default=None, description="The commit of the newest run, its whole name."
    )

    @pydantic.model_validator(mode="after")
    def _one_form(self) -> Self:
        newest = self.workflow is not None and (self.branch is None) != (self.head is None)
        others = [one for one in (self.workflow, self.branch, self.head) if one is not None]
        if not (newest if self.run is None else not others):
            raise ValueError(_FORMS)
        return self

    def host(self, scope: api.Scope) -> str:
        """The host whose API answers: api.github.com for github.com."""
        return names.api_host(scope.host)

    def identity(self, scope: api.Scope) -> str:  # noqa: ARG002 - a run is the same in every namespace
        """`acme/api/run/900`, or `acme/api/workflow/ci.yaml/branch/main`."""
        repository = self.repository.lower()
        if self.run is not None:
            return f"{repository}/run/{self.run}"
        where = f"branch/{self.branch}" if self.branch is not None else f"head/{self.head}"
        return f"{repository}/workflow/{self.workflow}/{where}"

    def label(self) -> str:
        """`acme/api run 900`, or `acme/api ci.yaml@main`."""
        if self.run is not None:
            return f"{self.repository} run {self.run}"
        return f"{self.repository} {self.workflow}@{self.branch or (self.head or '')[:10]}"


class WorkflowRunOptions(api.Model):
    """The options of a Watch of a workflow run."""

    appear_within: durations.Duration = pydantic.Field(
        default="10m",
        description="How long there may be no run of the workflow at first: a Go duration, from 0s to 168h.",
    )

    @pydantic.field_validator("appear_within")
    @classmethod
    def _bounded(cls, text: str) -> str:
        if durations.seconds(text) > 7 * 86400:
            raise ValueError("is at most 168h")
        return text


def partition(subject: WorkflowRunSubject, _scope: api.Scope) -> str:
    """The repository, which one list of runs spans."""
    return subject.repository.lower()


def of(wanted: api.Wanted) -> WorkflowRunSubject:
    """The subject that is wanted; raises TypeError for one of another kind, which no caller may hand in."""
    if not isinstance(wanted.subject, WorkflowRunSubject):
        raise TypeError(f"not a subject of this kind: {wanted.subject!r}")
    return wanted.subject
