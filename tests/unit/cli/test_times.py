"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from colleague.cli.times import moment, relative

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("away", "told"),
    [
        (timedelta(0), "now"),
        (timedelta(milliseconds=-400), "now"),
        (timedelta(seconds=-59), "59 s ago"),
        (timedelta(seconds=-60), "1 min ago"),
        (timedelta(minutes=58, seconds=40), "in 59 min"),
        (timedelta(minutes=59, seconds=59), "in 1 h"),
        (timedelta(hours=7, minutes=59, seconds=58), "in 8 h"),
        (timedelta(hours=23, minutes=59, seconds=59), "in 1 day"),
        (timedelta(hours=-25), "1 day ago"),
        (timedelta(days=3), "in 3 days"),
    ],
)
def test_near_times_are_relative(away: timedelta, told: str) -> None:
    assert relative(NOW + away, NOW) == told


def test_far_times_are_dates() -> None:
    assert relative(NOW - timedelta(days=40), NOW).startswith("2026-01-2")


def test_other_programs_get_iso() -> None:
    assert moment("2026-03-01T11:00:00.000Z", NOW) == "2026-03-01T11:00:00.000Z"
