"""What the checks of the head say: what is red, missing, stuck or waits for an approval, and what still runs."""

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from vigil.kind import durations
from vigil.model import ids, observations
from vigil_kinds.github_pull_request import entries, raw, rows, subject, text

MISSING_HOLD: Final = 300.0
"""Seconds before it counts that a check is not there: workflows need a while to appear after a push."""

_UNFINISHED_STATES: Final = frozenset({"PENDING", "EXPECTED"})


@dataclasses.dataclass(frozen=True, slots=True)
class Checks:
    """The checks of the head as a whole.

    `pending` counts what still runs. `trouble` says in words why they are not green; it is empty if they are.
    `states` is what must not change while a hold runs. `passed` counts the rows that passed.
    """

    entries: tuple[observations.Observation, ...] = ()
    pending: int = 0
    trouble: tuple[str, ...] = ()
    states: tuple[object, ...] = ()
    passed: int = 0


def assess(
    pull: raw.PullRequest, options: subject.PullRequestOptions, now: ids.Instant, *, conflicting: bool
) -> Checks:
    """Judge the rows of the head.

    While the head conflicts with its base GitHub starts no runs for it, so that nothing is said to be missing.
    """
    rollup = pull.status_check_rollup
    runs = rows.runs_of(pull.suites)
    found = rows.standing_rows(rollup.contexts.all if rollup else (), runs)
    return _Judged(pull, options, now, found, runs_exist=bool(runs), conflicting=conflicting).whole()


class _Judged:
    """The rows that count, sorted by what they stand for."""

    def __init__(
        self,
        pull: raw.PullRequest,
        options: subject.PullRequestOptions,
        now: ids.Instant,
        found: Sequence[rows.Row],
        *,
        runs_exist: bool,
        conflicting: bool,
    ) -> None:
        self._pull = pull
        self._options = options
        self._rows = found
        self._runs_exist = runs_exist
        self._conflicting = conflicting
        self._by = defaultdict[rows.Standing, list[rows.Row]](list)
        stuck_after = durations.seconds(options.stuck_after)
        self._stuck = list[rows.Row]()
        for row in found:
            stuck = row.standing is rows.Standing.RUNNING and self._since(row, now) >= stuck_after
            (self._stuck if stuck else self._by[row.standing]).append(row)

    @staticmethod
    def _since(row: rows.Row, now: ids.Instant) -> ids.Seconds:
        return 0.0 if math.isinf(row.started) else now - row.started

    def whole(self) -> Checks:
        running = self._by[rows.Standing.RUNNING]
        absent = self._absent()
        unexplained = self._rollup_waits() and not self._accounted_for()
        # A gate is the reason why a check is not there yet, and so is whatever still runs.
        waits = absent if self._unfinished() else []
        missing = [] if waits or self._by[rows.Standing.GATED] or self._conflicting else absent
        pending = len(running) + len(waits) + unexplained
        found = (*self._red(), *self._stuck_entries(), *self._gates(), *self._missing(missing), *self._no_checks())
        return Checks(
            entries=found,
            pending=pending,
            trouble=tuple(self._trouble(found, pending)),
            states=tuple(sorted((row.identity, row.id, row.word) for row in self._rows)),
            passed=len(self._by[rows.Standing.PASSED]),
        )

    def _unfinished(self) -> bool:
        """Whether a check run or a workflow run still runs; a pending status alone says nothing of others."""
        return any(row.identity.type != "StatusContext" for row in self._by[rows.Standing.RUNNING])

    def _rollup_waits(self) -> bool:
        rollup = self._pull.status_check_rollup
        return rollup is not None and rollup.state in _UNFINISHED_STATES

    def _accounted_for(self) -> bool:
        reasons = (rows.Standing.RUNNING, rows.Standing.EXPECTED, rows.Standing.GATED)
        return bool(self._stuck) or any(self._by[standing] for standing in reasons)

    def _absent(self) -> list[str]:
        """The contexts that are expected, or required and not there."""
        there = {row.identity.name for row in self._rows} | {row.label for row in self._rows}
        expected = [row.label for row in self._by[rows.Standing.EXPECTED]]
        required = [one for one in required_contexts(self._pull.base_ref) if one not in there]
        return sorted({*expected, *(required if self._rows or self._runs_exist else ())})

    def _red(self) -> Iterator[observations.Observation]:
        by_label = defaultdict[str, list[rows.Row]](list)
        for row in self._by[rows.Standing.FAILED]:
            by_label[row.label].append(row)
        for label, failed in by_label.items():
            newest = max(failed, key=lambda row: (row.started, row.run, row.id))
            brief = f"{newest.word} {text.cut(newest.url)}".strip()
            yield entries.wake(text.key("red", label), brief, episode=newest.id)

    def _stuck_entries(self) -> Iterator[observations.Observation]:
        for label in sorted({row.label for row in self._stuck}):
            yield entries.wake(
                text.key("stuck", label), f"in progress for more than {self._options.stuck_after} and not at an end"
            )

    def _gates(self) -> Iterator[observations.Observation]:
        hold = durations.seconds(self._options.approval_drain)
        for workflow in sorted({row.workflow for row in self._by[rows.Standing.GATED]}):
            brief = "its run waits until a person approves it"
            yield entries.wake(text.key("approval-gate", workflow), brief, hold=hold)

    def _missing(self, absent: Iterable[str]) -> Iterator[observations.Observation]:
        for context in absent:
            brief = "expected, and nothing that still runs could bring it"
            yield entries.wake(text.key("missing", context), brief, hold=MISSING_HOLD)

    def _no_checks(self) -> Iterator[observations.Observation]:
        if not (self._rows or self._runs_exist or self._options.allow_no_checks or self._conflicting):
            yield entries.wake("no-checks", "no check and no run exists on the head", hold=MISSING_HOLD)

    def _trouble(self, found: Iterable[observations.Observation], pending: int) -> Iterator[str]:
        yield from (one.key for one in found)
        if pending:
            yield f"{pending} pending"
        if self._runs_exist and not (self._rows or self._options.allow_no_checks):
            yield "no checks, although runs exist"
        yield from self._veto()

    def _veto(self) -> Iterator[str]:
        wanted = self._options.readiness_context
        if wanted is not None:
            passed = {name for row in self._by[rows.Standing.PASSED] for name in (row.label, row.identity.name)}
            if wanted not in passed:
                yield f"the readiness context {text.cut(wanted)} has not succeeded"


def required_contexts(base: raw.BaseRef | None) -> frozenset[str]:
    """What the rules of the base branch require, as far as the credential may see them."""
    if base is None:
        return frozenset()
    listed = list[str | None]()
    for rule in (base.branch_protection_rule, base.ref_update_rule):
        listed += (rule.required_status_check_contexts or []) if rule else []
    for of_ruleset in raw.listed(base.rules):
        listed += [one.context for one in of_ruleset.parameters.required_status_checks] if of_ruleset.parameters else []
    return frozenset(one for one in listed if one)
