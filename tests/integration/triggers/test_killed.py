"""Schedules, with the process killed at every commit: a slot and its run are there together, once."""

from __future__ import annotations

import asyncio
from pathlib import Path

from colleague.store.sqlite import SqliteDatabase
from tests.integration.triggers.desk import Desk, cron
from tests.integration.triggers.ticking import KILLED, Place, tick

MINUTE = 60_000
POINTS = ("commit.before@1", "commit.after@1", "commit.before@2", "commit.after@2", "commit.before@3")


def test_a_kill_at_any_commit_neither_loses_nor_repeats_a_slot(desk: Desk, tmp_path: Path) -> None:
    async def begin() -> str:
        desk.employ(cron("* * * * *"), cron("*/2 * * * *", "other"))
        async with desk.open() as office:
            await office.tick()
            if isinstance(office.database, SqliteDatabase):
                return str(tmp_path / "state" / "colleague.sqlite")
            return str(getattr(office.database, "url"))  # noqa: B009 - the protocol has none

    async def look() -> tuple[list[int], list[int], int]:
        async with desk.open() as office:
            return await office.ran(), await office.ran("other"), len(await office.work())

    database = asyncio.run(begin())
    began, killed = desk.clock.now(), 0
    for number, point in enumerate(POINTS, start=1):
        desk.clock.move(seconds=60)
        place = Place(desk.home.root, database, desk.clock.now())
        killed += tick(place, point) == KILLED
        assert tick(place) == 0
        ticks, others, worked = asyncio.run(look())
        assert ticks == [began + MINUTE * each for each in range(1, number + 1)]
        assert others == [began + MINUTE * each for each in range(2, number + 1, 2)]
        assert worked == 1 + (number % 2 == 0), "each slot has a run that can be worked on"
    assert killed >= 3
