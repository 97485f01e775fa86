"""What is true of the decision whatever happens."""

import dataclasses
import random
from collections.abc import Sequence

import hypothesis
from hypothesis import strategies as st

from tests.unit.decision import histories, story
from vigil.decision import decide, flight, rules
from vigil.model import ids, limits, observations, states, verdicts, wakes
from vigil.state import codec

thorough = hypothesis.settings(
    max_examples=80, deadline=None, phases=[one for one in hypothesis.Phase if one is not hypothesis.Phase.explain]
)


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_decide_is_total_and_every_memory_survives_its_document(
    history: list[histories.Round], under: limits.Limits
) -> None:
    for moment in histories.play(history, under):
        state = moment.made.state
        assert codec.decode(codec.encode(state), story.UID) == state
        assert decide.decide(moment.reading, moment.before, under, moment.now) == moment.made


@hypothesis.given(histories.anything, histories.all_limits, st.randoms(use_true_random=False))
@thorough
def test_decide_does_not_depend_on_the_order_of_entries_and_subjects(
    history: list[histories.Round], under: limits.Limits, chance: random.Random
) -> None:
    for moment in histories.play(history, under):
        names = list(moment.reading)
        chance.shuffle(names)
        shuffled = {name: _shuffled(moment.reading[name], chance) for name in names}
        assert decide.decide(shuffled, moment.before, under, moment.now) == moment.made


