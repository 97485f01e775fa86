"""Rule 5: a spent budget is a Stop at once, in the order of the list."""

import pytest

from tests.unit.decision import story
from tests.unit.decision.story import (
    CLOSED,
    CONFLICT,
    HOUR,
    MERGED,
    MINUTE,
    UNIT,
    Claim,
    End,
    Story,
    Tick,
    failed,
    partly,
    see,
)
from vigil.model import limits, states, verdicts, wakes

WEEK = 168 * HOUR
TURN: list[story.Step] = [
    Tick(0, see(UNIT), "quiet coalescing"),
    Tick(4 * MINUTE, see(UNIT), "wake converged: red:unit"),
    Claim(),
]

STORIES = [
    Story(
        "the lifetime ends a Watch at its end, news or not",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(WEEK - 1, see(), "quiet nothing-open"),
            Tick(WEEK, see(), "stop lifetime"),
        ],
    ),
    Story(
        "a lifetime of nothing ends it in its first tick", [Tick(0, see(), "stop lifetime")], story.budgets(lifetime=0)
    ),
    Story(
        "a standing objective without a lifetime goes on for ever",
        [Tick(0, see(), "quiet nothing-open"), Tick(100 * WEEK, see(), "quiet nothing-open")],
        limits.Limits(budgets=limits.Budgets(lifetime=None), finite=False),
    ),
    Story(
        "a standing objective has the lifetime that its spec gives",
        [Tick(0, see(), "quiet nothing-open"), Tick(HOUR, see(), "stop lifetime")],
        limits.Limits(budgets=limits.Budgets(lifetime=HOUR), finite=False),
    ),
    Story(
        "active time counts gaps up to a quarter of an hour, and no longer ones",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(15 * MINUTE, see(), "quiet nothing-open"),
            Tick(30 * MINUTE + 1, see(), "quiet nothing-open"),
            Tick(40 * MINUTE, see(), "quiet nothing-open"),
            Tick(45 * MINUTE + 1, see(), "stop active-time"),
        ],
        story.budgets(active_time=30 * MINUTE),
    ),
    Story(
        "a clock that steps back costs no active time",
        [
            Tick(HOUR, see(), "quiet nothing-open"),
            Tick(0, see(), "quiet nothing-open"),
            Tick(10 * MINUTE, see(), "stop active-time"),
        ],
        story.budgets(active_time=10 * MINUTE),
    ),
    Story(
        "turns are spent by outcomes, and the last one stops the Watch",
        [*TURN, End(), Tick(5 * MINUTE, see(UNIT), "stop turns")],
        story.budgets(turns=1),
    ),
    Story(
        "a wake under way spends nothing",
        [
            *TURN[:2],
            Tick(5 * MINUTE, see(UNIT), "quiet in-flight"),
            Claim(),
            Tick(6 * MINUTE, see(UNIT), "quiet in-flight"),
        ],
        story.budgets(turns=1),
    ),
    Story(
        "tokens are spent by outcomes",
        [*TURN, End(tokens=100), Tick(5 * MINUTE, see(UNIT), "stop tokens")],
        story.budgets(tokens=100),
    ),
    Story(
        "one token less goes on",
        [*TURN, End(tokens=99), Tick(5 * MINUTE, see(UNIT), "quiet handled")],
        story.budgets(tokens=100),
    ),
    Story(
        "no budgets, no end",
        [*TURN, End(tokens=10**9), Tick(1000 * WEEK, failed(), "quiet unreadable")],
        story.budgets(turns=None, tokens=None, provider_errors=None, active_time=None, lifetime=None),
    ),
    Story(
        "so many failed ticks in a row stop the Watch, whatever their categories",
        [
            Tick(0, failed("transient"), "quiet unreadable"),
            Tick(60, failed("timeout"), "quiet unreadable"),
            Tick(120, failed("malformed"), "stop provider-errors"),
        ],
        story.budgets(provider_errors=3),
    ),
    Story(
        "a throttle at two of three errors is no charge, and clears nothing",
        [
            Tick(0, failed(), "quiet unreadable"),
            Tick(60, failed(), "quiet unreadable"),
            Tick(120, failed("throttled", retry_after=60), "quiet throttled"),
            Tick(180, failed(), "stop provider-errors"),
        ],
        story.budgets(provider_errors=3),
    ),
    Story(
        "a failure of the whole group neither counts nor clears",
        [
            Tick(0, failed(), "quiet unreadable"),
            Tick(60, failed(shared=True), "quiet unreadable"),
            Tick(120, failed(), "stop provider-errors"),
        ],
        story.budgets(provider_errors=2),
    ),
    Story(
        "a failure that retrying does not heal neither counts nor clears",
        [
            Tick(0, failed(), "quiet unreadable"),
            *(
                Tick(60 + n, failed(category), "quiet unreadable")
                for n, category in enumerate(["auth", "auth_sso", "forbidden", "not_found", "moved", "config"])
            ),
            Tick(120, failed(), "stop provider-errors"),
        ],
        story.budgets(provider_errors=2),
    ),
    Story(
        "any read clears the row, an incomplete one too",
        [
            Tick(0, failed(), "quiet unreadable"),
            Tick(60, partly(), "quiet incomplete"),
            Tick(120, failed(), "quiet unreadable"),
            Tick(180, failed(), "stop provider-errors"),
        ],
        story.budgets(provider_errors=2),
    ),
    Story(
        "the longest row of the subjects counts, and not their sum",
        [
            Tick(0, {"a": failed(), "b": failed()}, "quiet unreadable"),
            Tick(60, {"a": see(), "b": failed()}, "quiet unreadable"),
            Tick(120, {"a": failed(), "b": failed()}, "stop provider-errors"),
        ],
        story.budgets(provider_errors=3),
    ),
    Story(
        "the row of a retired subject does not count",
        [
            Tick(0, {"a": failed(), "b": see()}, "quiet unreadable"),
            Tick(60, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            End(),
            Tick(120, {"b": failed()}, "quiet unreadable"),
        ],
        story.budgets(provider_errors=2),
    ),
    Story(
        "the lifetime comes before active time",
        [Tick(0, see(), "quiet nothing-open"), Tick(600, see(), "stop lifetime")],
        story.budgets(lifetime=600, active_time=600),
    ),
    Story(
        "active time comes before turns",
        [*TURN, End(tokens=9), Tick(5 * MINUTE, see(), "stop active-time")],
        story.budgets(active_time=5 * MINUTE, turns=1, tokens=9),
    ),
    Story(
        "turns come before tokens",
        [*TURN, End(tokens=9), Tick(5 * MINUTE, failed(), "stop turns")],
        story.budgets(turns=1, tokens=9, provider_errors=1),
    ),
    Story(
        "tokens come before provider errors",
        [*TURN, End(tokens=9), Tick(5 * MINUTE, failed(), "stop tokens")],
        story.budgets(tokens=9, provider_errors=1),
    ),
    Story(
        "a spent budget stops an IMMEDIATE entry",
        [*TURN, End(), Tick(5 * MINUTE, see(CONFLICT), "stop turns")],
        story.budgets(turns=1),
    ),
    Story(
        "a claimed wake is waited for before the Stop",
        [*TURN, Tick(WEEK, see(UNIT), "quiet in-flight"), End(), Tick(WEEK + 1, see(UNIT), "stop lifetime")],
    ),
    Story(
        "a Stop takes an unclaimed wake over, and is decided once",
        [
            *TURN[:2],
            Tick(WEEK, see(UNIT), "stop lifetime"),
            Tick(WEEK + 1, {}, "quiet in-flight"),
            End(),
            Tick(WEEK + 2, {}, "quiet coalescing"),
        ],
    ),
    Story(
        "a notice that came too late for a claim is owed, and sent after the outcome",
        [
            *TURN[:2],
            Tick(WEEK, see(UNIT), "stop lifetime"),
            Claim(sequence=1),
            Tick(WEEK + 1, {}, "quiet in-flight"),
            End(sequence=1),
            Tick(WEEK + 2, {}, "stop lifetime"),
            End(story.NOTIFIED),
            Tick(WEEK + 3, {}, "quiet nothing-open"),
        ],
    ),
    Story(
        "a notice that was lost is sent again",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(WEEK, see(), "stop lifetime"),
            End(story.WITHDRAWN),
            Tick(WEEK + 1, {}, "stop lifetime"),
        ],
    ),
    Story(
        "a notice does not overtake an end that nobody claimed yet",
        [
            Tick(0, {"a": see(MERGED), "b": see()}, "terminal succeeded: merged"),
            Tick(WEEK, {"b": see()}, "stop lifetime"),
            Tick(WEEK + 1, {}, "quiet in-flight"),
            Claim(),
            End(),
            Tick(WEEK + 2, {}, "stop lifetime"),
            End(story.NOTIFIED),
            Tick(WEEK + 3, {}, "quiet nothing-open"),
        ],
    ),
    Story(
        "an end that was lost after a Stop is told before its notice",
        [
            Tick(0, {"a": see(CLOSED), "b": see()}, "terminal failed: closed"),
            Tick(WEEK, {"b": see()}, "stop lifetime"),
            End(story.LOST),
            Tick(WEEK + 1, {}, "terminal failed: closed"),
            End(),
            Tick(WEEK + 2, {}, "stop lifetime"),
        ],
    ),
    Story(
        "nothing leaves after a Stop, whatever is shown",
        [
            Tick(0, see(), "quiet nothing-open"),
            Tick(WEEK, see(), "stop lifetime"),
            End(story.NOTIFIED),
            Tick(WEEK + 1, see(UNIT, CONFLICT), "quiet coalescing"),
            Tick(2 * WEEK, see(UNIT, CONFLICT), "quiet coalescing"),
        ],
    ),
]


@pytest.mark.parametrize("told", STORIES, ids=str)
def test_budget(told: Story) -> None:
    story.tell(told)


def test_the_notice_of_a_stop_costs_no_turn() -> None:
    steps: list[story.Step] = [
        Tick(0, see(), "quiet nothing-open"),
        Tick(WEEK, see(), "stop lifetime"),
        Claim(),
        End(tokens=77),
    ]
    state = story.tell(Story("a Stop", steps))
    assert state.spent.turns == 0
    assert state.spent.tokens == 0
    assert state.quiet_for_good


def test_a_stop_ends_the_watch_with_a_notice_in_flight() -> None:
    state = story.tell(Story("a Stop", [Tick(0, see(), "quiet nothing-open"), Tick(WEEK, see(UNIT), "stop lifetime")]))
    assert state.ended is verdicts.StopReason.LIFETIME
    assert state.in_flight is not None
    assert state.in_flight.current == states.Version(1, wakes.WakeType.NOTICE, "lifetime")
    assert not state.quiet_for_good


def test_a_start_in_the_future_becomes_now() -> None:
    state = story.tell(Story("back", [Tick(HOUR, see(), "quiet nothing-open"), Tick(60, see(), "quiet nothing-open")]))
    assert state.started == 60
