"""Opening a home from a command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from colleague.config import Settings, SettingsWarning
    from colleague.home import Home
    from colleague.store.tx import Database

T = TypeVar("T")

MOST_WARNINGS = 5
_said: set[SettingsWarning] = set()


def opened(home: Path | None) -> tuple[Home, Settings]:
    """The home and its settings."""
    from colleague.home import Home

    place = Home.find(home)
    return place, loaded(place)


def loaded(home: Home) -> Settings:
    """The settings of a home. What is odd in its files is said on stderr, once."""
    from colleague.cli.output import note
    from colleague.config import load_settings

    settings = load_settings(home)
    fresh = [each for each in settings.warnings if each not in _said]
    for warning in fresh[:MOST_WARNINGS]:
        note(f"warning: {warning}" + (f"; {warning.hint}" if warning.hint else ""))
    if len(fresh) > MOST_WARNINGS:
        note(f"warning: and {len(fresh) - MOST_WARNINGS} more: colleague config check")
    _said.update(fresh)
    return settings


def note_without_effect(settings: Settings) -> None:
    """Says on stderr which keys are set and have no effect yet."""
    from colleague.cli.output import note
    from colleague.config.status import without_effect

    idle = [each.key for each in without_effect(settings)]
    if idle:
        shown = ", ".join(idle[:MOST_WARNINGS])
        more = f" and {len(idle) - MOST_WARNINGS} more" if len(idle) > MOST_WARNINGS else ""
        note(f"warning: no effect yet: {shown}{more} (colleague config check)")


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
