"""Schedules, checked against dates that can be checked by eye."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from colleague.packages.cron import check_zone, parse_cron

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)  # a Thursday


def fires(expression: str, after: datetime = NEW_YEAR, count: int = 3, zone: str = "UTC") -> list[str]:
    times = islice(parse_cron(expression, zone).after(after), count)
    return [time.strftime("%Y-%m-%d %H:%M:%S %z") for time in times]


def test_five_fields() -> None:
    assert fires("0 8 * * 1-5") == [
        "2026-01-01 08:00:00 +0000",
        "2026-01-02 08:00:00 +0000",
        "2026-01-05 08:00:00 +0000",
    ]


def test_six_fields_begin_with_seconds() -> None:
    assert fires("*/20 30 8 * * *") == [
        "2026-01-01 08:30:00 +0000",
        "2026-01-01 08:30:20 +0000",
        "2026-01-01 08:30:40 +0000",
    ]


@pytest.mark.parametrize(
    ("nickname", "expression"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 1 *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 0"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "0 0 * * *"),
        ("@hourly", "0 * * * *"),
        (" @Daily ", "0 0 * * *"),
    ],
)
def test_nicknames(nickname: str, expression: str) -> None:
    assert parse_cron(nickname).text == expression
    assert fires(nickname) == fires(expression)


def test_names_of_days_and_months() -> None:
    assert fires("0 0 1 feb mon-fri", count=2) == ["2026-02-01 00:00:00 +0000", "2026-02-02 00:00:00 +0000"]


def test_blanks_do_not_matter() -> None:
    assert parse_cron("  0   8 * *\t1 ").text == "0 8 * * 1"


def test_the_first_time_is_later_than_the_moment() -> None:
    at_eight = datetime(2026, 1, 1, 8, tzinfo=UTC)
    assert fires("0 8 * * *", at_eight, 1) == ["2026-01-02 08:00:00 +0000"]


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("   ", 0), ("0 8 * *", 4), ("0 0 8 * * 1 2026", 7), ("@reboot", 1), ("daily", 1)],
)
def test_a_wrong_number_of_fields_is_counted(text: str, count: int) -> None:
    with pytest.raises(
        ValueError, match=f"has {count} fields; a cron expression has 5 .*or 6 with seconds first"
    ):
        parse_cron(text)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("60 8 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 0 32 * *", "day-of-month"),
        ("0 0 0 * *", "day-of-month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * * 8", "day-of-week"),
        ("60 0 8 * * *", "second"),
        ("*/0 * * * *", "minute"),
        ("5-1 * * * *", "minute"),
        ("-1 * * * *", "minute"),
        ("a b c d e", "minute"),
        ("0 8 ? * *", "day-of-month"),
    ],
)
def test_the_bad_field_is_named(text: str, field: str) -> None:
    with pytest.raises(ValueError, match=f"is no cron expression: bad {field} field"):
        parse_cron(text)


@pytest.mark.parametrize(
    "text",
    [
        "0 8 30 2 *",  # February
        "0 8 31 4,6,9,11 *",  # the short months
        "0 0 8 31 2 *",
        "0 0 */15 * 1#2",  # days 1, 16 and 31; the second Monday is one of 8 to 14
        "0 0 */30 2 1#5",  # the fifth Monday of a February is the 29th
    ],
)
def test_what_matches_no_date_never_fires(text: str) -> None:
    cron = parse_cron(text)
    assert not cron.fires
    assert list(cron.after(NEW_YEAR)) == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("0 0 29 2 *", "2028-02-29 00:00:00 +0000"),
        ("0 0 31 4 1", "2026-04-06 00:00:00 +0000"),  # the day or the weekday
        ("0 0 * 2 MON#5", "2044-02-29 00:00:00 +0000"),
        ("0 0 L * *", "2026-01-31 00:00:00 +0000"),
    ],
)
def test_what_is_rare_still_fires(text: str, first: str) -> None:
    assert parse_cron(text).fires
    assert fires(text, count=1) == [first]


class TestDaylightSavingInBerlin:
    """2026-03-29: 02:00 becomes 03:00, so 02:30 does not exist.
    2026-10-25: 03:00 becomes 02:00, so 02:30 comes twice."""

    ZONE = "Europe/Berlin"

    def fires(self, expression: str, after: datetime, count: int) -> list[str]:
        return fires(expression, after, count, self.ZONE)

    def test_eight_in_the_morning_stays_eight(self) -> None:
        assert self.fires("0 8 * * *", datetime(2026, 3, 28, tzinfo=UTC), 2) == [
            "2026-03-28 08:00:00 +0100",
            "2026-03-29 08:00:00 +0200",
        ]

    def test_a_time_that_is_skipped_fires_when_the_clock_goes_on(self) -> None:
        assert self.fires("30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), 2) == [
            "2026-03-29 03:00:00 +0200",
            "2026-03-30 02:30:00 +0200",
        ]

    def test_a_time_that_comes_twice_fires_once(self) -> None:
        assert self.fires("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), 2) == [
            "2026-10-25 02:30:00 +0200",
            "2026-10-26 02:30:00 +0100",
        ]

    def test_every_half_hour_goes_on_through_both_hours(self) -> None:
        assert self.fires("*/30 * * * *", datetime(2026, 10, 25, 0, 15, tzinfo=UTC), 4) == [
            "2026-10-25 02:30:00 +0200",
            "2026-10-25 02:00:00 +0100",
            "2026-10-25 02:30:00 +0100",
            "2026-10-25 03:00:00 +0100",
        ]


def test_the_moment_may_be_in_another_zone() -> None:
    """08:00 in Sydney on 2 January is 21:00 UTC the day before (+11:00 in summer)."""
    (first,) = islice(parse_cron("0 8 * * *", "Australia/Sydney").after(NEW_YEAR), 1)
    assert first == datetime(2026, 1, 1, 21, tzinfo=UTC)
    assert first.tzinfo == ZoneInfo("Australia/Sydney")


@pytest.mark.parametrize(
    "zone", ["UTC", "Europe/Berlin", "Australia/Sydney", "America/Argentina/Ushuaia", "Asia/Kolkata"]
)
def test_iana_zones(zone: str) -> None:
    check_zone(zone)


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Berlin",
        "Europe",
        "Mars/Olympus",
        "../etc/passwd",
        "/etc/localtime",
        "a\0b",
        "a" * 5000,
        "GMT+25",
        "UTC ",
        "é",
    ],
)
def test_what_is_no_zone(zone: str) -> None:
    with pytest.raises(ValueError, match="is no IANA time zone; write one such as Europe/Berlin or UTC"):
        check_zone(zone)


FIELD = st.text("0123456789*/-,#LW?MONJAN ", max_size=8)


@given(st.lists(FIELD, min_size=5, max_size=6).map(" ".join))
@settings(max_examples=200)
def test_any_text_is_a_schedule_or_a_value_error(text: str) -> None:
    try:
        cron = parse_cron(text)
    except ValueError:
        return
    assert cron.fires == bool(list(islice(cron.after(NEW_YEAR), 1)))


@given(st.text(max_size=30))
def test_any_text_is_a_zone_or_a_value_error(zone: str) -> None:
    try:
        check_zone(zone)
    except ValueError:
        return
    ZoneInfo(zone)
