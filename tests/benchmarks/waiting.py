"""Runs that wait for a person: what they cost while they wait, and how soon they go on."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path

from colleague.agent.advance import Advancer
from colleague.agent.events import EventBus
from colleague.agent.models.connections import Connections
from colleague.clock import SystemClock
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Ask, decide, wait
from colleague.store.claims import release_all, take
from colleague.store.sql import select
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import approvals, runs
from colleague.store.tx import Tx
from colleague.store.worker import Worker

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.turn import Assembler, Echo

IDLE_SECONDS = 5.0
DECISIONS = 30


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def fill(database: SqliteDatabase, count: int) -> None:
    """Runs that each wait for one answer."""
    arrival = Arrival("bench", "t", "bench", "{}", "s", None, inputs=json.dumps({"message": "go"}))

    def one(tx: Tx) -> None:
        accept(tx, arrival)
        taken = take(tx, "w", 0)
        assert taken is not None
        wait(tx, taken.hold, [Ask(None, "confirm", "x.y", "{}", "d")])

    for start in range(0, count, 500):
        await asyncio.gather(*(database.write(one) for _ in range(start, min(start + 500, count))))


async def measure(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.sqlite"
        database = SqliteDatabase(file, SystemClock())
        await fill(database, count)
        await database.close()
        started = time.perf_counter()
        database = SqliteDatabase(file, SystemClock())
        await database.write(release_all)
        restart = time.perf_counter() - started
        await work(database, count, restart)
        await database.close()


async def work(database: SqliteDatabase, count: int, restart: float) -> None:
    async with Connections() as connections:
        worker = Worker(database, Advancer(database, Assembler(Echo()), EventBus(), connections))
        working = asyncio.create_task(worker.run())
        await asyncio.sleep(0.5)
        before = cpu_seconds()
        await asyncio.sleep(IDLE_SECONDS)
        idle = (cpu_seconds() - before) / IDLE_SECONDS * 100
        delays = [await decided_to_resumed(database) for _ in range(DECISIONS)]
        worker.stop()
        await working
    print(
        f"{count:6} waiting: {memory_mb():6.0f} MB, idle {idle:4.1f} % of a core, decision to resumed "
        f"{statistics.median(delays) * 1000:5.1f} ms (median), restart {restart * 1000:6.0f} ms"
    )


async def decided_to_resumed(database: SqliteDatabase) -> float:
    """Seconds from a yes to the moment a worker has taken the run."""
    query = select(approvals.c.id, approvals.c.run_id).where(approvals.c.status == "pending").limit(1)
    row = await database.read(lambda tx: tx.one(query))
    assert row is not None
    started = time.perf_counter()
    await database.write(lambda tx: decide(tx, Answer(row.id, "d", "approve", "bench")))
    status = select(runs.c.status).where(runs.c.id == row.run_id)
    while await database.read(lambda tx: tx.execute(status).scalar_one()) in ("waiting", "queued"):
        await asyncio.sleep(0.001)
    return time.perf_counter() - started


def main() -> None:
    for count in (100, 1_000, 10_000):
        asyncio.run(measure(count))


if __name__ == "__main__":
    main()
