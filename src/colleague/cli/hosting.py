"""Opening a home from a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.store.tx import Database

T = TypeVar("T")


def opened(home: Path | None) -> tuple[Home, Settings]:
    """The home and its settings."""
    from colleague.config import load_settings
    from colleague.home import Home

    place = Home.find(home)
    return place, load_settings(place)


def with_database(home: Path | None, work: Callable[[Database], Awaitable[T]], *, writes: bool = False) -> T:
    """Looks something up, or writes a small thing, without working on runs. Reading needs no lock."""
    import asyncio
    import contextlib
    import os

    from colleague.clock_file import home_clock
    from colleague.store.opening import open_database

    place, settings = opened(home)

    async def go() -> T:
        database = open_database(place, settings, os.environ, home_clock(place))
        try:
            return await work(database)
        finally:
            await database.close()

    alone = writes and settings.experts.database is None
    with place.working() if alone else contextlib.nullcontext():
        return asyncio.run(go())
