"""The life of one pull request through the real reader and the real engine: the wakes are exactly these."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.kinds.github_pull_request import pulls
from tests.kinds.github_pull_request.pulls import bot, check, review, rollup, said, thread, user
from tests.unit.tick import desk
from vigil.api import enrol, manifest
from vigil.kind import registry
from vigil.model import wakes
from vigil.tick import enrolment, memory

MINUTE = 60.0
WATCH = """
apiVersion: vigil.dev/v1alpha1
kind: Watch
metadata: {name: api-42, namespace: team-a, uid: w1}
spec:
  kind: github_pull_request
  objective: %s
  subjects: [{repository: acme/api, number: 42}]
  deliver: {session: supervisor}
"""


def watch(objective: str) -> enrolment.Enrolment:
    """The Watch as it is enrolled, with the default policy."""
    (read,) = manifest.load_manifests((WATCH % objective).encode(), "watch.yaml")
    return enrol.enrol(read, registry.load(["github_pull_request"]))


class Life:
    """A Watch that is ticked every two minutes, and an agent that confirms all that it is told."""

    def __init__(self, objective: str, *, confirms: bool = True) -> None:
        self.told: list[tuple[float, str]] = []
        self._confirms = confirms
        self._reading = pulls.Desk(pulls.world(pulls.pull()))
        self._core = desk.Desk(watch(objective))
        self._core.memory = memory.begin(self._core.watch, memory.Stored(), pulls.START)
        self._minute = 0.0

    async def until(self, minute: float, of: Mapping[str, Any], **world: Any) -> None:
        """The pull request is this one until that minute, which is not part of it."""
        self._reading.show(of, **world)
        while self._minute < minute:
            await self._tick()
            self._minute += 2

    async def _tick(self) -> None:
        now = pulls.START + self._minute * MINUTE
        self._reading.github.clock.set(now)
        answer = await self._reading.read()
        core = self._core
        ticked = await core.ticker.tick(core.memory, {pulls.ID: answer}, now)
        core.memory, core.now = ticked.memory, now
        flown = core.memory.state.in_flight
        if flown is not None:
            self.told.append((self._minute, core.verdict))
            core.sidecar.claim()
            done = [one.identity.key for one in flown.present] if self._confirms else []
            dispositions = [wakes.DispositionOf(key, wakes.Disposition.DISPATCHED) for key in done]
            await core.hear(core.sidecar.finish(wakes.WakeState.DELIVERED, *dispositions))


def running(head: str, started: str) -> dict[str, Any]:
    """The checks of a head while they run."""
    rows = (check("unit", None, started=started), check("e2e", None, started=started))
    return {"headRefOid": head, **rollup(*rows, state="PENDING"), "mergeStateStatus": "BLOCKED"}


async def test_from_opening_to_merge_each_useful_change_is_one_wake() -> None:
    life = Life("merged")
    waits: dict[str, Any] = {"reviewDecision": "REVIEW_REQUIRED", "mergeStateStatus": "BLOCKED"}
    # A flaky check fails, is run again and passes.
    await life.until(6, pulls.pull(**{**waits, **running("h1", "11:00")}))
    flaky = check("unit", "FAILURE", started="11:00", ended="11:05")
    e2e = check("e2e", started="11:00", ended="11:05", id=2)
    await life.until(8, pulls.pull(**waits, **rollup(flaky, e2e, state="FAILURE")))
    again = check("unit", None, started="11:08", id=3)
    await life.until(12, pulls.pull(**waits, **rollup(flaky, e2e, again, state="PENDING")))
    green = rollup(flaky, e2e, check("unit", started="11:08", ended="11:11", id=3))
    await life.until(14, pulls.pull(**waits, **green))
    # A bot comments, and rewrites its comment.
    for minute, body in ((20, "coverage 80%"), (24, "coverage 81%"), (30, "coverage 82%")):
        comment = said(501, bot("status-bot"), body, updatedAt=pulls.at(f"11:{minute - 6}"))
        await life.until(minute, pulls.pull(**waits, **green, comments=[comment]))
    # A review asks for changes, and has a thread.
    asked: dict[str, Any] = {
        "comments": [comment],
        "reviews": [review(3, "bob", "CHANGES_REQUESTED", clock="11:30", body="Split it.")],
        "reviewDecision": "CHANGES_REQUESTED",
        "mergeStateStatus": "BLOCKED",
    }
    why = said(7, user("bob"), "Why?", state="SUBMITTED")
    await life.until(40, pulls.pull(**asked, **green, reviewThreads=[thread("T1", why)]))
    # The agent answers and pushes; the reviewer replies.
    because = said(8, user("vigil-bot"), "Because.", state="SUBMITTED")
    discussed = {**asked, "reviewThreads": [thread("T1", why, because)]}
    await life.until(46, pulls.pull(**{**discussed, **running("h2", "11:40")}))
    second = rollup(check(started="11:40", ended="11:45", id=4))
    await life.until(50, pulls.pull(headRefOid="h2", **discussed, **second))
    reply = said(9, user("bob"), "I see; rename it.", state="SUBMITTED")
    replied = {**asked, "reviewThreads": [thread("T1", why, because, reply)]}
    await life.until(60, pulls.pull(headRefOid="h2", **replied, **second))
    # A second push, an approval, and a base that moves before the settle time is over.
    await life.until(66, pulls.pull(**{**replied, **running("h3", "12:00")}))
    third = rollup(check(started="12:00", ended="12:05", id=5))
    await life.until(70, pulls.pull(headRefOid="h3", **replied, **third))
    approved: dict[str, Any] = {
        "headRefOid": "h3",
        "comments": [comment],
        "reviews": [review(10, "bob", "APPROVED", "h3", clock="12:10")],
        "reviewThreads": [thread("T1", why, because, reply, resolved=True)],
        **third,
    }
    await life.until(72, pulls.pull(**approved))
    moved: dict[str, Any] = {"repositories": {"acme/api": {"refs": {"main": "b2"}}}}
    await life.until(74, pulls.pull(**approved), **moved)
    remade = {"potentialMergeCommit": {"oid": "m2", "parents": [{"oid": "b2"}, {"oid": "h3"}]}}
    await life.until(90, pulls.pull(**approved | remade), **moved)
    await life.until(94, pulls.pull(**approved, state="MERGED", mergedBy=user("bob")), **moved)
    assert life.told == [
        (18, "converged: comment:501"),
        (34, "converged: changes-requested:bob thread:T1"),
        (46, "converged: stale:bob"),
        (54, "converged: thread:T1"),
        (66, "converged: stale:bob"),
        (84, "converged: ready"),
        (90, "succeeded: merged"),
    ]


async def test_ready_ends_a_watch_for_it_once_it_has_stood_and_nothing_is_open() -> None:
    """C031: greens that come one after another are one delivery, when the last has settled."""
    life = Life("review_ready")
    for minute, done in ((2, 1), (4, 2), (20, 3)):
        rows = [
            check(name, "SUCCESS" if index < done else None, started="10:58", ended="10:59", id=index)
            for index, name in enumerate(("lint", "unit", "e2e"))
        ]
        await life.until(minute, pulls.pull(**rollup(*rows, state="SUCCESS" if done == 3 else "PENDING")))
    assert life.told == [(10, "succeeded: ready")]


async def test_the_same_stale_request_is_told_once_a_revision() -> None:
    """C040."""
    asked = review(3, "rev-bot", "CHANGES_REQUESTED", "h0", "Split it.")
    life = Life("review_ready", confirms=False)
    await life.until(60, pulls.pull(reviews=[asked], reviewDecision="CHANGES_REQUESTED", mergeStateStatus="BLOCKED"))
    assert life.told == [(4, "converged: changes-requested:rev-bot stale:rev-bot")]


async def test_gates_are_told_in_one_wake_after_their_drain_and_not_again() -> None:
    """C028."""
    gates = [pulls.run(1, "ci", conclusion="ACTION_REQUIRED"), pulls.run(2, "lint", conclusion="ACTION_REQUIRED")]
    life = Life("review_ready", confirms=False)
    await life.until(60, pulls.pull(statusCheckRollup=None, checkSuites=gates, mergeStateStatus="BLOCKED"))
    assert life.told == [(10, "converged: approval-gate:ci approval-gate:lint")]


async def test_a_conflict_does_not_wait() -> None:
    """C029."""
    life = Life("review_ready")
    await life.until(20, pulls.pull(mergeable="CONFLICTING", mergeStateStatus="DIRTY", checkSuites=[]))
    assert life.told == [(0, "immediate: conflict")]


async def test_our_own_words_start_no_loop_and_a_bots_are_bounded_by_the_budget() -> None:
    """C043."""
    life = Life("review_ready")
    comments = list[dict[str, Any]]()
    for number in range(1, 30):
        by = user("vigil-bot") if number % 2 else bot("nag-bot")
        comments.append(said(number, by, f"{number}"))
        await life.until(number * 6, pulls.pull(comments=list(comments)))
    assert [verdict for _, verdict in life.told[:8]] == [f"converged: comment:{number}" for number in range(2, 18, 2)]
    assert [verdict for _, verdict in life.told[8:]] == ["turns"]


@pytest.mark.parametrize("objective", ["review_ready", "merged", "checks_green"])
async def test_a_quiet_pull_request_wakes_nobody(objective: str) -> None:
    life = Life(objective)
    await life.until(60, pulls.pull(isDraft=True, **rollup(check("unit", None, started="11:00"), state="PENDING")))
    assert life.told == []
