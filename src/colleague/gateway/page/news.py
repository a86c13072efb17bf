"""Tells open pages that something has changed, so that they load it again; nobody asks for it regularly."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

from colleague.store.tx import Database

PAUSE_SECONDS = 0.3
LONGEST_PAUSE = 10.0
BEAT_SECONDS = 15.0
LOOK_SECONDS = 2.0
"""Where other processes work on the database, too, pages load again so often."""


Watchers = list[Callable[[str], None]]


async def page_news(
    database: Database, stopping: asyncio.Event, *others: Watchers, pause: float = PAUSE_SECONDS
) -> AsyncIterator[str]:
    """Server-sent events: `changed`, and comments that keep the line open. What changes within `pause`
    seconds is told once, at their end."""
    fresh, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and with it who waits
            loop.call_soon_threadsafe(fresh.set)

    told_by = (database.watchers, *others)
    for each in told_by:
        each.append(tell)
    try:
        # At once, too: something may have changed since the page was made, or while the gateway was away.
        yield "retry: 2000\n\nevent: changed\ndata: .\n\n"
        while not stopping.is_set():
            changed = await _changed(fresh, LOOK_SECONDS if database.shared else BEAT_SECONDS)
            if changed or database.shared:
                await asyncio.sleep(pause)
                fresh.clear()
                yield "event: changed\ndata: .\n\n"
            else:
                yield ": still here\n\n"
    finally:
        for each in told_by:
            each.remove(tell)


async def _changed(fresh: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            return await fresh.wait()
    except TimeoutError:
        return False
