"""A model that says nothing is noticed; one that speaks is not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice

from colleague.agent.models.silence import SilenceWatch, silences


def soon() -> Iterator[float]:
    yield from (0.1, 0.25, 60)


async def number_of(told: list[float], wanted: int) -> None:
    while len(told) < wanted:
        await asyncio.sleep(0.01)


def test_it_is_said_soon_and_then_each_minute() -> None:
    assert list(islice(silences(), 6)) == [10, 30, 60, 120, 180, 240]


def test_silence_is_told_once_for_each_length() -> None:
    async def go() -> list[float]:
        told: list[float] = []
        with SilenceWatch(told.append, soon):
            await number_of(told, 2)
            await asyncio.sleep(0.3)
        return told

    assert asyncio.run(go()) == [0.1, 0.25]


def test_the_next_silence_is_told_as_soon_as_the_first() -> None:
    """After a long one, too, when nobody would have looked again for a minute."""

    async def go() -> list[float]:
        told: list[float] = []
        with SilenceWatch(told.append, soon) as watch:
            await number_of(told, 2)
            watch.heard()
            async with asyncio.timeout(50):
                await number_of(told, 3)
        return told

    assert asyncio.run(go())[:3] == [0.1, 0.25, 0.1]


def test_a_word_begins_the_next_silence() -> None:
    async def go() -> tuple[list[float], list[float]]:
        told: list[float] = []
        with SilenceWatch(told.append, soon) as watch:
            for _ in range(20):
                await asyncio.sleep(0.01)
                watch.heard()
            speaking = list(told)
            await number_of(told, len(speaking) + 1)
        return speaking, told

    speaking, told = asyncio.run(go())
    assert told[len(speaking)] == 0.1


def test_nothing_is_told_after_the_end() -> None:
    async def go() -> list[float]:
        told: list[float] = []
        with SilenceWatch(told.append, soon) as watch:
            await number_of(told, 1)
        told.clear()
        watch.heard()
        await asyncio.sleep(0.3)
        return told

    assert asyncio.run(go()) == []
