"""Schedules: against cronsim itself, against clocks that can be checked by eye, and after a long sleep."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from colleague.duration import parse_duration
from colleague.experts.bindings import CatchUp, CatchUpPolicy
from colleague.packages.cron import parse_cron
from colleague.triggers.schedule import (
    GRACE_MS,
    MOST_COUNTED,
    MOST_FIRED,
    MOST_LISTED,
    Due,
    MissedSlots,
    due,
    next_slot,
    slots,
    without_settled,
)

ZONES = ["UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Australia/Sydney"]
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def at(text: str) -> int:
    """`2026-01-01 08:00 +0100`, in milliseconds."""
    form = "%Y-%m-%d %H:%M %z" if text.count(":") == 1 else "%Y-%m-%d %H:%M:%S %z"
    return int(datetime.strptime(text, form).timestamp()) * 1000


def shown(found: list[int] | tuple[int, ...], zone: str) -> list[str]:
    times = [datetime.fromtimestamp(slot / 1000, ZoneInfo(zone)) for slot in found]
    return [each.strftime("%Y-%m-%d %H:%M %z") for each in times]


def policy(name: CatchUpPolicy, window: str = "1h") -> CatchUp:
    return CatchUp(parse_duration(window), name)


def some(low: int, high: int) -> st.SearchStrategy[str]:
    """A few values, a range, a step, or any."""
    number = st.integers(low, high)
    return st.one_of(
        st.just("*"),
        number.map(str),
        st.lists(number, min_size=1, max_size=3).map(lambda each: ",".join(map(str, each))),
        st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}"),
        st.integers(2, max(2, high // 2)).map("*/{}".format),
    )


FIVE = st.tuples(some(0, 59), some(0, 23), some(1, 28), some(1, 12), some(0, 6)).map(" ".join)
EXPRESSIONS = st.one_of(FIVE, FIVE, st.tuples(some(0, 59), FIVE).map(" ".join))
YEAR = datetime(2026, 1, 1, tzinfo=UTC)
MOMENTS = st.integers(0, 365 * 86_400).map(lambda seconds: YEAR + timedelta(seconds=seconds))


class TestSlots:
    @given(EXPRESSIONS, st.sampled_from(ZONES), MOMENTS)
    @settings(max_examples=100)
    def test_they_are_cronsims(self, expression: str, zone: str, start: datetime) -> None:
        end = YEAR + timedelta(days=365)
        times = (each.timestamp() for each in CronSim(expression, start.astimezone(ZoneInfo(zone))))
        expected = [
            int(each) * 1000
            for _, each in zip(range(200), takewhile(end.timestamp().__ge__, times), strict=False)
        ]
        after, until = int(start.timestamp()) * 1000, int(end.timestamp()) * 1000
        # Begun within the hour that comes twice, cronsim goes back to the first of the two.
        assume(expected == sorted(set(expected)) and all(slot > after for slot in expected))
        assert slots(parse_cron(expression, zone), after, until, 200) == expected

    @pytest.mark.parametrize("zone", ZONES)
    @pytest.mark.parametrize(
        "expression", ["30 2 * * *", "*/20 1-3 * * *", "15 0-3 * * 0", "0 0 1 * *", "5 0 2 * * *"]
    )
    def test_a_whole_year(self, expression: str, zone: str) -> None:
        end = YEAR + timedelta(days=365)
        times = CronSim(expression, YEAR.astimezone(ZoneInfo(zone)))
        expected = [int(each.timestamp()) * 1000 for each in takewhile(lambda each: each <= end, times)]
        after, until = int(YEAR.timestamp()) * 1000, int(end.timestamp()) * 1000
        found = slots(parse_cron(expression, zone), after, until, 100_000)
        assert found == expected
        assert len(found) > 11

    @given(EXPRESSIONS, st.sampled_from(ZONES), MOMENTS, st.integers(0, 3 * DAY))
    @settings(max_examples=150)
    def test_it_does_not_matter_where_one_begins(
        self, expression: str, zone: str, start: datetime, offset: int
    ) -> None:
        cron, first = parse_cron(expression, zone), int(start.timestamp()) * 1000
        middle = first + offset
        before, after = slots(cron, first, middle, 50), slots(cron, middle, middle + 90 * DAY, 20)
        assume(len(before) < 50)
        assert slots(cron, first, middle + 90 * DAY, len(before) + 20) == before + after

    def test_the_bounds(self) -> None:
        cron, eight = parse_cron("0 8 * * *"), at("2026-01-01 08:00 +0000")
        assert slots(cron, eight, eight + DAY, 9) == [eight + DAY]
        assert slots(cron, eight - 1, eight + DAY - 1, 9) == [eight]
        assert slots(cron, eight - 1, eight + DAY, 1) == [eight]
        assert slots(cron, eight, eight - DAY, 9) == []
        assert slots(cron, eight, eight + DAY, 0) == []

    def test_the_next_one(self) -> None:
        eight = at("2026-01-01 08:00 +0000")
        assert next_slot(parse_cron("0 8 * * *"), eight - 1) == eight
        assert next_slot(parse_cron("0 8 * * *"), eight) == eight + DAY
        assert next_slot(parse_cron("0 8 30 2 *"), eight) is None

    @pytest.mark.parametrize("moment", [253_402_300_799_000, 10**17, -(10**17), 10**30])
    def test_beyond_the_calendar_there_is_nothing(self, moment: int) -> None:
        assert next_slot(parse_cron("0 8 * * *"), moment) is None


class TestDaylightSavingInBerlin:
    """2026-03-29: 02:00 +0100 becomes 03:00 +0200, so 02:30 does not exist.
    2026-10-25: 03:00 +0200 becomes 02:00 +0100, so 02:30 comes twice."""

    ZONE = "Europe/Berlin"

    def found(self, expression: str, after: str, count: int) -> list[str]:
        moment = at(after)
        return shown(slots(parse_cron(expression, self.ZONE), moment, moment + 9 * DAY, count), self.ZONE)

    def test_a_time_that_is_skipped_fires_when_the_clock_goes_on(self) -> None:
        expected = ["2026-03-28 02:30 +0100", "2026-03-29 03:00 +0200", "2026-03-30 02:30 +0200"]
        assert self.found("30 2 * * *", "2026-03-27 12:00 +0100", 3) == expected
        assert self.found("30 2 * * *", "2026-03-29 01:59:59 +0100", 2) == expected[1:]
        assert self.found("30 2 * * *", "2026-03-29 03:00 +0200", 1) == expected[2:]

    def test_a_time_that_comes_twice_fires_once(self) -> None:
        expected = ["2026-10-25 02:30 +0200", "2026-10-26 02:30 +0100"]
        assert self.found("30 2 * * *", "2026-10-24 12:00 +0200", 2) == expected

    @pytest.mark.parametrize("again", ["02:00", "02:10", "02:30", "02:59:59"])
    def test_begun_in_the_second_hour_it_does_not_fire_again(self, again: str) -> None:
        assert self.found("30 2 * * *", f"2026-10-25 {again} +0100", 1) == ["2026-10-26 02:30 +0100"]

    def test_every_half_hour_goes_on_through_both_hours(self) -> None:
        assert self.found("*/30 * * * *", "2026-10-25 02:15 +0200", 4) == [
            "2026-10-25 02:30 +0200",
            "2026-10-25 02:00 +0100",
            "2026-10-25 02:30 +0100",
            "2026-10-25 03:00 +0100",
        ]

    def test_missed_on_that_night_it_is_caught_up_once(self) -> None:
        cron, last = parse_cron("30 2 * * *", self.ZONE), at("2026-10-24 02:30 +0200")
        now = at("2026-10-25 02:45 +0100")
        assert shown(due(cron, policy("all", "2h"), last, now).fire, self.ZONE) == ["2026-10-25 02:30 +0200"]
        settled = at("2026-10-25 02:30 +0200")
        assert due(cron, policy("all", "2h"), settled, now) == Due()


class TestDaylightSavingElsewhere:
    def test_half_an_hour_on_lord_howe(self) -> None:
        """2026-04-05: 02:00 +1100 becomes 01:30 +1030, so 01:45 comes twice.
        2026-10-04: 02:00 +1030 becomes 02:30 +1100, so 02:15 does not exist."""
        cron, zone = parse_cron("45 1 * * *", "Australia/Lord_Howe"), "Australia/Lord_Howe"
        start = at("2026-04-04 12:00 +1100")
        assert shown(slots(cron, start, start + 2 * DAY, 2), zone) == [
            "2026-04-05 01:45 +1100",
            "2026-04-06 01:45 +1030",
        ]
        cron, start = parse_cron("15 2 * * *", zone), at("2026-10-03 12:00 +1030")
        assert shown(slots(cron, start, start + 2 * DAY, 2), zone) == [
            "2026-10-04 02:30 +1100",
            "2026-10-05 02:15 +1100",
        ]

    def test_a_day_without_midnight_in_havana(self) -> None:
        """2026-03-08: 00:00 -0500 becomes 01:00 -0400."""
        cron, zone = parse_cron("0 0 * * *", "America/Havana"), "America/Havana"
        start = at("2026-03-07 12:00 -0500")
        assert shown(slots(cron, start, start + 3 * DAY, 2), zone) == [
            "2026-03-08 01:00 -0400",
            "2026-03-09 00:00 -0400",
        ]


class TestDue:
    HOURLY = parse_cron("0 * * * *")
    NOON = at("2026-01-01 12:00 +0000")

    def test_nothing_yet(self) -> None:
        assert due(self.HOURLY, policy("once"), self.NOON, self.NOON + HOUR - 1) == Due()
        assert due(self.HOURLY, policy("once"), self.NOON, self.NOON + HOUR - 1).newest is None

    @pytest.mark.parametrize("name", ["once", "all", "skip"])
    @pytest.mark.parametrize("late", [0, 1, GRACE_MS])
    def test_on_time_it_fires_whatever_the_policy(self, name: CatchUpPolicy, late: int) -> None:
        one = self.NOON + HOUR
        found = due(self.HOURLY, policy(name, "1s"), self.NOON, one + late)
        assert found == Due(fire=(one,))
        assert found.newest == one

    @pytest.mark.parametrize(
        ("name", "fire", "missed"),
        [("once", [4], [1, 2, 3]), ("all", [2, 3, 4], [1]), ("skip", [], [1, 2, 3, 4])],
    )
    def test_after_a_sleep(self, name: CatchUpPolicy, fire: list[int], missed: list[int]) -> None:
        """Asleep from 12:00 to 16:30; the window reaches back to 13:30."""
        found = due(self.HOURLY, policy(name, "3h"), self.NOON, self.NOON + 4 * HOUR + 30 * MINUTE)
        assert found.fire == tuple(self.NOON + hours * HOUR for hours in fire)
        assert found.missed == tuple(self.NOON + hours * HOUR for hours in missed)
        assert found.gap is None
        assert found.newest == self.NOON + 4 * HOUR

    def test_a_slot_on_time_fires_beside_the_one_caught_up(self) -> None:
        found = due(self.HOURLY, policy("once", "3h"), self.NOON, self.NOON + 3 * HOUR + 5 * SECOND)
        assert found.fire == (self.NOON + 2 * HOUR, self.NOON + 3 * HOUR)
        assert found.missed == (self.NOON + HOUR,)

    def test_what_is_older_than_the_window_is_missed(self) -> None:
        daily, eight = parse_cron("0 8 * * *"), at("2026-01-01 08:00 +0000")
        edge = eight + DAY + HOUR
        assert due(daily, policy("once"), eight, edge) == Due(fire=(eight + DAY,))
        assert due(daily, policy("once"), eight, edge + 1) == Due(missed=(eight + DAY,))

    def test_a_clock_that_goes_back_makes_no_slot_twice(self) -> None:
        fired: list[int] = []
        last, now = self.NOON, self.NOON
        for move in (HOUR, -2 * HOUR, HOUR, 30 * MINUTE, 31 * MINUTE, -DAY, DAY, HOUR):
            now += move
            found = due(self.HOURLY, policy("all", "1d"), last, now)
            fired += found.fire
            last = found.newest or last
        assert fired == [self.NOON + hours * HOUR for hours in (1, 2)]

    def test_a_schedule_that_never_fires(self) -> None:
        assert due(parse_cron("0 8 30 2 *"), policy("all", "365d"), 0, self.NOON) == Due()

    @pytest.mark.parametrize("name", ["once", "all", "skip"])
    @pytest.mark.parametrize("expression", ["* * * * * *", "* * * * *", "* * * * 1 *", "0 3 * * *"])
    def test_years_asleep_are_a_moments_work(self, name: CatchUpPolicy, expression: str) -> None:
        last, now = self.NOON - 5 * 365 * DAY, self.NOON + 30 * MINUTE
        cron = parse_cron(expression, "Europe/Berlin")
        began = time.process_time()
        found = due(cron, policy(name, "365d"), last, now)
        assert time.process_time() - began < 20
        assert len(found.fire) <= MOST_FIRED + GRACE_MS // 1000 + 1
        assert len(found.missed) == MOST_LISTED
        assert found.gap is not None
        assert last < found.gap.first < found.gap.last < found.missed[0]
        assert (found.gap.count == MOST_COUNTED) != found.gap.exact

    def test_the_gap_is_counted_as_far_as_it_goes(self) -> None:
        """365 days: one fires, 100 are listed, the rest is one gap."""
        daily, first = parse_cron("0 8 * * *"), at("2026-01-01 08:00 +0000")
        found = due(daily, policy("once"), first - 1, first + 364 * DAY + MINUTE)
        assert found.fire == (first + 364 * DAY,)
        assert found.missed[0] == first + 264 * DAY
        assert found.gap == MissedSlots(first, first + 263 * DAY, 264, exact=True)

    @given(
        EXPRESSIONS,
        st.sampled_from(ZONES),
        MOMENTS,
        st.integers(0, 40 * DAY),
        st.sampled_from(["once", "all", "skip"]),
        st.sampled_from(["1s", "10m", "1h", "1d", "30d"]),
    )
    @settings(max_examples=120)
    def test_every_slot_has_exactly_one_fate(
        self, expression: str, zone: str, start: datetime, asleep: int, name: CatchUpPolicy, window: str
    ) -> None:
        cron, last = parse_cron(expression, zone), int(start.timestamp()) * 1000
        now = last + asleep
        every = slots(cron, last, now, 3000)
        assume(len(every) < 3000)
        found = due(cron, policy(name, window), last, now)
        in_gap = [slot for slot in every if found.gap and slot <= found.gap.last]
        assert [*in_gap, *sorted([*found.missed, *found.fire])] == every
        assert len(in_gap) == (found.gap.count if found.gap else 0)
        reach = now - parse_duration(window).seconds * 1000
        caught_up = [slot for slot in every if reach <= slot < now - GRACE_MS]
        expected = {"once": caught_up[-1:], "all": caught_up[-MOST_FIRED:], "skip": []}[name]
        assert list(found.fire) == expected + [slot for slot in every if slot >= now - GRACE_MS]
        assert found.newest == (every[-1] if every else None)


@pytest.mark.parametrize(
    ("settled", "left"),
    [
        ([], (1, 10, 10)),
        ([3, 5], (1, 10, 8)),
        ([1, 2, 9, 10], (3, 8, 6)),
        ([2, 3, 4, 5, 6, 7, 8, 9, 10], (1, 1, 1)),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], (10, 10, 1)),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], None),
    ],
)
def test_a_gap_without_times_of_their_own(settled: list[int], left: tuple[int, int, int] | None) -> None:
    """Minutes after midnight."""
    start = at("2026-01-01 00:00 +0000")
    gap = MissedSlots(start + MINUTE, start + 10 * MINUTE, 10, exact=True)
    newest_first = [start + minute * MINUTE for minute in sorted(settled, reverse=True)]
    found = without_settled(parse_cron("* * * * *", "UTC"), gap, newest_first)
    if left is None:
        assert found is None
    else:
        first, last, count = left
        assert found == MissedSlots(start + first * MINUTE, start + last * MINUTE, count, exact=True)
