"""Strict order per lane, nothing overlapping, nothing forgotten, no deadlock: with real concurrency."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.store import approvals, journal, run
from colleague.store import claims as work
from colleague.store.accept import Arrival, accept
from colleague.store.cancel import cancel
from colleague.store.claims import take
from colleague.store.lanes import free_next
from colleague.store.run import get_run
from colleague.store.sql import func, select
from colleague.store.tables import events, runs
from colleague.store.tx import Database, Tx
from tests import finish
from tests.integration.store.databases import Opener
from tests.integration.store.world import World

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
ROUNDS = 40 if LONG else 2
ARRIVALS = 400 if LONG else 100


async def live(opener: Opener, seed: int, *, seconds: float = 60, arrivals: int = ARRIVALS) -> World:
    clock = MovableClock()
    databases = [opener(clock)]
    if not type(databases[0]).__name__.startswith("Sqlite"):
        databases.append(opener(clock))
    world = World(databases, clock, seed, lanes=1 + seed % 5)
    await world.live(arrivals, seconds=seconds)
    for database in databases:
        await database.close()
    return world


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_random_world_stays_in_order(opener: Opener, seed: int) -> None:
    world = asyncio.run(live(opener, seed))
    assert world.violations == []
    assert min(world.counts.get(what, 0) for what in ("take", "finish", "wait", "decide", "fenced")) > 0, (
        world.counts
    )
    asyncio.run(check_ends(opener, world))


async def check_ends(opener: Opener, world: World) -> None:
    """Every accepted event has exactly one run, and every run exactly one outcome."""
    database: Database = opener(MovableClock())
    counted = await database.read(
        lambda tx: (
            tx.execute(select(func.count()).select_from(runs).where(runs.c.outcome.is_(None))).scalar_one(),
            tx.execute(select(func.count()).select_from(runs)).scalar_one(),
            len(tx.all(select(events.c.run_id).where(events.c.run_id.is_not(None)).distinct())),
        )
    )
    await database.close()
    assert counted == (0, len(world.accepted), len(world.accepted))


class TestSeededBugs:
    """The test is worth something only if it finds the bug each rule prevents."""

    def found(self, opener: Opener, word: str, *, seeds: int = 12, seconds: float = 3) -> bool:
        for seed in range(seeds):
            world = asyncio.run(live(opener, seed, seconds=seconds))
            if any(word in violation for violation in world.violations):
                return True
        return False

    def test_no_run_lock(self, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two people decide one of two questions each; both see the other pending; the run is forgotten."""
        if "sqlite" in os.environ["PYTEST_CURRENT_TEST"]:
            pytest.skip("SQLite has one writer, which is the lock")
        monkeypatch.setattr(approvals, "lock_run", run.get_run)
        assert self.found(opener, "forgotten")

    def test_an_unfenced_answer(self, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        def unfenced(tx: Tx, hold: run.Hold, **values: Any) -> None:
            tx.update(runs, {"id": hold.run_id}, **values)

        monkeypatch.setattr(work, "_fenced_update", unfenced)
        assert self.found(opener, "unfenced")

    def test_a_late_answer_that_does_not_wake(self, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(journal, "wake_run", lambda *_: None)
        assert self.found(opener, "forgotten")

    def test_a_lane_that_is_not_freed(self, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(work, "free_next", lambda *_: None)
        assert self.found(opener, "forgotten")

    def test_a_place_taken_without_the_lane_lock(
        self, opener: Opener, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A finish and an accept that do not see each other leave a run that nobody frees."""
        if "sqlite" in os.environ["PYTEST_CURRENT_TEST"]:
            pytest.skip("SQLite has one writer, which is the lock")
        assert asyncio.run(self.is_freed(opener, monkeypatch, "held", seconds=0.5))
        monkeypatch.setattr(finish, "fenced", lambda tx, hold, **_: run.fenced(tx, hold))
        assert not asyncio.run(self.is_freed(opener, monkeypatch, "not held", seconds=60))

    async def is_freed(
        self, opener: Opener, monkeypatch: pytest.MonkeyPatch, lane: str, *, seconds: float
    ) -> bool:
        """Whether a run may start that comes when the one before it has looked for the next, and its end is
        not committed yet."""
        database: Database = opener(MovableClock())
        looked, came = threading.Event(), threading.Event()

        def look(tx: Tx, lane: str) -> str | None:
            found = free_next(tx, lane)
            looked.set()
            came.wait(seconds)
            return found

        monkeypatch.setattr(work, "free_next", look)
        first, second = (Arrival("clerk", "t", name, "{}", name, lane) for name in "ab")
        await database.write(lambda tx: accept(tx, first))
        taken = await database.write(lambda tx: take(tx, f"worker of {lane}", 0))
        assert taken is not None
        assert taken.run.lane == lane
        ending = asyncio.create_task(database.write(lambda tx: finish.finish(tx, taken.hold, "completed")))
        assert await asyncio.to_thread(looked.wait, 60)
        coming = asyncio.create_task(database.write(lambda tx: accept(tx, second)))
        coming.add_done_callback(lambda _: came.set())
        await ending
        run_id = str((await coming).run_id)
        freed = await database.read(lambda tx: get_run(tx, run_id).ready)
        await database.write(lambda tx: cancel(tx, run_id, "the end of the test"))
        await database.close()
        return bool(freed)
