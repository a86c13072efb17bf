"""A real gateway on a machine whose clock is moved: no time of a schedule is lost, and none comes twice."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import DOUBT_MS
from tests.integration.gateway.harness import House, Running, package
from tests.watch import START, Watch

HOUR, DAY = 3600, 86_400
HOURLY = {"name": "hourly", "type": "cron", "expr": "0 * * * *", "process": "work"}
BINDINGS = {"triggers": {"hourly": {"max_queued": 1000}}, "model": "script/play.yaml"}


@pytest.fixture
def house(tmp_path: Path) -> House:
    made = House(tmp_path / "home").furnish()
    made.install(package("timed", [HOURLY]), BINDINGS)
    return made


def rows(house: House, sql: str) -> list[Any]:
    connection = sqlite3.connect(house.home.database_file, timeout=120)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def settled(house: House) -> list[tuple[int, bool]]:
    """Hours since the start of the watch, and whether each has run."""
    found = rows(
        house,
        "SELECT slot, events.run_id FROM slots JOIN events ON events.id = event_id "
        "WHERE slots.expert = 'timed' ORDER BY slot",
    )
    return [((slot - START) // (HOUR * 1000), run is not None) for slot, run in found]


def go_on(house: House, gateway: Running, watch: Watch, hours: range) -> None:
    """Time passes hour by hour; each hour fires when it comes, once."""
    for hour in hours:
        watch.passes(seconds=HOUR)
        gateway.until(lambda hour=hour: (hour, True) in settled(house))
    ran = [hour for hour, has_run in settled(house) if has_run]
    assert len(ran) == len(set(ran))
    assert set(hours) <= set(ran)


def test_ahead_for_six_seconds_no_time_of_the_days_between_is_lost(house: House) -> None:
    watch = Watch()
    with house.open(clock=watch.clock()) as gateway:
        watch.is_read()
        go_on(house, gateway, watch, range(1, 3))
        watch.moves(days=3)
        for _ in range(6):
            watch.passes(seconds=1)
            watch.is_read(10)
        assert "moved 3.0 days ahead" in " ".join(gateway.get("/api/status").json()["problems"])
        watch.moves(days=-3)
        watch.is_read()
        assert settled(house) == [(1, True), (2, True)]
        go_on(house, gateway, watch, range(3, 6))
        assert [hour for hour, _ in settled(house)] == [1, 2, 3, 4, 5]
        assert gateway.get("/api/status").json()["problems"] == []


def test_ahead_for_good_it_is_believed_and_the_missed_times_are_told(house: House) -> None:
    watch = Watch()
    with house.open(clock=watch.clock()) as gateway:
        watch.is_read()
        watch.moves(days=1)
        watch.is_read()
        watch.passes(seconds=DOUBT_MS / 1000)
        gateway.until(lambda: (24, True) in settled(house))
        assert settled(house) == [*((hour, False) for hour in range(1, 24)), (24, True)]


def test_off_for_two_days_is_caught_up_also_when_the_clock_is_wrong_at_the_start(house: House) -> None:
    watch = Watch()
    with house.open(clock=watch.clock()) as gateway:
        watch.is_read()
        go_on(house, gateway, watch, range(1, 2))
    watch.passes(seconds=2 * DAY)
    watch.moves(days=40)
    with house.open(clock=watch.clock()) as gateway:
        gateway.until(lambda: (49, True) in settled(house))
        watch.is_read()
        watch.moves(days=-40)
        go_on(house, gateway, watch, range(50, 52))
    assert [hour for hour, _ in settled(house)] == list(range(1, 52))
    assert rows(house, "SELECT count(*) FROM runs WHERE expert = 'timed'") == [(5,)], (
        "retention went by the wrong clock"
    )


def test_what_a_wrong_clock_settled_at_a_boot_is_taken_back(house: House) -> None:
    """Nobody could know that it was wrong: the machine was started anew."""
    watch = Watch()
    with house.open(clock=watch.clock("one boot")) as gateway:
        watch.is_read()
        go_on(house, gateway, watch, range(1, 2))
    watch.passes(seconds=2 * HOUR)
    watch.moves(days=2)
    with house.open(clock=watch.clock("another boot")) as gateway:
        gateway.until(lambda: (51, True) in settled(house))
        watch.moves(days=-2)
        watch.is_read()
        watch.passes(seconds=DOUBT_MS / 1000)
        gateway.until(lambda: (49, False) not in settled(house))
        assert settled(house) == [(1, True), (2, False), (3, False), (50, True), (51, True)]
        go_on(house, gateway, watch, range(4, 6))
    withdrawn = rows(house, "SELECT count(*) FROM events WHERE reason LIKE 'withdrawn: the clock was ahead%'")
    assert withdrawn[0][0] > 40
