"""The parts of GitHub's answers that this kind reads, under GitHub's own names.

What the schema allows to be null may be null here; a part that the query asked for and that is not there, or of another
type, is malformed and never guessed at. Enumerations stay text, since GitHub adds to them.
"""

from typing import ClassVar, Generic, Literal, TypeAlias, TypeVar

import pydantic
from pydantic import alias_generators

from vigil_providers.github import parts

T = TypeVar("T")


class Raw(parts.Raw):
    """The base: fields as GraphQL spells them."""

    model_config: ClassVar[pydantic.ConfigDict] = pydantic.ConfigDict(alias_generator=alias_generators.to_camel)


class PageInfo(Raw):
    """Where a list goes on."""

    has_next_page: bool
    end_cursor: str | None = None


class Nodes(Raw, Generic[T]):
    """A list of which only the first or last part was asked for."""

    nodes: list[T | None]

    @property
    def all(self) -> list[T]:
        """What of it could be read."""
        return [one for one in self.nodes if one is not None]


def listed(of: Nodes[T] | None) -> list[T]:
    """What could be read of a list, none of a list that was not read."""
    return of.all if of else []


class Connection(Nodes[T]):
    """A list that is read to its end."""

    total_count: int
    page_info: PageInfo


class Actor(Raw):
    """A user, a bot, an organization."""

    login: str


class Author(Actor):
    """Who wrote something; null in the answer is a deleted account."""

    typename: str = pydantic.Field(alias="__typename")


class Commit(Raw):
    """A commit of which only the name is asked."""

    oid: str


class Workflow(Raw):
    """A workflow of GitHub Actions."""

    database_id: int | None
    name: str


class WorkflowRun(Raw):
    """A run of a workflow; GraphQL does not tell its attempt."""

    database_id: int | None
    created_at: str
    event: str
    workflow: Workflow


class App(Raw):
    """The app behind a check suite."""

    slug: str


class Suite(Raw):
    """A check suite: a run of a workflow, or what another app has to say of a commit."""

    database_id: int | None
    status: str
    conclusion: str | None
    created_at: str
    app: App | None
    workflow_run: WorkflowRun | None


class CheckRun(Raw):
    """One check of an app."""

    typename: Literal["CheckRun"] = pydantic.Field(alias="__typename")
    database_id: int | None
    name: str
    status: str
    conclusion: str | None
    started_at: str | None
    completed_at: str | None
    url: str
    check_suite: Suite


class StatusContext(Raw):
    """One status that somebody posted for a commit."""

    typename: Literal["StatusContext"] = pydantic.Field(alias="__typename")
    id: str
    context: str
    state: str
    created_at: str
    target_url: str | None
    description: str | None


Row: TypeAlias = CheckRun | StatusContext


class Rollup(Raw):
    """What GitHub makes of all checks of a commit."""

    state: str
    commit: Commit | None
    contexts: Connection[Row]


class Parents(Raw):
    """The parents of a commit."""

    parents: Nodes[Commit]


class User(Raw):
    """The account behind a commit's author, if GitHub knows one."""

    user: Actor | None


class HeadCommit(Commit, Parents):
    """The newest commit of the pull request."""

    committed_date: str
    message_headline: str
    author: User | None
    committer: User | None
    check_suites: Connection[Suite] | None


class PullRequestCommit(Raw):
    """A commit of the pull request."""

    commit: HeadCommit


class Comment(Raw):
    """Something that somebody said."""

    full_database_id: str | None
    author: Author | None
    body: str
    created_at: str
    updated_at: str
    url: str


class IssueComment(Comment):
    """A comment on the pull request as a whole."""

    is_minimized: bool


class ReviewComment(Comment):
    """A comment in a thread."""

    state: str


class ThreadComments(Nodes[ReviewComment]):
    """The newest comments of a thread."""

    total_count: int


class Thread(Raw):
    """A thread of comments on a place in the change."""

    id: str
    is_resolved: bool
    is_outdated: bool
    path: str
    line: int | None
    comments: ThreadComments


class Review(Comment):
    """A review."""

    state: str
    submitted_at: str | None
    is_minimized: bool
    commit: Commit | None


class BranchProtection(Raw):
    """A classic branch protection rule, which only some credentials may see."""

    requires_strict_status_checks: bool
    required_status_check_contexts: list[str | None] | None


class RefUpdateRule(Raw):
    """What the branch asks of whoever pushes to it."""

    required_status_check_contexts: list[str | None] | None


class StatusCheck(Raw):
    """A check that a ruleset requires."""

    context: str


class RuleParameters(Raw):
    """The parameters of a rule; only those of required checks are asked for."""

    strict_required_status_checks_policy: bool = False
    required_status_checks: list[StatusCheck] = pydantic.Field(default=[])


class Rule(Raw):
    """A rule of a ruleset."""

    type: str
    parameters: RuleParameters | None


class RollupState(Raw):
    """A rollup of which only the state is asked."""

    state: str


class Parent(Raw):
    """An open pull request whose branch is the base of this one."""

    number: int
    title: str
    is_draft: bool
    is_cross_repository: bool
    mergeable: str
    merge_state_status: str
    review_decision: str | None
    status_check_rollup: RollupState | None


class Child(Raw):
    """An open pull request whose base is the branch of this one."""

    number: int
    title: str
    is_draft: bool


class Comparison(Raw):
    """How the head stands to the base."""

    behind_by: int


class BaseRef(Raw):
    """The base branch as it is now; what a credential may not see of its rules is null."""

    target: Commit | None
    branch_protection_rule: BranchProtection | None = None
    ref_update_rule: RefUpdateRule | None = None
    rules: Nodes[Rule] | None = None
    associated_pull_requests: Nodes[Parent] | None = None
    compare: Comparison | None = None


class AutoMerge(Raw):
    """Auto-merge is on."""

    merge_method: str = ""
    enabled_by: Actor | None = None


class QueueEntry(Raw):
    """The place in the merge queue."""

    state: str
    position: int


class Reaction(Raw):
    """A reaction; the user is null for a bot."""

    user: Actor | None
    created_at: str


class TimelineItem(Raw):
    """What happened to the pull request."""

    typename: str = pydantic.Field(alias="__typename")
    id: str
    created_at: str | None = None
    reason: str | None = None
    actor: Actor | None = None


class PullRequest(Raw):
    """A pull request. What is needed only while it is open is absent from one that is merged or closed."""

    id: str
    number: int
    title: str
    url: str
    state: str
    is_draft: bool
    created_at: str
    updated_at: str
    merged_by: Actor | None = None
    author: Author | None
    head_ref_oid: str
    head_ref_name: str
    is_cross_repository: bool
    base_ref_name: str
    base_ref_oid: str
    base_ref: BaseRef | None
    mergeable: str
    merge_state_status: str
    review_decision: str | None
    is_in_merge_queue: bool
    auto_merge_request: AutoMerge | None = None
    merge_queue_entry: QueueEntry | None = None
    potential_merge_commit: Parents | None
    status_check_rollup: Rollup | None = None
    commits: Nodes[PullRequestCommit] | None = None
    review_threads: Connection[Thread] | None = None
    comments: Connection[IssueComment] | None = None
    reviews: Connection[Review] | None = None
    latest_opinionated_reviews: Connection[Review] | None = None
    reactions: Nodes[Reaction] | None = None
    timeline_items: Nodes[TimelineItem] | None = None

    @property
    def suites(self) -> list[Suite]:
        """The check suites of the head."""
        return [suite for one in listed(self.commits) for suite in listed(one.commit.check_suites)]
