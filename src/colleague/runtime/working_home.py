"""A home that this process holds: its lock, its log and its database.

What works on runs is opened on top of it, later: a command stores what it was asked before it loads that."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from colleague.clock import Clock
from colleague.clock_file import home_clock, remembered
from colleague.config import Settings
from colleague.home import LOCK_SECONDS, Home
from colleague.logs import logging_to
from colleague.protected import require_safe_workspace
from colleague.store.claims import release_all
from colleague.store.open_database import open_database
from colleague.store.tx import Database

if TYPE_CHECKING:
    from colleague.runtime.host import Host


@dataclass(frozen=True)
class WorkingHome:
    """A home with its open database, which nobody else works on where that is SQLite."""

    home: Home
    settings: Settings
    environ: Mapping[str, str]
    database: Database


@asynccontextmanager
async def open_working_home(
    home: Home,
    settings: Settings,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    *,
    wait_seconds: float = LOCK_SECONDS,
) -> AsyncIterator[WorkingHome]:
    """On SQLite this takes the home's lock, so every earlier worker is dead. Raises HomeBusy."""
    environ = os.environ if environ is None else environ
    require_safe_workspace(home, settings)
    alone = settings.experts.database is None
    with (
        home.working(wait_seconds=wait_seconds) if alone else contextlib.nullcontext(),
        logging_to(home.logs),
    ):
        clock = clock or home_clock(home)
        database = open_database(home, settings, environ, clock)
        try:
            if alone:
                await database.write(release_all)
            async with remembered(home, clock):
                yield WorkingHome(home, settings, environ, database)
        finally:
            await database.close()


class HostSource(Protocol):
    """Where the host of a process comes from."""

    async def opened(self) -> Host: ...


class DeferredHost:
    """The host of a command: opened when somebody first needs it, closed when the block ends."""

    def __init__(self, working: WorkingHome, *, accepts: bool) -> None:
        self._working = working
        self._accepts = accepts
        self._stack = contextlib.AsyncExitStack()
        self._opening = asyncio.Lock()
        self._host: Host | None = None

    async def opened(self) -> Host:
        async with self._opening:
            if self._host is None:
                await asyncio.to_thread(import_module, "colleague.runtime.host")  # takes a second
                from colleague.runtime.host import host_of

                opening = host_of(self._working, accepts=self._accepts)
                self._host = await self._stack.enter_async_context(opening)
        return self._host

    async def __aenter__(self) -> DeferredHost:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
