"""Schedules: each time once, whoever looks and however often; what is missed has a row that says so."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import SystemClock, iso
from colleague.store import sqlite as store_sqlite
from colleague.store.retention import forget_old
from colleague.store.schedules import trigger_states
from colleague.store.sqlite import SqliteDatabase
from colleague.triggers import scheduler
from colleague.triggers.intake import CRON_QUEUE
from colleague.triggers.schedule import GRACE_MS, MOST_LISTED
from colleague.triggers.trigger_list import trigger_documents
from tests.integration.store.test_outage import unwritable
from tests.integration.triggers.desk import Desk, Office, cron, webhook

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
MISSED = "missed: nothing ran at that time"


async def start(office: Office) -> int:
    """The first look, from which on times count; when it was."""
    await office.tick()
    return int(office.desk.clock.now())


class TestOnce:
    def test_each_time_fires_once_however_often_anyone_looks(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"))
            async with desk.open() as office:
                began = await start(office)
                for _ in range(5):
                    desk.clock.move(seconds=60)
                    assert [await office.tick() for _ in range(3)] == [1, 0, 0]
                    await office.work()
                assert await office.ran() == [began + MINUTE * number for number in range(1, 6)]

        asyncio.run(acts())

    def test_two_that_look_in_the_same_moment_start_one_run(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"), cron("*/2 * * * *", "other"))
            async with desk.open() as one, desk.open() as other:
                second = other if one.database.shared else one
                await start(one)
                for _ in range(6):
                    desk.clock.move(seconds=60)
                    await asyncio.gather(one.tick(), second.tick(), one.tick(), second.tick())
                    await one.work()
                assert (len(await one.ran()), len(await one.ran("other"))) == (6, 3)
                assert await one.count() == 9

        asyncio.run(acts())

    def test_a_restart_neither_repeats_nor_forgets(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"))
            began = 0
            for number in range(5):
                async with desk.open() as office:
                    began = began or await start(office)
                    await office.tick()
                    desk.clock.move(seconds=20 if number % 2 else 60)
                    await office.tick()
                    await office.work()
            async with desk.open() as office:
                slots = [slot for slot, _ in await office.settled()]
                assert slots == list(range(began + MINUTE, desk.clock.now() + 1, MINUTE))

        asyncio.run(acts())

    def test_nothing_is_missed_by_who_is_newly_enabled(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"), enabled=False)
            async with desk.open() as office:
                assert await office.tick() == 0
                desk.clock.move(days=3)
                desk.enable()
                assert await office.tick() == 0
                desk.clock.move(seconds=60)
                assert await office.tick() == 1
                assert len(await office.settled()) == 1

        asyncio.run(acts())

    def test_nothing_is_missed_while_it_was_disabled(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("0 * * * *"))
            async with desk.open() as office:
                await start(office)
                desk.enable(enabled=False)
                desk.clock.move(days=2)
                await office.tick()
                desk.enable()
                await office.tick()
                assert await office.settled() == []
                desk.clock.move(seconds=3600)
                assert await office.tick() == 1

        asyncio.run(acts())

    def test_it_fires_within_a_second_of_its_time(self, desk: Desk) -> None:
        """With the machine's own clock, and a schedule for every second. A busy machine may be late once."""

        async def acts() -> None:
            desk.clock = SystemClock()
            desk.employ(cron("* * * * * *", concurrency="parallel"), tick={"max_queued": 1000})
            async with desk.open() as office:
                ticking = asyncio.create_task(office.scheduler().run())
                async with asyncio.timeout(240):
                    while len(await office.slots()) < 4:
                        await asyncio.sleep(0.2)
                ticking.cancel()
                events = {event.id: event for event in await office.events()}
                late = [events[row.event_id].received_at - row.slot for row in await office.slots()]
                assert 0 <= min(late) < SECOND, late

        asyncio.run(acts())


