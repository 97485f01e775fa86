"""The parts of GitHub's REST answers that this kind reads, under GitHub's own names; enumerations stay text."""

from vigil_providers.github import parts


class Repository(parts.Raw):
    """The repository of a run."""

    node_id: str
    full_name: str = ""


class Run(parts.Raw):
    """A run of a workflow."""

    id: int
    node_id: str
    name: str | None = None
    path: str = ""
    head_branch: str | None
    head_sha: str
    run_attempt: int = 1
    run_started_at: str = ""
    status: str | None
    conclusion: str | None
    workflow_id: int
    html_url: str
    repository: Repository


class Job(parts.Raw):
    """A job of a run."""

    id: int
    name: str
    status: str
    conclusion: str | None
    html_url: str | None = None
