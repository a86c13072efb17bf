"""Daylight saving through a real gateway: three zones, both directions.

The facts, in local time and UTC:
  Berlin     2026-03-29 02:00 -> 03:00 at 01:00 UTC;  2026-10-25 03:00 -> 02:00 at 01:00 UTC
  New York   2026-03-08 02:00 -> 03:00 at 07:00 UTC;  2026-11-01 02:00 -> 01:00 at 06:00 UTC
  Lord Howe  2026-10-04 02:00 -> 02:30 on 03 15:30 UTC;  2026-04-05 02:00 -> 01:30 on 04 15:00 UTC

A time of day that is skipped fires when the clock has gone on; one that comes twice fires the first time;
what fires every half hour goes on every half hour."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from tests.integration.gateway.harness import House, package


@dataclass(frozen=True)
class Case:
    """Times in UTC: `day hour:minute` of the month in which it begins."""

    zone: str
    begins: str
    night: str
    """When the schedule `30 2 * * *` (Lord Howe: `15 2`, New York in autumn: `30 1`) fires."""
    morning: str
    """9:00 local time."""
    often: str
    """Every half hour in the local hours 1 to 3."""
    expression: str = "30 2 * * *"

    def moments(self, text: str) -> list[int]:
        month = self.begins[:8]
        found = (f"{month}{each.strip().replace(' ', 'T')}:00+00:00" for each in text.split(","))
        return [int(datetime.fromisoformat(each).timestamp() * 1000) for each in found]


CASES = {
    "berlin-spring": Case(
        "Europe/Berlin",
        "2026-03-28T22:00",
        "29 01:00, 30 00:30",
        "29 07:00",
        "29 00:00, 29 00:30, 29 01:00, 29 01:30, 30 00:00, 29 23:00, 29 23:30, 30 00:30, 30 01:00, 30 01:30",
    ),
    "berlin-autumn": Case(
        "Europe/Berlin",
        "2026-10-24T21:00",
        "25 00:30, 26 01:30",
        "25 08:00",
        "24 23:00, 24 23:30, 25 00:00, 25 00:30, 25 01:00, 25 01:30, 25 02:00, 25 02:30",
    ),
    "new-york-spring": Case(
        "America/New_York",
        "2026-03-08T04:00",
        "08 07:00, 09 06:30",
        "08 13:00",
        "08 06:00, 08 06:30, 08 07:00, 08 07:30",
    ),
    "new-york-autumn": Case(
        "America/New_York",
        "2026-11-01T03:00",
        "01 05:30, 02 06:30",
        "01 14:00",
        "01 05:00, 01 05:30, 01 06:00, 01 06:30, 01 07:00, 01 07:30, 01 08:00, 01 08:30",
        "30 1 * * *",
    ),
    "lord-howe-spring": Case(
        "Australia/Lord_Howe",
        "2026-10-03T13:00",
        "03 15:30, 04 15:15",
        "03 22:00",
        "03 14:30, 03 15:00, 03 15:30, 03 16:00, 03 16:30",
        "15 2 * * *",
    ),
    "lord-howe-autumn": Case(
        "Australia/Lord_Howe",
        "2026-04-04T13:00",
        "04 14:45, 05 15:15",
        "04 22:30",
        "04 14:00, 04 14:30, 04 15:00, 04 15:30, 04 16:00, 04 16:30, 04 17:00",
        "45 1 * * *",
    ),
}


def triggers(case: Case) -> list[dict[str, str]]:
    written = {"night": case.expression, "morning": "0 9 * * *", "often": "*/30 1-3 * * *"}
    return [
        {"name": name, "type": "cron", "expr": text, "tz": case.zone, "process": "work"}
        for name, text in written.items()
    ]


def fired(house: House) -> dict[str, list[int]]:
    """The times of each trigger that have a run."""
    connection = sqlite3.connect(house.home.database_file, timeout=120)
    try:
        found = connection.execute(
            "SELECT slots.trigger_name, slot FROM slots JOIN events ON events.id = event_id "
            "WHERE slots.expert = 'timed' AND events.run_id IS NOT NULL ORDER BY slot"
        ).fetchall()
    finally:
        connection.close()
    return {name: [slot for other, slot in found if other == name] for name in ("night", "morning", "often")}


def told(moments: list[int]) -> list[str]:
    return [datetime.fromtimestamp(each / 1000, UTC).strftime("%d %H:%M") for each in moments]


@pytest.mark.parametrize("name", CASES)
def test_each_time_of_the_day_comes_once(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    clock = MovableClock(int(datetime.fromisoformat(f"{case.begins}+00:00").timestamp() * 1000))
    house = House(tmp_path / "home").furnish()
    limits = {each: {"max_queued": 100} for each in ("night", "morning", "often")}
    house.install(package("timed", triggers(case)), {"triggers": limits, "model": "script/play.yaml"})
    wanted = {each: sorted(case.moments(getattr(case, each))) for each in ("night", "morning", "often")}
    with house.open(clock=clock) as gateway:
        gateway.until(lambda: _is_looked_at(house))
        for moment in sorted({each for moments in wanted.values() for each in moments}):
            clock.move(seconds=(moment - clock.now()) / 1000)
            due = {each: [slot for slot in slots if slot <= moment] for each, slots in wanted.items()}
            gateway.until(lambda due=due: all(set(due[each]) <= set(fired(house)[each]) for each in due))
    found = fired(house)
    last = max(wanted["often"])
    assert told(found["night"]) == told(wanted["night"])
    assert told(found["morning"]) == told(wanted["morning"])
    assert told([each for each in found["often"] if each <= last]) == told(wanted["often"])


def _is_looked_at(house: House) -> bool:
    """From the first look on times count."""
    connection = sqlite3.connect(house.home.database_file, timeout=120)
    try:
        query = "SELECT count(*) FROM triggers WHERE expert = 'timed' AND last_slot IS NOT NULL"
        return bool(connection.execute(query).fetchone()[0] == 3)
    finally:
        connection.close()
