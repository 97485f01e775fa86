"""What people and bots said: comments, threads and reviews that nobody has disposed of.

The watching identity's own words are not news; everybody else's are, the author's and a bot's too. What somebody edits
is activity, and voids a question that rests on it; it is not news.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Final

from vigil.model import ids, observations
from vigil_kinds.github_pull_request import entries, raw, subject, text
from vigil_providers.github import names, times

LONGEST_REVIEW: Final = 900.0
"""Seconds after the last activity for which the eyes of a reviewer still mean that a review is under way."""

_GHOST: Final = "ghost"
"""The name under which GitHub shows an account that is deleted."""


@dataclasses.dataclass(frozen=True, slots=True)
class Reviews:
    """What was said. `under_way` says that a reviewer is at it; `words` is what must not change while a hold runs."""

    entries: tuple[observations.Observation, ...]
    under_way: bool
    words: tuple[object, ...]


def assess(
    pull: raw.PullRequest, options: subject.PullRequestOptions, self_logins: frozenset[str], now: ids.Instant
) -> Reviews:
    """Judge comments, threads and reviews."""
    ignored = frozenset(map(names.login, options.ignore_comments_of))
    comments = raw.listed(pull.comments)
    threads = raw.listed(pull.review_threads)
    reviews = raw.listed(pull.reviews)
    opinions = raw.listed(pull.latest_opinionated_reviews)
    found = (
        *(_comment(one) for one in comments if not one.is_minimized and _by(one) not in self_logins | ignored),
        *_threads(threads, self_logins),
        *(_review(one) for one in reviews if _says_more(one) and _by(one) not in self_logins),
        *_opinions(opinions, pull, self_logins),
    )
    said = (*comments, *reviews, *(one for thread in threads for one in thread.comments.all))
    return Reviews(found, _under_way(pull, said, self_logins, now), tuple(_words(threads, said)))


def _by(one: raw.Comment) -> str:
    return names.login(one.author.login) if one.author else _GHOST


def _comment(one: raw.IssueComment) -> observations.Observation:
    return entries.wake(
        text.key("comment", one.full_database_id or one.url),
        f"{_by(one)}: {text.cut(one.body)}",
        resets_on=entries.NEVER,
        detail=text.digest(one.body),
    )


def _says_more(one: raw.Review) -> bool:
    """Whether a review is news by its text: an opinion that asks for changes has an entry of its own."""
    return bool(one.body.strip()) and one.state not in {"CHANGES_REQUESTED", "PENDING"} and not one.is_minimized


def _review(one: raw.Review) -> observations.Observation:
    return entries.wake(
        text.key("comment", f"review-{one.full_database_id or one.url}"),
        f"{_by(one)} ({one.state.lower()}): {text.cut(one.body)}",
        resets_on=entries.NEVER,
        detail=text.digest(one.body),
    )


def _threads(threads: Iterable[raw.Thread], self_logins: frozenset[str]) -> Iterator[observations.Observation]:
    """One entry a thread that is not resolved; its episode is the last word of somebody else."""
    for thread in threads:
        said = [one for one in thread.comments.all if one.state != "PENDING"]
        foreign = [one for one in said if _by(one) not in self_logins]
        if not thread.is_resolved and foreign:
            last = foreign[-1]
            place = f"{thread.path}:{thread.line}" if thread.line else thread.path
            yield entries.wake(
                text.key("thread", thread.id),
                f"{text.cut(place)}: {_by(last)}: {text.cut(last.body)}",
                resets_on=entries.NEVER,
                episode=last.full_database_id or last.url,
                detail=text.digest(*(one.body for one in said)),
            )


def _opinions(
    opinions: Iterable[raw.Review], pull: raw.PullRequest, self_logins: frozenset[str]
) -> Iterator[observations.Observation]:
    """The latest standing opinion of each reviewer; one that was dismissed does not stand, nor does one before it."""
    for one in opinions:
        if one.state not in {"APPROVED", "CHANGES_REQUESTED"} or _by(one) in self_logins:
            continue
        if one.state == "CHANGES_REQUESTED":
            yield entries.wake(
                text.key("changes-requested", _by(one)),
                f"{_by(one)} asks for changes: {text.cut(one.body)}",
                resets_on=entries.NEVER,
                episode=one.full_database_id or one.url,
                detail=text.digest(one.body),
            )
        if pull.review_decision != "APPROVED" and (one.commit is None or one.commit.oid != pull.head_ref_oid):
            yield entries.wake(
                text.key("stale", _by(one)), f"{_by(one)}'s {one.state.lower()} is of an older commit than the head"
            )


def _under_way(
    pull: raw.PullRequest, said: Iterable[raw.Comment], self_logins: frozenset[str], now: ids.Instant
) -> bool:
    """Whether a reviewer has said by an eyes reaction that a review is under way, and is not overdue with it."""
    quiet = {*self_logins, names.login(pull.author.login) if pull.author else _GHOST}
    eyes = [one for one in raw.listed(pull.reactions) if _reactor(one) not in quiet]
    if not eyes:
        return False
    heads = [one.commit.committed_date for one in raw.listed(pull.commits)]
    stamps = [*(one.created_at for one in eyes), *(one.updated_at for one in said), *heads]
    last = max((at for at in map(times.instant, stamps) if at is not None and at <= now), default=now)
    return now - last < LONGEST_REVIEW


def _reactor(one: raw.Reaction) -> str:
    # A bot's reaction comes without its user.
    return names.login(one.user.login) if one.user else ""


def _words(threads: Iterable[raw.Thread], said: Iterable[raw.Comment]) -> Iterator[object]:
    yield from sorted((thread.id, thread.is_resolved) for thread in threads)
    yield from sorted((one.full_database_id or one.url, one.updated_at) for one in said)
