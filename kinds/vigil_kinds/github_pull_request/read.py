"""The IO half: one query for up to 25 pull requests, and a second one for those that changed or are not green.

What only time tells (since when the base does not fit) is remembered here, in memory alone.
"""

import asyncio
import collections
import dataclasses
import importlib.resources
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from vigil.kind import api, transport
from vigil.model import failures, ids
from vigil_kinds.github_pull_request import merging, overview, pages, payload, raw, subject
from vigil_providers.github import batch, client, names, parts, reading, values

CHUNK: Final = 25
"""Pull requests of one query, which cost one point in the first stage."""

REMEMBERED: Final = 5000
"""Pull requests of which one reader knows since when they are as they are."""

Answer: TypeAlias = api.Snapshot | failures.Failure

DOCUMENTS: Final = batch.Documents(
    importlib.resources.files("vigil_kinds.github_pull_request").joinpath("query.graphql").read_text("utf-8")
)

_TOO_MUCH: Final = frozenset({failures.Category.TRANSIENT, failures.Category.TIMEOUT, failures.Category.TOO_LARGE})
"""The failures of a query that a smaller one may not have."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of a pull request: its first stage, its base, and all of it where it is green."""

    first: overview.Node
    identity: tuple[object, ...]
    since: merging.Since
    green: overview.Found | None


