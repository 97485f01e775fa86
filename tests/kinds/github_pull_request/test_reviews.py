"""Comments, threads and reviews: whose words are news, and for how long an opinion stands."""

from typing import Any

import pytest

from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import bot, review, said, thread, user

BOB = user("bob")


def submitted(number: int, by: dict[str, Any], body: str = "Why?", **more: Any) -> dict[str, Any]:
    """A comment in a thread."""
    return said(number, by, body, state="SUBMITTED", **more)


@pytest.mark.parametrize(
    ("by", "options", "news"),
    [
        (BOB, {}, True),
        (user("ana"), {}, True),
        (bot("status-bot"), {}, True),
        (user("vigil-bot"), {}, False),
        (bot("our-agent"), {"selfLogins": ["our-agent[bot]"]}, False),
        (bot("status-bot"), {"ignoreCommentsOf": ["status-bot"]}, False),
    ],
    ids=["a stranger", "the author", "a bot", "the credential's account", "an account of the agent", "one to ignore"],
)
async def test_whose_comment_is_news(by: dict[str, Any], options: dict[str, Any], news: bool) -> None:
    result = await pulls.observed(pulls.pull(comments=[said(501, by)]), **options)
    assert pulls.keys(result) == (["comment:501", "ready"] if news else ["ready"])


async def test_a_comment_belongs_to_the_pull_request_and_its_brief_says_who_said_what() -> None:
    result = await pulls.observed(pulls.pull(comments=[said(501, BOB, "First\nsecond")]))
    found = pulls.entry(result, "comment:501")
    assert (found.severity, found.resets_on, found.episode, found.brief) == ("Wake", "Never", "", "bob: First second")


async def test_a_bots_rewrite_is_activity_and_no_news_and_voids_a_question() -> None:
    """C041 and C042."""
    desk = pulls.Desk(pulls.world(pulls.pull(comments=[said(501, bot("status-bot"), "coverage 80%")])))
    before = await desk.seen()
    desk.show(pulls.pull(comments=[said(501, bot("status-bot"), "coverage 81%", updatedAt=pulls.at("11:01"))]))
    after = await desk.seen(60)
    assert pulls.keys(before) == pulls.keys(after) == ["comment:501", "ready"]
    assert pulls.entry(before, "comment:501").episode == pulls.entry(after, "comment:501").episode
    assert pulls.entry(before, "comment:501").detail != pulls.entry(after, "comment:501").detail
    assert before.activity != after.activity


async def test_a_comment_that_is_hidden_is_none() -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(comments=[said(1, BOB, isMinimized=True)]))) == ["ready"]


async def test_a_comment_of_an_account_that_is_gone_is_news() -> None:
    result = await pulls.observed(pulls.pull(comments=[{**said(1, BOB), "author": None}]))
    assert pulls.entry(result, "comment:1").brief.startswith("ghost: ")


async def test_an_inline_review_of_a_bot_is_news() -> None:
    """C044."""
    result = await pulls.observed(pulls.pull(reviewThreads=[thread("T1", submitted(7, bot("review-bot")))]))
    found = pulls.entry(result, "thread:T1")
    assert (found.severity, found.resets_on, found.episode) == ("Wake", "Never", "7")
    assert found.brief == "a.py:3: review-bot: Why?"


async def test_the_episode_of_a_thread_is_the_last_word_of_somebody_else() -> None:
    ours = submitted(8, user("vigil-bot"), "Because.")
    answered = await pulls.observed(pulls.pull(reviewThreads=[thread("T1", submitted(7, BOB), ours)]))
    assert pulls.entry(answered, "thread:T1").episode == "7"
    again = await pulls.observed(pulls.pull(reviewThreads=[thread("T1", submitted(7, BOB), ours, submitted(9, BOB))]))
    assert pulls.entry(again, "thread:T1").episode == "9"


@pytest.mark.parametrize(
    "of",
    [
        thread("T1", submitted(7, BOB), resolved=True),
        thread("T1", submitted(7, user("vigil-bot"))),
        thread("T1", said(7, BOB, state="PENDING")),
    ],
    ids=["resolved", "our own", "not sent yet"],
)
async def test_a_thread_that_asks_for_nothing_is_no_entry(of: dict[str, Any]) -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(reviewThreads=[of]))) == ["ready"]


async def test_a_review_with_a_text_is_news_by_its_text() -> None:
    result = await pulls.observed(
        pulls.pull(reviews=[review(5, "bob", "COMMENTED", body="Nice."), review(6, "eve", "COMMENTED")])
    )
    assert pulls.keys(result) == ["comment:review-5", "ready"]


async def test_an_opinion_that_was_dismissed_does_not_stand_nor_does_the_one_before_it() -> None:
    """C038."""
    reviews = [review(1, "ana", "APPROVED", clock="09:00"), review(2, "ana", "DISMISSED", "h2", clock="09:30")]
    result = await pulls.observed(pulls.pull(reviews=reviews, reviewDecision="REVIEW_REQUIRED"))
    assert pulls.keys(result) == []


async def test_a_request_for_changes_on_an_older_commit_stands_and_is_stale() -> None:
    """C040."""
    asked = review(3, "rev-bot", "CHANGES_REQUESTED", "h0", "Split it.")
    result = await pulls.observed(pulls.pull(reviews=[asked], reviewDecision="CHANGES_REQUESTED"))
    assert pulls.keys(result) == ["changes-requested:rev-bot", "stale:rev-bot"]
    opinion, stale = pulls.entry(result, "changes-requested:rev-bot"), pulls.entry(result, "stale:rev-bot")
    assert (opinion.resets_on, opinion.episode, stale.resets_on) == ("Never", "3", "Revision")


@pytest.mark.parametrize(("decision", "stale"), [("APPROVED", False), ("REVIEW_REQUIRED", True), (None, True)])
async def test_an_approval_of_an_older_commit_is_stale_unless_github_is_satisfied(
    decision: str | None, stale: bool
) -> None:
    result = await pulls.observed(pulls.pull(reviews=[review(1, "bob", "APPROVED", "h0")], reviewDecision=decision))
    assert ("stale:bob" in pulls.keys(result)) == stale


@pytest.mark.parametrize("decision", ["REVIEW_REQUIRED", "CHANGES_REQUESTED"])
async def test_a_review_decision_that_is_not_satisfied_is_not_ready(decision: str) -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(reviewDecision=decision))) == []


async def test_a_draft_is_not_ready() -> None:
    assert pulls.keys(await pulls.observed(pulls.pull(isDraft=True))) == []


@pytest.mark.parametrize(
    ("by", "clock", "under_way"),
    [
        ("bob", "10:50", True),
        ("bob", "10:44", False),
        ("ana", "10:50", False),
        ("vigil-bot", "10:50", False),
        (None, "10:50", True),
    ],
    ids=["a reviewer", "a reviewer who has forgotten", "the author", "the watching identity", "a bot"],
)
async def test_the_eyes_of_a_reviewer_hold_for_fifteen_minutes_after_the_last_activity(
    by: str | None, clock: str, under_way: bool
) -> None:
    eyes = {"content": "EYES", "createdAt": pulls.at(clock), "user": None if by is None else user(by)}
    result = await pulls.observed(pulls.pull(reactions=[eyes, {**eyes, "content": "HEART"}]))
    assert (pulls.keys(result), result.pending) == (([], 1) if under_way else (["ready"], 0))


async def test_a_heart_is_no_review() -> None:
    heart = {"content": "HEART", "createdAt": pulls.at("10:59"), "user": BOB}
    assert pulls.keys(await pulls.observed(pulls.pull(reactions=[heart]))) == ["ready"]
