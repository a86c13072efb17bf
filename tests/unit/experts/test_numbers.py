"""What a number may mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from colleague.experts.privacy.numbers import amounts, groups_of, value_of


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("1200", ["1200"]),
        ("1,200", ["1200"]),
        ("1'200", ["1200"]),
        ("1200.00", ["1200"]),
        ("1,200.00", ["1200"]),
        ("1.200,00", ["1200"]),
        ("1.200", ["1.2", "1200"]),
        ("1,200,000", ["1200000"]),
        ("350.00", ["350"]),
        ("12,50", ["12.5", "12", "50"]),
        ("300,500", ["300500", "300", "500"]),
        ("0300", ["300"]),
        ("0.05", ["0.05"]),
        ("10k", ["10000"]),
        ("1.25k", ["1250"]),
        ("0.0005k", ["0.5"]),
        ("1200eur", []),
        ("0", []),
        ("0.00", []),
        ("127.0.0.1", []),
        ("2031-05-01", []),
        ("12ab", []),
        ("", []),
        ("'", []),
    ],
)
def test_meanings(written: str, values: list[str]) -> None:
    assert [amount.value for amount in amounts(written)] == values


@pytest.mark.parametrize(
    ("written", "telling"),
    [("12", False), ("99", False), ("100", True), ("012", False), ("12.00", True), ("1.5", True)],
)
def test_three_digits_or_a_decimal_part_tell_something(written: str, telling: bool) -> None:
    assert [amount.telling for amount in amounts(written)] == [telling]


@given(st.integers(1000, 10**12), st.integers(0, 99))
def test_every_way_of_writing_has_one_value(whole: int, cents: int) -> None:
    grouped = f"{whole:,}"
    ways = [f"{whole}.{cents:02}", f"{grouped}.{cents:02}", f"{grouped.replace(',', '.')},{cents:02}"]
    ways.append(f"{grouped}.{cents:02}".replace(",", "'"))
    assert len({value_of(way) for way in ways}) == 1
    assert groups_of(str(whole)) == tuple(grouped.split(","))


@given(st.text("0123456789.,'k", max_size=30))
def test_no_number_is_too_odd(written: str) -> None:
    assert all(value_of(amount.value) == amount.value for amount in amounts(written))