class PullRequestReader:
    """The reader of one host and credential."""

    def __init__(self, through: transport.Transport) -> None:
        self._transport = through
        self._known = collections.OrderedDict[ids.SubjectId, _Known]()
        self._size = CHUNK
        self.pause = reading.Pause()

    async def read(
        self, wanted: Mapping[ids.SubjectId, api.Wanted], budget: api.ReadBudget
    ) -> Mapping[ids.SubjectId, Answer]:
        """Every id's snapshot or failure. Raises ReadError where the first stage failed as a whole."""
        if (paused := self.pause.at(budget.now)) is not None:
            return dict.fromkeys(wanted, paused)
        github = reading.client_of(self._transport, next(iter(wanted.values())).scope, budget)
        round_ = _Round(self, github, wanted, budget.now)
        try:
            async with asyncio.timeout(budget.timeout * reading.SHARE):
                await round_.run()
        except TimeoutError:
            if not round_.answers:
                raise transport.ReadError(reading.NO_TIME) from None
        return dict.fromkeys(wanted, reading.NO_TIME) | round_.answers

    def green(self, name: ids.SubjectId, node: overview.Node) -> overview.Found | None:
        """All that is known of a pull request that was green and whose first stage is what it was then."""
        known = self._known.get(name)
        return known.green if known is not None and known.first == node else None

    @property
    def size(self) -> int:
        """How many pull requests one query of the second stage asks for."""
        return self._size

    def too_much(self, chunk: int) -> None:
        """So many were too many for one query."""
        self._size = max(1, min(self._size, chunk) // 2)

    def worked(self) -> None:
        """A query was answered: a size that had to shrink grows back slowly."""
        self._size = min(CHUNK, self._size + 1)

    def remember(
        self, name: ids.SubjectId, node: overview.Node, found: overview.Found, pull: raw.PullRequest, now: ids.Instant
    ) -> merging.Since:
        """Take note of how things are, and say since when."""
        known, identity = self._known.pop(name, None), merging.identity(pull)
        same = known.since.same if known is not None and known.identity == identity else now
        wrong = bool(merging.base_trouble(pull))
        before = known.since.trouble if known is not None else None
        since = merging.Since(min(same, now), (now if before is None else min(before, now)) if wrong else None)
        keeps = overview.is_open(found.pull) and not found.missing and overview.is_green(pull)
        self._known[name] = _Known(node, identity, since, found if keeps else None)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return since


class _Round:
    """One read: its answers as they come."""

    def __init__(
        self,
        reader: PullRequestReader,
        github: client.Client,
        wanted: Mapping[ids.SubjectId, api.Wanted],
        now: ids.Instant,
    ) -> None:
        self.answers: dict[ids.SubjectId, Answer] = {}
        self._reader = reader
        self._github = github
        self._wanted = wanted
        self._now = now
        self._nodes: dict[ids.SubjectId, overview.Node] = {}
        self._viewer: Any = None

    async def run(self) -> None:
        """The first stage for all, the second for those that need it."""
        try:
            first = await self._ask("Overview", list(self._wanted))
        except transport.ReadError as error:
            self._reader.pause.note(error.failure, self._now)
            raise
        ahead = list[ids.SubjectId]()
        for name, found in first.items():
            if isinstance(found, failures.Failure):
                self.answers[name] = found
                continue
            self._nodes[name] = found.pull
            green = self._reader.green(name, found.pull)
            if green is not None:
                self._answer(name, green)
            elif not overview.is_open(found.pull):
                self._answer(name, dataclasses.replace(found, pull=overview.ended(found.pull)))
            else:
                ahead.append(name)
        await self._details(ahead)

    async def _ask(
        self, operation: str, asked: Sequence[ids.SubjectId]
    ) -> dict[ids.SubjectId, overview.Found | failures.Failure]:
        text = DOCUMENTS.text(operation, len(asked))
        answer = await self._github.query(text, batch.variables([self._variables(operation, name) for name in asked]))
        viewer = values.part(answer.data, "viewer", "login")
        self._viewer = {"login": viewer} if isinstance(viewer, str) else None
        return {
            name: overview.found(
                answer, f"{batch.PREFIX}{index}", self._wanted[name], subject.of(self._wanted[name]).label()
            )
            for index, name in enumerate(asked)
        }

    def _variables(self, operation: str, name: ids.SubjectId) -> dict[str, Any]:
        it = subject.of(self._wanted[name])
        owner, repository = names.split(it.repository)
        base: dict[str, Any] = {"owner": owner, "name": repository, "number": it.number}
        if operation == "Overview":
            return base
        node = self._nodes[name]
        return {**base, "head": node.get("headRefOid"), "branch": node.get("headRefName")}

    async def _details(self, ahead: Sequence[ids.SubjectId]) -> None:
        """The second stage in chunks; one that was too much is halved, down to the one that is too much by itself."""
        pending = list(_chunks(ahead, self._reader.size))
        failed, enough = 0, len(ahead).bit_length() + 1
        while pending:
            chunk = pending.pop(0)
            try:
                found = await self._ask("Details", chunk)
            except transport.ReadError as error:
                failed += 1
                rest = self._gave_up(error.failure, chunk, failed > enough)
                if rest is None:
                    self.answers |= dict.fromkeys((name for part in (chunk, *pending) for name in part), error.failure)
                    return
                pending = [*rest, *pending]
                continue
            failed = 0
            self._reader.worked()
            for name, one in found.items():
                await self._finish(name, one)

    def _gave_up(
        self, failure: failures.Failure, chunk: list[ids.SubjectId], outage: bool
    ) -> list[list[ids.SubjectId]] | None:
        """The smaller chunks to ask for instead; None if nothing more is to be asked at all."""
        self._reader.pause.note(failure, self._now)
        if failure.category not in _TOO_MUCH or outage or failure == client.NO_REQUEST:
            return None
        if len(chunk) == 1:
            self.answers[chunk[0]] = failure
            return []
        self._reader.too_much(len(chunk))
        return list(_chunks(chunk, self._reader.size))

    async def _finish(self, name: ids.SubjectId, found: overview.Found | failures.Failure) -> None:
        """Read the lists of one pull request to their ends, and answer for it."""
        if isinstance(found, failures.Failure):
            self.answers[name] = found
            return
        missing = dict(found.missing)
        for one in list(pages.unfinished(found.pull)):
            failure = await pages.finish(self._github, DOCUMENTS, found.pull, one)
            if failure is not None:
                self._reader.pause.note(failure, self._now)
                missing[one.part] = failure
        self._answer(name, dataclasses.replace(found, missing=missing))

    def _answer(self, name: ids.SubjectId, found: overview.Found) -> None:
        try:
            pull = parts.parse(raw.PullRequest, found.pull, "the pull request")
        except transport.ReadError as error:
            self.answers[name] = error.failure
            return
        since = self._reader.remember(name, self._nodes[name], found, pull, self._now)
        snapshot = {
            "asked": subject.of(self._wanted[name]).repository,
            "viewer": self._viewer,
            "repository": found.repository,
            "pullRequest": found.pull,
            "children": found.children,
            "since": {"same": since.same, "trouble": since.trouble},
            "readAt": self._now,
            "missing": [payload.missing(part, failure) for part, failure in sorted(found.missing.items())],
        }
        self.answers[name] = api.Snapshot(snapshot, anchor=pull.id)


def _chunks(asked: Sequence[ids.SubjectId], size: int) -> list[list[ids.SubjectId]]:
    return [list(asked[start : start + size]) for start in range(0, len(asked), size)]
