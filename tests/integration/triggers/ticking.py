"""A process of its own that looks at the schedules once, and may be killed while it does."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from colleague.clock import MovableClock
from colleague.home import Home
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Database
from colleague.triggers.registry import TriggerRegistry
from colleague.triggers.scheduler import Scheduler
from tests.forked import FORKED

KILLED = -9


@dataclass(frozen=True)
class Place:
    """A home, its database (a file, or a URL) and the time."""

    home: Path
    database: str
    now: int

    def open(self) -> Database:
        clock = MovableClock(self.now)
        if self.database.startswith("postgresql:"):
            return PostgresDatabase(self.database, clock)
        return SqliteDatabase(Path(self.database), clock)


def tick(place: Place, kill: str = "") -> int:
    """How the process ended: 0, or KILLED when its failpoint was met."""
    process = FORKED.Process(target=_main, args=(place, kill))
    process.start()
    process.join(60)
    code = process.exitcode
    if code is None:
        process.kill()
    process.join()
    process.close()
    assert code is not None, "the process did not end"
    return code


def _main(place: Place, kill: str) -> None:
    database = place.open()  # before the failpoint counts: migrating is not what is killed here
    if kill:
        os.environ["COLLEAGUE_FAILPOINT"] = kill
    asyncio.run(_tick(place, database))


async def _tick(place: Place, database: Database) -> None:
    scheduler = Scheduler(
        Home(place.home), database, TriggerRegistry(Home(place.home)), MovableClock(place.now)
    )
    await scheduler.fire_due()
    await database.close()
