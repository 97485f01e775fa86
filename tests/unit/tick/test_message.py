"""The wake as it is told: its entries with their briefs, and the evidence they rest on."""

import dataclasses

from tests.unit import gauges
from tests.unit.clock import START
from tests.unit.tick.desk import MINUTE, Desk
from vigil.kind import api
from vigil.model import failures, limits, observations, states, wakes
from vigil.tick import message

A, B = gauges.subject_id("a"), gauges.subject_id("b")


async def test_a_message_names_the_watch_the_reason_and_each_entry_with_its_label_and_brief() -> None:
    desk = Desk(gauges.watch("a", "b", description="both gauges"))
    both = {A: api.Snapshot({"shows": ["red:unit"]}), B: api.Snapshot({"shows": ["comment:7"]})}
    await desk.read(0, both)
    await desk.read(4, both)
    told = desk.sidecar.last.message
    assert (told.watch, told.kind, told.description) == (desk.watch.ref, "gauge", "both gauges")
    assert (told.type, told.reason, told.sequence) == (wakes.WakeType.WAKE, "converged", 1)
    assert told.brief == "converged: red:unit, comment:7"
    assert (told.decided_at, told.observed_at) == (START + 4 * MINUTE, START + 4 * MINUTE)
    severity = observations.Severity.WAKE
    assert told.entries == (
        wakes.WakeEntry("gauge/a", "red:unit", severity, "red:unit is lit", START, "r1"),
        wakes.WakeEntry("gauge/b", "comment:7", severity, "comment:7 is lit", START, "r1"),
    )


async def test_an_entry_that_is_no_longer_shown_is_told_without_a_brief() -> None:
    desk = Desk()
    await desk.tick(0, "comment:7")
    await desk.tick(4)
    assert [(one.key, one.brief, one.since) for one in desk.sidecar.last.message.entries] == [("comment:7", "", START)]


async def test_the_evidence_holds_the_subjects_of_the_wake_and_no_others() -> None:
    desk = Desk(gauges.watch("a", "b"))
    await desk.read(0, {A: api.Snapshot({"shows": ["now:conflict"]}), B: api.Snapshot({"shows": []})})
    assert desk.sidecar.last.message.evidence == (
        "Watch team-a/w1, gauge, objective done\n"
        f"Wake {desk.sidecar.last.message.id}, version 1, decided at 2027-01-15T08:00:00+00:00: immediate\n"
        f"\n## gauge/a ({A})\n"
        '{"shows": ["now:conflict"]}'
    )


async def test_the_evidence_says_what_is_missing() -> None:
    desk = Desk(gauges.watch("a", "b"))
    both = {A: api.Snapshot({"shows": ["comment:7"]}), B: api.Snapshot({"shows": ["comment:8"]})}
    await desk.read(0, both)
    await desk.read(4, both)
    desk.crash()
    await desk.read(6, {A: failures.Failure(failures.Category.TIMEOUT, "no answer"), B: both[B]})
    evidence = [message for name, message in desk.log if name == "submit"][-1].evidence
    assert "Last read failed: timeout: no answer\nNot read since this process started." in evidence
    assert '{"shows": ["comment:8"]}' in evidence


async def test_a_kind_that_cannot_render_its_evidence_does_not_keep_the_wake_back() -> None:
    desk = Desk()
    await desk.tick(0, "now:conflict", unprintable=True)
    told = desk.sidecar.last.message
    assert "The kind gauge cannot render its evidence: ValueError: the needle is gone" in told.evidence


async def test_the_notice_of_a_stop_has_no_entries_and_the_evidence_of_every_subject() -> None:
    desk = Desk(gauges.watch("a", "b", limits=limits.Limits(budgets=limits.Budgets(lifetime=60.0))))
    await desk.read(0, {A: api.Snapshot({}), B: api.Snapshot({})})
    assert await desk.read(1, {A: api.Snapshot({}), B: api.Snapshot({})}) == "lifetime"
    told = desk.sidecar.last.message
    assert (told.type, told.reason, told.brief, told.entries) == (wakes.WakeType.NOTICE, "lifetime", "lifetime", ())
    assert "gauge/a" in told.evidence
    assert "gauge/b" in told.evidence


