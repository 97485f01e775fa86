"""Durations are Go's."""

import fractions
import re

import hypothesis
import hypothesis.strategies as st
import pytest

from vigil.api import durations

NANOSECONDS = {
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "µs": 1_000,
    "ns": 1,
}
numbers = st.from_regex(r"[0-9]{1,6}(\.[0-9]{1,4})?", fullmatch=True, alphabet="0123456789.")
parts = st.lists(st.tuples(numbers, st.sampled_from(sorted(NANOSECONDS))), min_size=1, max_size=3)


def go(text: str) -> fractions.Fraction:
    """What Go's time.ParseDuration makes of a duration, in seconds, without rounding."""
    found = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)", text)
    exact = (fractions.Fraction(number) * NANOSECONDS[unit] for number, unit in found)
    return sum(exact, fractions.Fraction()) / 10**9


@hypothesis.given(parts)
def test_a_duration_is_as_long_as_go_says_to_the_microsecond(pieces: list[tuple[str, str]]) -> None:
    text = "".join(number + unit for number, unit in pieces)
    exact = go(text)
    if len(text) > durations.MAX_LENGTH or exact > durations.LONGEST_SECONDS:
        with pytest.raises(durations.DurationError):
            durations.parse(text)
    else:
        assert abs(fractions.Fraction(durations.parse(text)) - exact) <= fractions.Fraction(1, 10**6)


@hypothesis.given(st.integers(min_value=0, max_value=int(durations.LONGEST_SECONDS) * 10**6))
def test_what_is_rendered_is_parsed_back_to_the_microsecond(micros: int) -> None:
    text = durations.render(micros / 10**6)
    assert round(durations.parse(text) * 10**6) == micros


@hypothesis.given(st.text(max_size=40))
def test_any_other_text_is_refused_with_one_sentence(text: str) -> None:
    hypothesis.assume(not re.fullmatch(durations.PATTERN, text))
    with pytest.raises(durations.DurationError, match=re.escape(durations.SENTENCE)):
        durations.parse(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("0s", 0.0),
        ("90s", 90.0),
        ("10m", 600.0),
        ("1h30m", 5400.0),
        ("1.5h", 5400.0),
        ("30m1h", 5400.0),
        ("250ms", 0.25),
        ("168h", 604_800.0),
        ("87600h", durations.LONGEST_SECONDS),
        ("1ns", 0.0),
    ],
)
def test_a_usual_duration_has_its_seconds(text: str, seconds: float) -> None:
    assert durations.parse(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "m",
        "-5m",
        "+5m",
        "5 m",
        "5m ",
        "5m\n",
        "5d",
        "1w",
        "5M",
        ".5s",
        "5.s",
        "1.2.3s",
        "1e3s",
        "87601h",
        "٣s",
    ],
)
def test_what_the_pattern_refuses_is_refused(text: str) -> None:
    with pytest.raises(durations.DurationError):
        durations.parse(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.25, "0.25s"),
        (59.999999, "59.999999s"),
        (60.0, "1m"),
        (5400.0, "1h30m"),
        (604_800.0, "168h"),
        (-3.0, "0s"),
    ],
)
def test_a_length_of_time_is_rendered_shortly(seconds: float, text: str) -> None:
    assert durations.render(seconds) == text
