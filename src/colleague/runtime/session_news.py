"""Waiting for news of a session without asking for them again and again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from colleague.store.tx import Database

LOOK_SECONDS = 1.0
"""Where other processes work on the database, too, it is looked at so often."""


@dataclass
class SessionNews:
    """Set when a commit of this process changed something in the session."""

    shared: bool
    fresh: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, most_seconds: float | None = None) -> bool:
        """Returns when there may be news; False when nobody told of any and it is not worth a look."""
        seconds = LOOK_SECONDS if self.shared else most_seconds
        try:
            async with asyncio.timeout(seconds):
                await self.fresh.wait()
        except TimeoutError:
            return self.shared
        self.fresh.clear()
        return True


@contextlib.contextmanager
def session_news(database: Database, key: str) -> Iterator[SessionNews]:
    """News of a session, by its key, while the block lasts."""
    news, loop = SessionNews(database.shared), asyncio.get_running_loop()

    def tell(subject: str) -> None:
        if subject == key:
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it who waits
                loop.call_soon_threadsafe(news.fresh.set)

    database.watchers.append(tell)
    try:
        yield news
    finally:
        database.watchers.remove(tell)