async def test_a_message_without_entries_says_what_the_subjects_wait_for() -> None:
    desk = Desk(gauges.watch("a", "b", limits=limits.Limits(budgets=limits.Budgets(lifetime=60.0))))
    both = {A: api.Snapshot({"waiting": "nobody has computed it"}), B: api.Snapshot({})}
    await desk.read(0, both)
    await desk.read(1, both)
    assert desk.sidecar.last.message.brief == "lifetime: gauge/a waits: nobody has computed it"


async def test_an_end_is_told_with_its_outcome_and_its_brief_although_nobody_reads_its_subject_any_more() -> None:
    desk = Desk()
    await desk.tick(0, "lost")
    desk.crash()
    await desk.read(2, {})
    (entry,) = desk.sidecar.last.message.entries
    assert (entry.key, entry.severity, entry.outcome, entry.brief) == (
        "lost",
        observations.Severity.TERMINAL,
        observations.Outcome.FAILED,
        "it is lost",
    )


async def test_a_claimed_wake_is_submitted_again_as_the_version_that_was_claimed() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    await desk.tick(4, "red:unit")
    desk.sidecar.claim()
    await desk.tick(6, "red:unit", "red:e2e")
    await desk.tick(8, "red:unit", "red:e2e")
    told = [message for name, message in desk.log if name == "submit"][-1]
    assert told.sequence == 1
    assert [one.key for one in told.entries] == ["red:unit"]


async def test_a_disposition_names_a_subject_by_the_label_that_the_message_gave_it() -> None:
    desk = Desk(gauges.watch("a", "b"))
    both = {A: api.Snapshot({"shows": ["red:unit"]}), B: api.Snapshot({"shows": ["red:unit"]})}
    await desk.read(0, both)
    await desk.read(4, both)
    desk.sidecar.claim()
    said = wakes.DispositionOf("red:unit", wakes.Disposition.DISPATCHED, desk.sidecar.last.message.entries[1].subject)
    stranger = wakes.DispositionOf("red:unit", wakes.Disposition.DISPATCHED, "gauge/c")
    await desk.hear(desk.sidecar.finish(wakes.WakeState.DELIVERED, said, stranger))
    assert [len(desk.memory.state.subject(name).dispositions) for name in (A, B)] == [0, 1]


async def test_a_disposition_of_an_entry_that_the_wake_did_not_hold_binds_to_the_latest_reading() -> None:
    desk = Desk()
    await desk.tick(0, "red:unit")
    await desk.tick(4, "red:unit")
    desk.sidecar.claim()
    await desk.tick(6, "red:unit", "red:e2e")
    said = wakes.DispositionOf("red:e2e", wakes.Disposition.DISPATCHED)
    await desk.hear(desk.sidecar.finish(wakes.WakeState.DELIVERED, said))
    assert await desk.tick(20, "red:unit", "red:e2e") == "handled"


async def test_the_evidence_tells_the_answer_of_a_question_and_how_the_watch_goes_in_circles() -> None:
    desk = Desk()
    await desk.tick(0, "now:conflict")
    state = desk.memory.state
    (identity,) = [one.identity for one in state.in_flight.present] if state.in_flight is not None else []
    subject = dataclasses.replace(state.subject(A), answered={identity: states.Answered("", START, "use the second")})
    relapsed = states.Churn(relapses={(A, "red:unit"): states.Relapses("r2", count=3)})
    known = desk.memory.with_current(state=dataclasses.replace(state, subjects={A: subject}, churn=relapsed))
    assert known.state.in_flight is not None
    evidence = message.message_of(known, known.state.in_flight).evidence
    assert "Answer to the question about now:conflict: use the second\n" in evidence
    assert "Churn: gauge/a: red:unit cleared and came back on another revision 3 times\n" in evidence
