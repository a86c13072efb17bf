"""A worker: takes, keeps its lease, gives back, works alone with a suspect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from colleague.clock import MovableClock
from colleague.store import lease
from colleague.store import sweep as store_sweep
from colleague.store import worker as store_worker
from colleague.store.claims import Taken, release_all, retry_later
from colleague.store.run import Run, get_run
from colleague.store.sql import select
from colleague.store.sweep import sweep
from colleague.store.tables import runs
from colleague.store.tx import Database
from colleague.store.worker import Worker
from tests.finish import finish
from tests.integration.store.databases import Opener
from tests.integration.store.test_store import on, send, take


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(240):
        while not await condition():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def at_work(worker: Worker) -> AsyncIterator[None]:
    """Until the block ends; then it is stopped gently."""
    working = asyncio.create_task(worker.run())
    yield
    worker.stop()
    await working


async def run_of(database: Database, run_id: str | None) -> Run:
    return await database.read(lambda tx: get_run(tx, str(run_id)))


def test_a_graceful_stop_gives_back_what_is_held(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        async def hangs(taken: Taken) -> None:
            await asyncio.sleep(60)

        accepted = await send(database)
        async with at_work(Worker(database, hangs)):
            await until(lambda: _has_status(database, accepted.run_id, "running"))
        run = await run_of(database, accepted.run_id)
        assert (run.status, run.ready, run.stalls) == ("queued", True, 0)

    on(opener, acts)


async def _has_status(database: Database, run_id: str | None, status: str) -> bool:
    return (await run_of(database, run_id)).status == status


def test_a_commit_by_anyone_wakes_the_worker(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one by another process: on PostgreSQL the wake-up comes through the database. The sweep, which
    would find it as well, does not come in the time of this test."""
    monkeypatch.setattr(store_worker, "SWEEP_SECONDS", 3_600)

    async def acts(database: Database, clock: MovableClock) -> None:
        async def ends(taken: Taken) -> None:
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))

        sender = opener(clock) if database.shared else database
        worker = Worker(database, ends)
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(0.3)
        accepted = await send(sender)
        await until(lambda: _has_status(database, accepted.run_id, "done"))
        worker.stop()
        await working
        if sender is not database:
            await sender.close()

    on(opener, acts)


def test_a_run_that_crashed_two_workers_runs_alone(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        suspect = await send(database, lane=None)
        for _ in range(2):
            await take(database)
            await database.write(release_all)
        for _ in range(5):
            await send(database, lane=None)
        together: list[int] = []
        running: set[str] = set()

        async def watched(taken: Taken) -> None:
            running.add(taken.run.id)
            await asyncio.sleep(0.05)
            if suspect.run_id in running:
                together.append(len(running))
            running.discard(taken.run.id)
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))

        worker = Worker(database, watched)
        working = asyncio.create_task(worker.run())

        async def all_done() -> bool:
            rows = await database.read(lambda tx: tx.all(select(runs.c.id).where(runs.c.status != "done")))
            return not rows

        await until(all_done)
        worker.stop()
        await working
        assert together == [1]

    on(opener, acts)


def test_a_run_that_waits_to_be_alone_keeps_its_lease(
    opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it waits for may take longer than a lease lasts."""
    monkeypatch.setattr(lease, "LEASE_MS", 1500)
    monkeypatch.setattr(store_sweep, "GRACE_MS", 1000)
    monkeypatch.setattr(store_worker, "SWEEP_SECONDS", 0.1)

    async def acts(database: Database, clock: MovableClock) -> None:
        async def long_or_short(taken: Taken) -> None:
            await asyncio.sleep(4.0 if taken.run.id == long.run_id else 0)
            assert not taken.poisonous
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))

        suspect = await send(database, lane=None)
        for _ in range(2):
            await take(database)
            await database.write(release_all)
        long = await send(database, lane=None, expert="another")
        async with at_work(Worker(database, long_or_short)):
            await until(lambda: _has_status(database, suspect.run_id, "done"))
        run = await run_of(database, suspect.run_id)
        assert (run.outcome, run.epoch) == ("completed", 6), "it was taken once, and never taken over"

    on(opener, acts)


def test_the_next_attempt_after_a_crash_is_one_and_alone(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database, lane=None)
        for _ in range(3):
            await take(database)
            await database.write(release_all)
        taken = await take(database)
        assert taken.poisonous
        await database.write(lambda tx: retry_later(tx, taken.hold, "crashed the worker", 1000))
        clock.move(seconds=2)
        await sweep(database)
        again = await take(database)
        assert (again.run.attempt, again.alone, again.poisonous) == (2, True, False)
        await database.write(release_all)
        assert (await take(database)).poisonous, "it crashed a worker that ran nothing else"

    on(opener, acts)


def test_a_bug_in_the_work_neither_stops_the_worker_nor_loses_the_run(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        tried: list[str] = []

        async def fails_once(taken: Taken) -> None:
            tried.append(taken.run.id)
            if len(tried) == 1:
                raise RuntimeError("a bug")
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))

        first, second = await send(database, lane=None), await send(database, lane=None)
        worker = Worker(database, fails_once)
        working = asyncio.create_task(worker.run())
        await until(lambda: _has_status(database, second.run_id, "done"))
        await until(lambda: _has_status(database, first.run_id, "done"))
        worker.stop()
        await working

    on(opener, acts)
