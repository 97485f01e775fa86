"""A scenario as it is written: what is taken, and the sentence for what is not."""

import pytest

from vigil.api import problems, scenario
from vigil.model import failures, ids, limits, observations
from vigil.tick import simulation

A, B = ids.SubjectId("api"), ids.SubjectId("web")


def steps(text: str) -> tuple[simulation.Step, ...]:
    """The steps of a scenario."""
    return scenario.load(f"steps:\n{text}", "s.yaml").steps


def test_a_step_with_only_a_time_is_an_empty_complete_read() -> None:
    (step,) = steps("- {at: 5m}")
    assert step == simulation.Step(300.0, {scenario.ONLY: simulation.Seen(observations.ProbeResult((), ""))})


@pytest.mark.parametrize(
    "text",
    ["delivery: {state: Queued}", "answer: {question: q1, text: yes}", "silenceUntil: 1h"],
)
def test_a_step_that_reads_nothing_decides_nothing(text: str) -> None:
    (step,) = steps(f"- {{at: 5m, {text}}}")
    assert step.readings is None


def test_a_step_with_both_is_a_read() -> None:
    (step,) = steps("- {at: 5m, silenceUntil: 1h, complete: true}")
    assert step.readings is not None
    assert step.silence_until == 3600.0


def test_a_reading_with_everything() -> None:
    (step,) = steps(
        """
- at: 1m
  revision: r1
  complete: false
  pending: 2
  activity: a1
  observations:
    - key: ready
      severity: Wake
      resetsOn: Revision
      hold: settle
      episode: e1
      detail: d1
      outcome: Succeeded
      claim: true
      brief: it is ready
    - {key: late, severity: Immediate, resetsOn: Never, hold: 90s}
    - {key: gone, severity: Terminal, resetsOn: Never, outcome: Failed, hold: 0}
"""
    )
    assert step.readings is not None
    seen = step.readings[scenario.ONLY]
    assert isinstance(seen, simulation.Seen)
    assert seen.revision == "r1"
    result = seen.result
    assert (result.complete, result.pending, result.activity) == (False, 2, "a1")
    assert result.observations == (
        observations.Observation(
            "ready",
            observations.Severity.WAKE,
            observations.ResetsOn.REVISION,
            "it is ready",
            observations.Outcome.SUCCEEDED,
            claim=True,
            hold=observations.SETTLE,
            episode="e1",
            detail="d1",
        ),
        observations.Observation("late", observations.Severity.IMMEDIATE, observations.ResetsOn.NEVER, hold=90.0),
        observations.Observation(
            "gone", observations.Severity.TERMINAL, observations.ResetsOn.NEVER, outcome=observations.Outcome.FAILED
        ),
    )


def test_an_error_is_a_failed_read() -> None:
    (step,) = steps("- {at: 7m, error: {category: throttled, retryAfter: 60s, shared: true}}")
    expected = failures.Failure(failures.Category.THROTTLED, "as the scenario says", 60.0, shared=True)
    assert step.readings == {scenario.ONLY: expected}


def test_several_subjects_and_a_time_alone_which_repeats_all() -> None:
    made = scenario.load("steps: [{at: 0s, subjects: {api: {}, web: {pending: 1}}}, {at: 1m}]", "s.yaml")
    assert made.subjects == (A, B)
    assert made.steps[0].readings is not None
    assert set(made.steps[0].readings) == {A, B}
    assert made.steps[1].readings == {}


def test_defaults_and_limits_are_those_of_a_watch() -> None:
    made = scenario.load("steps: [{at: 0}]", "s.yaml")
    assert made.limits == limits.Limits()
    spec = "spec: {policy: {coalesce: {window: 0}, stall: {action: Off}}, objective: standing}"
    made = scenario.load(f"{spec}\nsteps: [{{at: -5m}}]", "s.yaml")
    assert made.limits.policy.coalesce_window == 0
    assert made.limits.policy.stall_action is limits.StallAction.OFF
    assert (made.limits.finite, made.limits.budgets.lifetime) == (False, None)
    assert made.steps[0].at == -300.0