class TestMissed:
    def times(self, desk: Desk, policy: str, **more: Any) -> None:
        desk.employ(cron("*/10 * * * *"), tick={"catch_up": {"policy": policy, "window": "35m"}, **more})

    async def sleep(self, office: Office, hours: int = 2) -> dict[str, list[int]]:
        """Nothing runs for so long; then what became of the times, in minutes before now."""
        await start(office)
        office.desk.clock.move(seconds=hours * 3600 + 5 * 60)
        await office.tick()
        now = office.desk.clock.now()
        became: dict[str, list[int]] = {}
        for slot, what in await office.settled():
            became.setdefault(what, []).append((now - slot) // MINUTE)
        return became

    def test_once_runs_the_newest_and_lists_the_others(self, desk: Desk) -> None:
        async def acts() -> None:
            self.times(desk, "once")
            async with desk.open() as office:
                became = await self.sleep(office)
                assert became == {"ran": [5], MISSED: list(range(115, 5, -10))}

        asyncio.run(acts())

    def test_all_runs_as_far_back_as_the_window_reaches(self, desk: Desk) -> None:
        async def acts() -> None:
            self.times(desk, "all")
            async with desk.open() as office:
                became = await self.sleep(office)
                assert became == {"ran": [35, 25, 15, 5], MISSED: list(range(115, 35, -10))}
                starts = [await office.run(event.run_id) for event in await office.events() if event.run_id]
                assert [run.id for run in await office.work()] == [run.id for run in starts]

        asyncio.run(acts())

    def test_all_keeps_to_the_number_that_the_operator_gave(self, desk: Desk) -> None:
        async def acts() -> None:
            self.times(desk, "all", max_queued=2)
            async with desk.open() as office:
                became = await self.sleep(office)
                assert became["ran"] == [35, 25]
                [full] = [reason for reason in became if "queue full" in reason]
                assert became[full] == [15, 5]

        asyncio.run(acts())

    def test_skip_runs_nothing_and_lists_everything(self, desk: Desk) -> None:
        async def acts() -> None:
            self.times(desk, "skip")
            async with desk.open() as office:
                assert await self.sleep(office) == {MISSED: list(range(115, 0, -10))}
                events = await office.events()
                assert all(event.outcome == "skipped" and not event.run_id for event in events)

        asyncio.run(acts())

    def test_a_year_off_is_told_and_does_not_fire_a_year_of_runs(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"), cron("0 0 * * *", "daily"))
            async with desk.open() as office:
                await start(office)
                desk.clock.move(days=365)
                assert await office.tick() == 2  # both have a time right now
                settled = await office.settled()
                gap = settled[0][1]
                assert gap.startswith("missed: 10000 or more times from ")
                assert [what for _, what in settled[1:-2]] == [MISSED] * MOST_LISTED
                assert settled[-2][1] == "ran", "the newest of those that were missed"
                assert settled[-1][1].startswith("queue full")
                daily = dict(await office.settled("daily"))
                assert len(daily) == MOST_LISTED + 2
                assert any("missed: 264 times from" in what for what in daily.values())

        asyncio.run(acts())

    def test_a_little_late_is_on_time(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"), tick={"catch_up": {"policy": "skip"}})
            async with desk.open() as office:
                await start(office)
                desk.clock.move(seconds=60 + GRACE_MS / 1000)
                assert await office.tick() == 1
                await office.work()
                desk.clock.move(seconds=60.001)
                assert await office.tick() == 0

        asyncio.run(acts())


class TestClock:
    def test_put_back_it_repeats_nothing_and_goes_on(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("*/10 * * * *"))
            async with desk.open() as office:
                began = await start(office)
                for _ in range(6):
                    desk.clock.move(seconds=600)
                    await office.tick()
                    await office.work()
                desk.clock.move(seconds=-1800)
                assert [await office.tick() for _ in range(3)] == [0, 0, 0]
                begun = 0
                for _ in range(6):
                    desk.clock.move(seconds=600)
                    begun += await office.tick()
                    await office.work()
                assert begun == 3, "the half hour that came twice has fired once"
                assert await office.ran() == [began + 10 * MINUTE * number for number in range(1, 10)]

        asyncio.run(acts())

    def test_a_wrong_year_does_not_silence_a_schedule_for_a_year(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("0 * * * *"))
            async with desk.open() as office:
                began = await start(office)
                desk.clock.move(days=365)
                await office.tick()
                await office.work()
                desk.clock.move(days=-365)
                await office.tick()
                for _ in range(3):
                    desk.clock.move(seconds=3600)
                    assert await office.tick() == 1
                    await office.work()
                assert (await office.ran())[:3] == [began + HOUR * number for number in range(1, 4)]

        asyncio.run(acts())

    @pytest.mark.parametrize("seen_before", [False, True])
    def test_missed_times_that_it_told_too_early_are_told_again(
        self, desk: Desk, *, seen_before: bool
    ) -> None:
        """Off for three hours, and started by a clock that is three days ahead: one row stands for times that
        had come and for times that had not."""

        async def acts() -> None:
            desk.employ(cron("* * * * *"), tick={"catch_up": {"policy": "once"}})
            async with desk.open() as office:
                began = await start(office)
                if seen_before:
                    desk.clock.move(seconds=60)
                    await office.tick()
            desk.clock.move(days=3)
            async with desk.open() as office:
                await office.tick()
                ahead = await office.settled()
            gap = next(became for _, became in ahead if became.startswith("missed: 4"))
            desk.clock.move(days=-3, seconds=3 * 3600)
            async with desk.open() as office:
                await office.tick()
                await office.tick()
                settled = await office.settled()
            now = desk.clock.now()
            assert gap not in [became for _, became in settled]
            [[end, told]] = [each for each in settled if " times from " in each[1]]
            rows = [slot for slot, _ in settled if slot <= now]
            first = began + (2 if seen_before else 1) * MINUTE
            count = (end - first) // MINUTE + 1
            assert told == f"missed: {count} times from {iso(first)} to {iso(end)}, nothing ran"
            assert rows[-101:] == [now - MINUTE * number for number in range(100, -1, -1)]

        asyncio.run(acts())

    def test_enabled_by_a_clock_that_was_ahead(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"))
            desk.enable(at=desk.clock.now() + 30 * DAY)
            async with desk.open() as office:
                await start(office)
                desk.clock.move(seconds=60)
                assert await office.tick() == 1

        asyncio.run(acts())


class TestOverlap:
    def test_a_schedule_does_not_pile_up(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *", concurrency="serial"))
            async with desk.open() as office:
                await start(office)
                running = None
                for _ in range(5):
                    desk.clock.move(seconds=60)
                    await office.tick()
                    running = running or await office.begin()
                became = [what for _, what in await office.settled()]
                assert became[: 1 + CRON_QUEUE] == ["ran"] * (1 + CRON_QUEUE)
                assert all(what.startswith("queue full") for what in became[1 + CRON_QUEUE :])
                assert running is not None
                await office.end(running)
                assert len(await office.work()) == CRON_QUEUE

        asyncio.run(acts())

    def test_times_that_come_round_while_it_is_paused_are_skipped(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"))
            async with desk.open() as office:
                await start(office)
                await office.pause("tick")
                for _ in range(3):
                    desk.clock.move(seconds=60)
                    assert await office.tick() == 0
                assert await office.resume("tick") == 0
                desk.clock.move(seconds=60)
                assert await office.tick() == 1
                assert [what for _, what in await office.settled()] == ["paused"] * 3 + ["ran"]

        asyncio.run(acts())

    def test_one_schedule_that_cannot_fire_holds_up_no_other(self, desk: Desk) -> None:
        async def acts() -> None:
            desk.employ(cron("* * * * *"), name="broken")
            desk.employ(cron("* * * * *"))
            async with desk.open() as office:
                await start(office)
                (desk.home.expert("broken") / "README.md").write_text("changed while nobody looked\n")
                office.registry.monotonic = lambda: 0.0
                desk.clock.move(seconds=60)
                with pytest.raises(ExceptionGroup):
                    await office.tick()
                assert len(await office.ran()) == 1
                office.registry = desk.registry()
                assert await office.tick() == 1, "it is made good once the package can be read"

        asyncio.run(acts())


def test_a_schedule_that_never_fires_and_one_in_leap_years_do_no_harm(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(cron("0 0 30 2 *", "never"), cron("0 0 29 2 *", "leap"), cron("* * * * *"))
        async with desk.open() as office:
            await start(office)
            desk.clock.move(seconds=60)
            assert await office.tick() == 1
            documents = await office.database.read(
                lambda tx: trigger_documents(tx, office.registry, lambda _: [])
            )
            assert {each["trigger"]: each["next_at"] for each in documents}["never"] is None
            assert {each["trigger"]: each["next_at"] for each in documents}["leap"].startswith("2028-02-29")

    asyncio.run(acts())


def test_looking_changes_no_schedule(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(cron("* * * * *"), webhook())
        async with desk.open() as office:
            await start(office)
            desk.clock.move(seconds=600)
            before = await office.database.read(trigger_states)
            for _ in range(3):
                found = await office.database.read(
                    lambda tx: trigger_documents(tx, office.registry, lambda _: [])
                )
            assert [(each["trigger"], each["state"], each["last_at"]) for each in found] == [
                ("tick", "active", None),
                ("order", "active", None),
            ]
            assert await office.database.read(trigger_states) == before
            assert await office.events() == []
            assert await office.tick() == 1

    asyncio.run(acts())


def test_old_slots_are_forgotten_and_do_not_fire_again(desk: Desk) -> None:
    async def acts() -> None:
        desk.employ(cron("* * * * *"))
        async with desk.open() as office:
            await start(office)
            desk.clock.move(seconds=60)
            assert await office.tick() == 1
            await office.work()
            desk.clock.move(days=31)
            assert await office.database.write(forget_old) == 1
            assert await office.slots() == []
            await office.tick()
            assert len(await office.slots()) == MOST_LISTED + 3, "a month of misses, told"
            assert await office.database.write(forget_old) == 0
            assert len(await office.slots()) == MOST_LISTED + 3

    asyncio.run(acts())


class TestOutage:
    def test_one_line_when_it_begins_and_one_when_it_is_over(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setattr(store_sqlite, "BUSY_SECONDS", 0.02)
        monkeypatch.setattr(scheduler, "LONGEST_SLEEP", 0.02)
        file = tmp_path / "db.sqlite"
        desk = Desk(tmp_path / "home", lambda clock: SqliteDatabase(file, clock))
        desk.employ(cron("0 8 * * *"), cron("0 9 * * *", "other"))

        async def acts() -> None:
            async with desk.open() as office:
                looks = office.scheduler()
                with unwritable(file):
                    running = asyncio.create_task(looks.run())
                    while looks._failed_looks < 5:
                        await asyncio.sleep(0.01)
                while looks._failed_looks:
                    await asyncio.sleep(0.01)
                running.cancel()

        with caplog.at_level(logging.INFO, logger=scheduler.__name__):
            asyncio.run(acts())
        begun, over = (each for each in caplog.records if each.name == scheduler.__name__)
        assert "cannot be looked at until this is over" in begun.getMessage()
        assert "locked" in begun.getMessage()
        assert re.search(
            r"looked at again, after [5-9]\d* failed looks|after \d\d+ failed", over.getMessage()
        )
        assert begun.exc_info is None
