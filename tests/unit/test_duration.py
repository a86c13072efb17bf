from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.duration import Duration, parse_duration, parse_positive_duration

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("1d", 86400), ("90m", 5400), ("999999999s", 999_999_999)],
)
def test_durations_of_the_spec(text: str, seconds: int) -> None:
    assert parse_duration(text) == Duration(text, seconds)


@pytest.mark.parametrize("text", [" 5m ", "5 m", "05m", "005m"])
def test_it_is_told_in_one_way(text: str) -> None:
    assert str(parse_duration(text)) == "5m"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "m",
        "5M",
        "5 minutes",
        "5min",
        "1h30m",
        "-5m",
        "+5m",
        "5.5m",
        "1_0s",
        "1e3s",
        "5ms",
        "0x5s",
        "9" * 10 + "s",
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration; write a number and a unit, such as 30s") as error:
        parse_duration(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize("text", ["0s", "00m", "0d"])
def test_no_time_at_all_is_refused_where_it_makes_no_sense(text: str) -> None:
    assert parse_duration(text).seconds == 0
    with pytest.raises(ValueError, match="write at least 1s"):
        parse_positive_duration(text)


@given(number=st.integers(1, 999_999_999), unit=st.sampled_from(list(UNITS)))
def test_number_times_unit(number: int, unit: str) -> None:
    assert parse_duration(f"{number}{unit}").seconds == number * UNITS[unit]


@given(st.text(max_size=20))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        duration = parse_duration(text)
    except ValueError:
        return
    assert duration.seconds > 0


def test_it_counts_in_milliseconds_too() -> None:
    assert parse_duration("2m").milliseconds == 120_000
