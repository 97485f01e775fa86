"""The evidence of a wake: first in words why it is not ready (by the default options), then all that was read."""

import json
from collections.abc import Iterator
from typing import Any

from vigil.kind import api, transport
from vigil_kinds.github_pull_request import lines, observe, payload, subject, text
from vigil_providers.github import values


def render(snapshot: api.Snapshot) -> str:
    """The facts line by line, then the pull request as GitHub told it, as indented JSON."""
    told = json.dumps(_pruned(snapshot.payload), indent=2, sort_keys=True, ensure_ascii=False)
    try:
        read = payload.of(snapshot)
    except transport.ReadError as error:
        return f"{error.failure.message}\n\n{told}"
    return "\n".join([*_facts(read), "", told])


def _facts(read: payload.Payload) -> Iterator[str]:
    pull = read.pull_request
    yield f"{pull.url}: {pull.state.lower()}{', draft' if pull.is_draft else ''}"
    if read.repository.name_with_owner.lower() != read.asked.lower():
        yield f"Moved: the Watch names {read.asked}; the repository is now {read.repository.name_with_owner}."
    if pull.state == "OPEN":
        judged = observe.judge(read, subject.PullRequestOptions(), read.read_at)
        yield from (f"Not ready: {reason}" for reason in judged.trouble())
        yield from (f"Note: {note}" for note in judged.merging.notes)
    if pull.auto_merge_request is not None:
        yield "Auto-merge is on."
    yield from (f"Parent in the stack: #{one.number} {text.cut(one.title)}" for one in lines.parents(pull))
    if not pull.is_cross_repository:
        yield from (f"Child in the stack: #{one.number} {text.cut(one.title)}" for one in read.children)


def _pruned(value: Any) -> Any:
    """Without the fields that say nothing: null, and the ends of pages."""
    fields = values.mapping(value)
    if fields is not None:
        return {name: _pruned(part) for name, part in fields.items() if part is not None and name != "pageInfo"}
    parts = values.items(value)
    return [_pruned(part) for part in parts] if parts else value
