"""A year of schedules in five zones: every time is settled once and is cronsim's, whoever looks when,
whatever crashes, and however the clock is moved; each missed one has its row."""

from __future__ import annotations

import asyncio
import os
import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from colleague.clock import MovableClock
from colleague.store.tx import Database, Tx
from colleague.triggers.scheduler import Scheduler
from tests.integration.triggers.desk import Desk, Office, cron

T = TypeVar("T")

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
SEEDS = range(40 if LONG else 2)
LOOKS = 400 if LONG else 15
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe"]
START = 1_767_225_600_000  # 2026-01-01
YEAR = 365 * 86_400_000
GAP = re.compile(r"missed: (\d+)( or more)? times from (\S+) to (\S+), nothing ran")


class Crash(BaseException):
    """The process is gone. Nothing in it hears of it."""


@dataclass
class Dying:
    """A database whose process dies now and then: before its commit, or after it and before anyone knows."""

    database: Database
    random: random.Random
    deaths: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    async def write(self, work: Callable[[Tx], T]) -> T:
        fate = self.random.random()
        if fate < 0.15:
            self.deaths += 1
            raise Crash
        result = await self.database.write(work)
        if fate > 0.85:
            self.deaths += 1
            raise Crash
        return result


def expression(dice: random.Random) -> str:
    """Five fields, now and then six; with every kind of list, range and step."""

    def some(low: int, high: int) -> str:
        one, other = sorted((dice.randint(low, high), dice.randint(low, high)))
        every = f"*/{dice.randint(2, 9)}"
        return dice.choice(["*", "*", str(one), f"{one},{other}", f"{one}-{other}", every])

    fields = [some(0, 59), some(0, 23), some(1, 28), some(1, 12), some(0, 6)]
    if dice.random() < 0.7:
        fields[2:] = "***"
    if not LONG:  # a few times a day, so that a year of them is soon counted
        fields[:2] = [f"*/{dice.randint(7, 40)}", str(dice.randrange(24))]
    return " ".join([str(dice.randrange(60)), *fields] if dice.random() < 0.3 else fields)


def times(text: str, zone: str, until: int) -> list[int]:
    """What cronsim says, in one go from the start of the year."""
    moment = datetime.fromtimestamp(START / 1000, UTC).astimezone(ZoneInfo(zone))
    found: list[int] = []
    for each in CronSim(text, moment):
        slot = int(each.timestamp()) * 1000
        if slot > until:
            break
        if not found or slot > found[-1]:
            found.append(slot)
    return found


def moves(dice: random.Random) -> list[int]:
    """How far the clock goes between two looks, in milliseconds; a year in all, some of it backwards."""
    kinds = [20_000, 61_000, 600_000, 3_600_000, 86_400_000]
    small = [dice.randrange(dice.choice(kinds)) * dice.choice([1, 1, 1, 1, -1]) for _ in range(LOOKS)]
    large = [dice.randrange(YEAR // 8) for _ in range(11 if LONG else 2)]
    wanted = [*small, *large]
    dice.shuffle(wanted)
    return [YEAR // 8, *wanted, max(YEAR * 7 // 8 - sum(wanted), 60_000)]


async def look(desk: Desk, offices: list[Office], dice: random.Random) -> int:
    """Two processes look at the same time, and both may die of it."""
    dying = [Dying(office.database, dice) for office in offices]
    schedulers = [Scheduler(desk.home, each, offices[0].registry, desk.clock) for each in dying]  # type: ignore[arg-type]
    results = await asyncio.gather(*(each.fire_due() for each in schedulers), return_exceptions=True)
    assert all(isinstance(each, int | Crash) for each in results), results
    return sum(each.deaths for each in dying)


def check(settled: list[tuple[int, str]], expected: list[int], now: int, *, straight: bool) -> None:
    """Every time that has come has a row of its own or lies within a gap that was told; `expected` goes on to
    the latest moment that the clock has shown."""
    rows = [slot for slot, _ in settled]
    assert rows == sorted(set(rows))
    known = set(expected)
    assert known.issuperset(rows), f"never a time of it: {sorted(set(rows) - known)[:3]}"
    covered = set(rows)
    for slot, became in settled:
        if gap := GAP.fullmatch(became):
            first, last = (int(datetime.fromisoformat(gap[part]).timestamp()) * 1000 for part in (3, 4))
            within = expected[bisect_left(expected, first) : bisect_right(expected, last)]
            assert last == slot == within[-1]
            assert within[0] == first
            if straight:
                assert len(within) == int(gap[1]) or (gap[2] and len(within) > int(gap[1]))
            covered.update(within)
    lost = sorted(slot for slot in known - covered if slot <= now)
    assert not lost, f"without a row: {lost[:3]}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_year_is_cronsims_whatever_happens(desk: Desk, seed: int) -> None:
    async def acts() -> None:
        dice = random.Random(seed)
        desk.clock = MovableClock(START)
        texts = {f"tick{number}": (expression(dice), zone) for number, zone in enumerate(ZONES)}
        policies = ["once", "all", "skip", "once", "all"]
        bound = {name: {"catch_up": {"policy": policy}} for name, policy in zip(texts, policies, strict=True)}
        desk.employ(*(cron(text, name, tz=zone) for name, (text, zone) in texts.items()), **bound)
        deaths, latest, straight = 0, START, True
        async with desk.open() as one, desk.open() as other:
            offices = [one, other if one.database.shared else one]
            await one.tick()
            for move in moves(dice):
                straight = straight and move >= 0
                desk.clock.move(seconds=move / 1000)
                deaths += await look(desk, offices, dice)
                if dice.random() < 0.3:
                    await one.work()
                await one.tick()
                latest = max(latest, desk.clock.now())
            for name, (text, zone) in texts.items():
                print(seed, name, text, zone)
                settled, expected = await one.settled(name), times(text, zone, latest)
                check(settled, expected, desk.clock.now(), straight=straight)
        assert deaths > 0

    asyncio.run(acts())


def test_an_hour_that_comes_twice_and_one_that_never_comes(desk: Desk) -> None:
    """Berlin: 2026-03-29 has no 02:30, 2026-10-25 has two. Looked at every ten minutes."""

    async def acts() -> None:
        for day in ("2026-03-29", "2026-10-25"):
            begins = int(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp()) * 1000 - 7_200_000
            desk.clock = MovableClock(begins)
            name = f"tick{day[5:7]}"
            expressions = {name: "30 2 * * *", f"{name}-hourly": "30 * * * *"}
            desk.employ(*(cron(text, each, tz="Europe/Berlin") for each, text in expressions.items()))
            async with desk.open() as office:
                await office.tick()
                for _ in range(48):
                    desk.clock.move(seconds=600)
                    await office.tick()
                    await office.work()
                for each, text in expressions.items():
                    moment = datetime.fromtimestamp(begins / 1000, ZoneInfo("Europe/Berlin"))
                    expected = []
                    for slot in CronSim(text, moment):
                        if slot.timestamp() * 1000 > desk.clock.now():
                            break
                        expected.append(int(slot.timestamp()) * 1000)
                    assert await office.ran(each) == expected

    asyncio.run(acts())