def _shuffled(of: observations.ReadingOf, chance: random.Random) -> observations.ReadingOf:
    if not isinstance(of, observations.ProbeResult):
        return of
    seen = list(of.observations)
    chance.shuffle(seen)
    return dataclasses.replace(of, observations=tuple(seen))


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_texts_decide_nothing(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        reworded = {name: _reworded(of) for name, of in moment.reading.items()}
        made = decide.decide(reworded, moment.before, under, moment.now)
        assert story.words(made.verdict) == story.words(moment.made.verdict)
        assert _without_texts(made.state) == _without_texts(moment.made.state)


def _reworded(of: observations.ReadingOf) -> observations.ReadingOf:
    if not isinstance(of, observations.ProbeResult):
        return dataclasses.replace(of, message="something else")
    seen = tuple(dataclasses.replace(one, brief="since 2 minutes") for one in of.observations)
    return dataclasses.replace(of, observations=seen)


def _without_texts(state: states.State) -> states.State:
    flown = state.in_flight
    return dataclasses.replace(
        state,
        in_flight=None if flown is None else dataclasses.replace(flown, sent=_wordless(flown.sent)),
        owed=_wordless(state.owed),
    )


def _wordless(sent: Sequence[states.Sent]) -> tuple[states.Sent, ...]:
    return tuple(dataclasses.replace(one, brief="") for one in sent)


_STAMPING = st.one_of(
    st.none(),
    st.builds(story.Claim, st.none() | st.integers(1, 3)),
    st.builds(
        story.End,
        st.sampled_from([wakes.WakeState.DELIVERED, wakes.WakeState.NOTIFIED, wakes.WakeState.RECORDED]),
        st.just(()),
        st.just(0),
        st.none() | st.integers(1, 3),
    ),
)


@hypothesis.given(histories.rounds(histories.forward, _STAMPING), histories.policies)
@thorough
def test_no_identity_is_told_twice_within_realert_after_when_every_wake_is_stamped(
    history: list[histories.Round], policy: limits.Policy
) -> None:
    under = limits.Limits(policy, histories.endless)
    spell: dict[ids.SubjectId, int] = dict.fromkeys(histories.SUBJECTS, 0)
    told: dict[tuple[verdicts.Identity, int], float] = {}
    spells: dict[tuple[ids.SubjectId, float], int] = {}
    for one, moment in zip(history, histories.play(history, under), strict=True):
        for name in histories.SUBJECTS:
            spell[name] += moment.before.subject(name).revision != moment.made.state.subject(name).revision
            spells[name, moment.now] = spell[name]
        flown = moment.made.state.in_flight
        if flown is None or not isinstance(one.then, story.End):
            continue
        sequence = one.then.sequence or flown.sequence
        claimed = dataclasses.replace(flown, claimed=min(sequence, flown.sequence)) if flown.claimed is None else flown
        for sent in claimed.present:
            if sent.outcome is not None or not sent.stamps:
                # An end is told whatever was told before: its subject was only less than ended then. A floor and a
                # stall tell what is masked.
                continue
            identity = sent.identity
            own = 0 if identity.revision is None else spells[identity.subject, sent.at]
            before = told.get((identity, own))
            assert before is None or sent.at - before >= policy.realert_after, identity
            told[identity, own] = sent.at


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_an_end_beats_everything_but_a_claimed_wake(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        flown = moment.before.in_flight
        if _shows_an_end(moment) and (flown is None or flown.claimed is None):
            assert isinstance(moment.made.verdict, verdicts.Terminal)
        if isinstance(moment.made.verdict, verdicts.Terminal):
            severities = {entry.observation.severity for entry in moment.made.verdict.entries}
            assert severities == {observations.Severity.TERMINAL}


def _shows_an_end(moment: histories.Moment) -> bool:
    return any(
        one.severity is observations.Severity.TERMINAL and not one.claim and one.hold == 0
        for of in moment.reading.values()
        if isinstance(of, observations.ProbeResult)
        for one in of.observations
    )


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_a_spent_budget_is_a_stop_at_once_and_never_wakes(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        verdict, flown = moment.made.verdict, moment.before.in_flight
        if moment.before.ended is not None:
            assert not isinstance(verdict, verdicts.Wake)
        elif not isinstance(verdict, verdicts.Terminal) and (flown is None or flown.claimed is None):
            stalled = verdict == verdicts.Stop(verdicts.StopReason.STALLED)
            reason = verdict.reason if isinstance(verdict, verdicts.Stop) and not stalled else None
            assert reason == _spent(moment, under.budgets)


def _spent(moment: histories.Moment, budgets: limits.Budgets) -> verdicts.StopReason | None:
    """The first budget that is spent, in the order of the contract."""
    before, after = moment.before, moment.made.state
    errors = max(after.subject(name).errors for name in moment.reading)
    started = moment.now if before.started is None else min(before.started, moment.now)
    used = [
        (verdicts.StopReason.LIFETIME, budgets.lifetime, moment.now - started),
        (verdicts.StopReason.ACTIVE_TIME, budgets.active_time, after.spent.active_time),
        (verdicts.StopReason.TURNS, budgets.turns, before.spent.turns),
        (verdicts.StopReason.TOKENS, budgets.tokens, before.spent.tokens),
        (verdicts.StopReason.PROVIDER_ERRORS, budgets.provider_errors, errors),
    ]
    return next((reason for reason, limit, value in used if limit is not None and value >= limit), None)


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_a_claimed_wake_is_frozen_and_everything_waits(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        before, after = moment.before.in_flight, moment.made.state.in_flight
        if before is None or before.claimed is None:
            continue
        assert isinstance(moment.made.verdict, verdicts.Quiet)
        assert after is not None
        assert (after.id, after.versions, after.claimed) == (before.id, before.versions, before.claimed)
        assert [one.identity for one in after.present] == [one.identity for one in before.present]


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_in_a_silence_nothing_leaves_but_an_end(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        until, before, after = moment.before.silence_until, moment.before.in_flight, moment.made.state.in_flight
        if until is None or until <= moment.now:
            continue
        assert not isinstance(moment.made.verdict, verdicts.Wake)
        if after is not None and (before is None or after.id != before.id):
            assert after.current.type is wakes.WakeType.TERMINAL
        told = {name: memory.alerted for name, memory in moment.before.subjects.items()}
        for name, memory in moment.made.state.subjects.items():
            new = memory.alerted.keys() - told.get(name, {}).keys()
            assert not new or under.policy.on_first_observation is limits.FirstObservation.BASELINE


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_what_memory_masks_is_told_by_a_floor_and_a_stall_only(
    history: list[histories.Round], under: limits.Limits
) -> None:
    """Whatever became of the wakes before: memory alone says what was told, disposed of, or is in question."""
    for moment in histories.play(history, under):
        flown = moment.made.state.in_flight
        for sent in flown.sent if flown is not None else ():
            if sent.at != moment.now or sent.outcome is not None or not sent.stamps or _joined_before(moment, sent):
                continue
            memory = moment.made.state.subject(sent.identity.subject)
            stamp, said = memory.alerted.get(sent.identity), memory.dispositions.get(sent.identity)
            assert stamp is None or not 0 <= moment.now - stamp.at < under.policy.realert_after
            assert said is None or said.disposition is wakes.Disposition.OPEN
            assert sent.identity not in memory.parked


def _joined_before(moment: histories.Moment, sent: states.Sent) -> bool:
    """Whether it joined in an earlier tick of the same time."""
    flown = moment.before.in_flight
    return flown is not None and any((one.identity, one.joined) == (sent.identity, sent.joined) for one in flown.sent)


@hypothesis.given(histories.anything, histories.results())
@thorough
def test_no_wake_leaves_after_a_stop_whatever_is_read(
    history: list[histories.Round], late: observations.ProbeResult
) -> None:
    last = list(histories.play(history, story.budgets(lifetime=600.0)))[-1].made.state
    stopped = dataclasses.replace(last, ended=verdicts.StopReason.LIFETIME, in_flight=None)
    made = decide.decide({ids.SubjectId("c"): late}, stopped, story.DEFAULTS, 2e9)
    assert not isinstance(made.verdict, verdicts.Wake)


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_the_stall_counts_only_ticks_that_are_settled(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        before, after = moment.before.stall, moment.made.state.stall
        counted = after is not None and after.ticks > (before.ticks if before is not None else 0)
        if not counted:
            continue
        results = [of for of in moment.reading.values() if isinstance(of, observations.ProbeResult)]
        assert len(results) == len(moment.reading)
        assert all(of.complete and of.pending == 0 for of in results)
        silent = moment.before.silence_until
        assert silent is None or silent <= moment.now
        assert not any(memory.parked for memory in moment.made.state.subjects.values())
        assert not moment.made.state.window
        assert under.finite
        flown = moment.made.state.in_flight
        sent_now = not isinstance(moment.made.verdict, verdicts.Quiet)
        assert flown is None or sent_now or flown.current.reason == flight.BLOCKED
        assert not isinstance(moment.made.verdict, verdicts.Terminal)
        assert moment.made.verdict != verdicts.Quiet(verdicts.QuietReason.HOLDING), "what is held is not settled"


@hypothesis.given(
    histories.anything,
    histories.policies,
    st.sampled_from(list(observations.ResetsOn)),
    st.integers(0, 2),
    st.sampled_from([60.0, 120.0, 600.0]),
)
@thorough
def test_what_stays_true_and_unmasked_is_told_within_the_cap_and_one_tick(
    history: list[histories.Round],
    policy: limits.Policy,
    resets_on: observations.ResetsOn,
    pending: int,
    every: float,
) -> None:
    """Whatever happened before, as long as every wake is completed, nothing is silenced and all can be read."""
    off = dataclasses.replace(policy, stall_action=limits.StallAction.OFF)
    under = limits.Limits(off, histories.endless)
    *_, last = histories.play(history, under)
    subject, other = histories.SUBJECTS
    state = dataclasses.replace(last.made.state, silence_until=None)
    baseline = policy.on_first_observation is limits.FirstObservation.BASELINE
    hypothesis.assume(state.subject(subject).retired is None and (state.subject(subject).read or not baseline))
    fresh = observations.Observation("fresh", story.WAKE, resets_on)
    result = observations.ProbeResult((fresh,), state.subject(subject).revision or "r1", pending=pending)
    nothing = observations.ProbeResult((), state.subject(other).revision or "r1")
    now, told = last.now, list[verdicts.Identity]()
    for number in range(round(policy.coalesce_max / every) + 3):
        if state.in_flight is not None:
            state = story.happen(state, story.End(), under)
        now += every
        made = decide.decide({subject: result, other: nothing}, state, under, now)
        told += histories.delivered(made.verdict)
        if any(one.key == "fresh" for one in told):
            assert number * every <= policy.coalesce_max + every
            return
        state = made.state
    raise AssertionError("it was never told")


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_the_memory_is_consistent(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        state, flown = moment.made.state, moment.made.state.in_flight
        present = {one.identity for one in flown.present} if flown is not None else set[verdicts.Identity]()
        assert not present & set(state.window), "an entry waits and is in flight at once"
        assert not present & {one.identity for one in state.owed}, "an end is owed and in flight at once"
        for memory in state.subjects.values():
            for identity in (*memory.alerted, *memory.held, *memory.dispositions, *memory.answered):
                assert identity.revision in (None, memory.revision), "memory of another revision"
        for identity in state.window:
            memory = state.subject(identity.subject)
            assert memory.retired is None
            assert identity.revision in (None, memory.revision)
        if flown is not None:
            assert len(present) == len(flown.present), "an entry is in flight twice"
            about_nothing = bool(flown.spells) or flown.current.type is wakes.WakeType.NOTICE
            assert bool(present) or about_nothing or flown.claimed == 0
        if isinstance(moment.made.verdict, verdicts.Quiet):
            blocked = flown is not None and flown.current.reason == flight.BLOCKED
            assert flown is None or moment.before.in_flight is not None or blocked, "a Quiet sends nothing but that"
        elif isinstance(moment.made.verdict, verdicts.Stop) and moment.made.state.owed_notice:
            assert flown is None or flown.current.type is wakes.WakeType.TERMINAL
        else:
            assert flown is not None
            assert histories.delivered(moment.made.verdict) <= present


@hypothesis.given(histories.anything, histories.all_limits)
@thorough
def test_what_is_sent_was_served_and_is_not_withheld(history: list[histories.Round], under: limits.Limits) -> None:
    for moment in histories.play(history, under):
        if not isinstance(moment.made.verdict, verdicts.Wake):
            continue
        for entry in moment.made.verdict.entries:
            of = moment.reading.get(entry.identity.subject)
            assert isinstance(of, observations.ProbeResult), "a member of an unread subject was sent"
            if entry.observation.claim:
                assert of.complete
                assert all(one.claim or _dispatched(moment, of, one) for one in of.observations)
            if not of.complete:
                assert entry.identity not in moment.made.state.subject(entry.identity.subject).held


def _dispatched(moment: histories.Moment, of: observations.ProbeResult, one: observations.Observation) -> bool:
    subject = next(name for name, other in moment.reading.items() if other is of)
    # As the tick left it: Baseline disposes of entries before claims are looked at.
    said = moment.made.state.subject(subject).dispositions.get(verdicts.identify(subject, of, one))
    return said is not None and said.disposition is wakes.Disposition.DISPATCHED


def test_the_chain_is_the_list_of_rules_in_the_order_of_the_contract() -> None:
    assert (
        rules.revision,
        rules.hold,
        rules.withhold,
        rules.terminal,
        rules.budget,
        rules.mask,
        rules.in_flight,
        rules.silence,
        rules.immediate,
        rules.coalesce,
        rules.floor,
        rules.stall,
        rules.blind,
    ) == decide.CHAIN