WRONG = [
    ("", "s.yaml: one document is expected, and there are 0"),
    ("[]", "s.yaml: must be an object, not a list"),
    ("{", "s.yaml: line 2: it is not YAML"),
    ("{}", "s.yaml: steps: is required"),
    ("steps: []", "s.yaml: steps: has 0 items, and at least 1 are needed"),
    ("steps: [{}]", "s.yaml: steps[0].at: is required"),
    ("steps: [{at: soon}]", "s.yaml: steps[0].at: an offset is a duration such as 90s"),
    ("steps: [{at: --5m}]", "s.yaml: steps[0].at: an offset is a duration"),
    ("steps: [{at: 90000h}]", "s.yaml: steps[0].at: an offset is a duration such as 90s or 1h30m, at most 87600h"),
    ("steps: [{at: 0s, silenceUntil: tomorrow}]", "s.yaml: steps[0].silenceUntil: an offset is a duration"),
    ("steps: [{at: 0s, subjects: {a: null}}]", "s.yaml: steps[0].subjects.a: must be an object, not null"),
    ("steps: [{at: 0s, subjects: {a: {pending: x}}}]", "s.yaml: steps[0].subjects.a.pending: must be a whole number"),
    ('steps: [{at: 0s, subjects: {"": {}}}]', "s.yaml: steps[0].subjects: '' is no name"),
    (r'steps: [{at: 0s, subjects: {"a\tb": {}}}]', r"s.yaml: steps[0].subjects: 'a\tb' is no name"),
    ("steps: [{at: 0s}]\n---\nsteps: []", "s.yaml: one document is expected, and there are 2"),
    ("steps: [{at: 0s, at: 1s}]", "s.yaml: line 1: the key 'at' stands twice"),
    ("steps: [{at: 0s, answer: {question: q}}]", "s.yaml: steps[0].answer.text: is required"),
    ("steps: [{at: 0s, error: {category: tls, retryAfter: -1s}}]", "s.yaml: steps[0].error.retryAfter: a duration is"),
    ("steps: [{at: 5}]", "s.yaml: steps[0].at: must be a string, not a number"),
    ("steps: [{at: 0s, when: 1}]", "s.yaml: steps[0].when: there is no such field"),
    ("steps: [{at: 0s, pendin: 1}]", "s.yaml: steps[0].pendin: there is no such field; did you mean pending?"),
    ("steps: [{at: 0s, pending: -1}]", "s.yaml: steps[0].pending: must be at least 0"),
    ("steps: [{at: 0s, complete: maybe}]", "s.yaml: steps[0].complete: must be true or false, not a string"),
    ("steps: [{at: 0s, error: {category: bad}}]", "s.yaml: steps[0].error.category: must be one of"),
    ("steps: [{at: 0s, delivery: {state: Done}}]", "s.yaml: steps[0].delivery.state: must be one of"),
    ("steps: [{at: 0s, delivery: {state: Lost, tokens: -1}}]", "s.yaml: steps[0].delivery.tokens: must be at least 0"),
    (
        "steps: [{at: 0s, observations: [{key: a, severity: Wake, resetsOn: Never, hold: soon}]}]",
        "s.yaml: steps[0].observations[0].hold: a duration is written like",
    ),
    (
        "steps: [{at: 0s, observations: [{key: a, severity: wake, resetsOn: Never}]}]",
        "s.yaml: steps[0].observations[0].severity: must be one of",
    ),
    ("steps: [{at: 0s, observations: [{key: a}]}]", "s.yaml: steps[0].observations[0].severity: is required"),
    (
        "steps: [{at: 0s, observations: [{key: a, severity: Terminal, resetsOn: Never}]}]",
        "s.yaml: steps[0].observations[0].outcome: outcome must be given for a Terminal entry and for a claim",
    ),
    (
        'steps: [{at: 0s, observations: [{key: " a", severity: Wake, resetsOn: Never}]}]',
        "s.yaml: steps[0].observations[0].key: a key is printable characters without outer blanks",
    ),
    (
        "steps: [{at: 0s, error: {category: tls}, observations: [{key: a, severity: Wake, resetsOn: Never}]}]",
        "s.yaml: steps[0].observations: a read that failed shows no observations",
    ),
    (
        "steps: [{at: 0s, subjects: {a: {}}, pending: 1}]",
        "s.yaml: steps[0].subjects: a step with subjects has their readings under their names, and none beside them",
    ),
    (
        "steps: [{at: 0s, subjects: {a: {}}}, {at: 1m, pending: 1}]",
        "s.yaml: steps[1]: has a reading, and others name several subjects",
    ),
    (
        "steps: [{at: 0s, delivery: {state: Lost, dispositions: [{key: a, disposition: open, question: q}]}}]",
        "s.yaml: steps[0].delivery.dispositions[0].question: question may be given with the disposition parked",
    ),
    ("spec: {kind: toy}\nsteps: [{at: 0s}]", "s.yaml: spec.kind: there is no such field"),
    ("spec: {objective: ready}\nsteps: [{at: 0s}]", "s.yaml: spec.objective: must be 'finite' or 'standing'"),
    ("spec: {policy: {settle: 5}}\nsteps: [{at: 0s}]", "s.yaml: spec.policy.settle: must be a string, not a number"),
    ("spec: {policy: {stall: {ticks: 0}}}\nsteps: [{at: 0s}]", "s.yaml: spec.policy.stall.ticks: must be at least 1"),
    ("spec: {budgets: {turns: many}}\nsteps: [{at: 0s}]", "s.yaml: spec.budgets.turns: must be a whole number"),
    (
        "steps: [" + ", ".join(f"{{at: {n}s, subjects: {{s{n}: {{}}}}}}" for n in range(51)) + "]",
        "s.yaml: steps: name more than 50 subjects",
    ),
]


def test_a_scenario_has_a_largest_size_and_a_longest_course() -> None:
    with pytest.raises(problems.InvalidManifest, match=r"^s\.yaml: a scenario has at most 4194304 bytes"):
        scenario.load(b" " * (scenario.MAX_BYTES + 1), "s.yaml")
    with pytest.raises(problems.InvalidManifest, match=r"^s\.yaml: steps: has \d+ items, and at most 10000"):
        scenario.load(f"steps: [{'{at: 0s}, ' * (scenario.MAX_STEPS + 1)}]", "s.yaml")


def test_a_null_is_what_is_not_there() -> None:
    (step,) = steps("- {at: 5m, pending: null, subjects: null, delivery: null, error: null}")
    assert step == simulation.Step(300.0, {scenario.ONLY: simulation.Seen(observations.ProbeResult((), ""))})


@pytest.mark.parametrize(("text", "told"), WRONG, ids=[row[1][8:60] for row in WRONG])
def test_what_is_wrong_is_told_in_a_sentence_with_its_place(text: str, told: str) -> None:
    with pytest.raises(problems.InvalidManifest) as raised:
        scenario.load(text, "s.yaml")
    assert str(raised.value).startswith(told)
