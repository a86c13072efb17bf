"""A database that is away for a while, in each of its ways: nothing happens twice, and nothing is left in
nobody's hands."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.errors import CommitUnknown, DatabaseUnavailable
from colleague.store import postgres_commit, postgresql
from colleague.store import sqlite as store_sqlite
from colleague.store import sweep as store_sweep
from colleague.store import worker as store_worker
from colleague.store.accept import Accepted, accept
from colleague.store.claims import Taken
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sql import select, text
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import events, runs
from colleague.store.tx import Database, Tx
from colleague.store.worker import Worker
from tests.finish import finish
from tests.integration.store.cutting_proxy import CuttingProxy, cutting_proxy
from tests.integration.store.databases import Opener, administer, new_database
from tests.integration.store.test_store import ARRIVAL, count, on, send
from tests.integration.store.test_worker import at_work, run_of, until


@contextmanager
def unwritable(file: Path) -> Iterator[None]:
    """Another program has the file for itself, and every write fails after a moment."""
    other = sqlite3.connect(file, isolation_level=None, timeout=120)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


class TestWorker:
    @pytest.fixture(autouse=True)
    def _quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_worker, "SWEEP_SECONDS", 0.05)
        monkeypatch.setattr(store_worker, "SHORTEST_REST", 0.1)
        monkeypatch.setattr(store_worker, "LONGEST_REST", 0.2)
        monkeypatch.setattr(store_sqlite, "BUSY_SECONDS", 0.05)

    def test_runs_that_could_not_be_given_back_are_found(self, tmp_path: Path) -> None:
        """The disk fills up under five runs: each fails, and none can be returned before there is room."""

        async def acts() -> None:
            database: Database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
            full, failures = asyncio.Event(), []

            async def ends(taken: Taken) -> None:
                await full.wait()
                try:
                    await database.write(lambda tx: finish(tx, taken.hold, "completed"))
                except DatabaseUnavailable as error:
                    failures.append(error)
                    raise

            accepted = [await send(database, lane=None) for _ in range(5)]
            worker = Worker(database, ends)
            async with at_work(worker):
                await until(lambda: _all_are(database, "running"))
                with unwritable(tmp_path / "db.sqlite"):
                    full.set()
                    await until(lambda: _idle(worker))
                    assert len(failures) == 5
                    assert await _all_are(database, "running"), "nothing could be written down"
                    assert "locked" in worker.health.trouble
                await until(lambda: _all_are(database, "done"))
                assert worker.health.trouble == ""
            for each in accepted:
                run = await run_of(database, each.run_id)
                assert (run.outcome, run.attempt, run.stalls) == ("completed", 1, 0)
            await database.close()

        asyncio.run(acts())

    def test_what_others_hold_is_left_to_them(self, opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_sweep, "GRACE_MS", 60_000)

        async def acts(database: Database, clock: MovableClock) -> None:
            async def hangs(taken: Taken) -> None:
                await asyncio.sleep(60)

            accepted = await send(database)
            async with at_work(Worker(database, hangs)):
                await until(lambda: _all_are(database, "running"))
                epoch = (await run_of(database, accepted.run_id)).epoch
                swept: list[int] = []
                other = Worker(database, hangs)
                other.health.swept = lambda: swept.append(1)  # type: ignore[method-assign]
                async with at_work(other):
                    await until(lambda: _grown(swept, 3))
                run = await run_of(database, accepted.run_id)
                assert (run.status, run.epoch) == ("running", epoch)

        on(opener, acts)

    def test_a_look_that_fails_does_not_touch_what_is_held(self, tmp_path: Path) -> None:
        async def acts() -> None:
            database: Database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
            release = asyncio.Event()
            ended: list[str] = []

            async def ends(taken: Taken) -> None:
                await release.wait()
                await database.write(lambda tx: finish(tx, taken.hold, "completed"))
                ended.append(taken.run.id)

            first = await send(database, lane=None)
            worker = Worker(database, ends)
            async with at_work(worker):
                await until(lambda: _all_are(database, "running"))
                await send(database, lane=None)
                with unwritable(tmp_path / "db.sqlite"):
                    await until(lambda: _troubled(worker))
                release.set()
                await until(lambda: _all_are(database, "done"))
            run = await run_of(database, first.run_id)
            assert run.epoch == 2, "taken once, ended once, never given back"
            await database.close()

        asyncio.run(acts())

    def test_a_run_that_nobody_takes_is_trouble(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from colleague.store import work_health

        monkeypatch.setattr(work_health, "LATE_SECONDS", 1.0)

        async def acts() -> None:
            database: Database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())

            async def hangs(taken: Taken) -> None:
                await asyncio.sleep(60)

            await send(database, lane=None)
            worker = Worker(database, hangs, limit=1)
            async with at_work(worker):
                await until(lambda: _all_are(database, "running"))
                await send(database, lane=None)
                await asyncio.sleep(1.5)
                assert worker.health.trouble == "", "it is full, and a long call is no trouble"
                worker._limit = 2
                worker._rests_until = time.monotonic() + 60  # takes nothing, and says nothing
                await until(lambda: _troubled(worker))
                assert "was not taken" in worker.health.trouble
            await database.close()

        asyncio.run(acts())


async def _all_are(database: Database, status: str) -> bool:
    rows = await database.read(lambda tx: tx.all(select(runs.c.status)))
    return {row.status for row in rows} == {status}


async def _idle(worker: Worker) -> bool:
    return worker.busy == 0


async def _troubled(worker: Worker) -> bool:
    return bool(worker.health.trouble)


async def _grown(found: list[int], least: int) -> bool:
    return len(found) >= least


async def _accepted_at_last(database: Database) -> Accepted:
    """On a busy machine whoever was in the way may take a moment to go."""
    async with asyncio.timeout(240):
        while True:
            try:
                return await send(database)
            except Exception:  # noqa: BLE001 - until the database can be used again
                await asyncio.sleep(0.05)


class TestSqlite:
    def test_locked_by_another_program(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_sqlite, "BUSY_SECONDS", 0.3)
        file = tmp_path / "db.sqlite"

        async def acts() -> None:
            database = SqliteDatabase(file, MovableClock())
            with unwritable(file):
                ends = await asyncio.gather(*(send(database) for _ in range(20)), return_exceptions=True)
            assert {type(end) for end in ends} == {DatabaseUnavailable}
            assert "locked" in str(ends[0])
            assert (await _accepted_at_last(database)).run_id
            await database.close()

        asyncio.run(acts())

    def test_a_writer_that_lost_its_connection_gets_another(self, tmp_path: Path) -> None:
        """Nobody waits for ever, whatever becomes of the connection."""

        def breaks(tx: Tx) -> None:
            connection: Any = tx.connection
            connection.close()

        async def acts() -> None:
            database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
            async with asyncio.timeout(240):
                with pytest.raises(Exception, match="closed"):
                    await database.write(breaks)
                assert (await _accepted_at_last(database)).run_id
                await database.close()
            with pytest.raises(DatabaseUnavailable):
                await send(database)

        asyncio.run(acts())


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    with new_database(postgres_url) as found:
        yield found


@pytest.fixture
def proxy(url: str) -> Iterator[CuttingProxy]:
    with cutting_proxy(url) as found:
        yield found


class TestPostgresql:
    def test_a_transaction_that_was_cut_is_done_again(self, url: str) -> None:
        """The session is ended by the server in the middle of the work, after its rows were written."""

        async def acts() -> None:
            database = PostgresDatabase(url, MovableClock())
            tries: list[int] = []
            told: list[int] = []

            def work(tx: Tx) -> str:
                accepted = accept(tx, ARRIVAL)
                tx.after_commit(lambda: told.append(1))
                tries.append(tx.execute(text("SELECT pg_backend_pid()")).scalar_one())
                if len(tries) == 1:
                    administer(url, f"SELECT pg_terminate_backend({tries[0]}, 5000)")
                tx.execute(text("SELECT 1"))
                return str(accepted.run_id)

            run_id = await database.write(work)
            assert (len(set(tries)), len(tries), told) == (2, 2, [1])
            assert (await run_of(database, run_id)).status == "queued"
            assert await count(database, events) == 1
            await database.close()

        asyncio.run(acts())

    @pytest.mark.parametrize(("when", "tries"), [("before", 2), ("after", 1)])
    def test_a_commit_without_an_answer_is_looked_up(
        self, proxy: CuttingProxy, when: Any, tries: int
    ) -> None:
        """Committed: it is done. Not committed: it is done again. Either way it happens once."""

        async def acts() -> None:
            database = PostgresDatabase(proxy.url, MovableClock())
            done: list[int] = []
            told: list[int] = []

            def work(tx: Tx) -> None:
                done.append(1)
                accept(tx, ARRIVAL)
                tx.after_commit(lambda: told.append(1))

            proxy.cut_next_commit(when)
            await database.write(work)
            assert (proxy.cuts, len(done), told) == (1, tries, [1])
            assert await count(database, events) == 1
            await database.close()

        asyncio.run(acts())

    def test_a_server_that_crashed_meanwhile_is_not_believed(self, proxy: CuttingProxy, url: str) -> None:
        """After a crash the number of the transaction may be that of another one."""
        proxy.meanwhile = lambda: administer(url, "SELECT pg_stat_reset_shared('bgwriter')")

        async def acts() -> None:
            database = PostgresDatabase(proxy.url, MovableClock())
            proxy.cut_next_commit("after")
            with pytest.raises(CommitUnknown, match="was restarted meanwhile"):
                await send(database)
            assert (await send(database)).run_id
            await database.close()

        asyncio.run(acts())

    def test_a_database_that_is_away(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """One sentence, without a password; and once it is known, the next is told at once."""
        monkeypatch.setattr(postgres_commit, "FIND_OUT_SECONDS", 0.2)

        async def acts() -> None:
            with cutting_proxy(url) as proxy:
                database = PostgresDatabase(proxy.url, MovableClock())
                there, proxy.target = proxy.target, "/nowhere"
                administer(
                    url,
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid != pg_backend_pid()",
                )
                slept: list[float] = []
                monkeypatch.setattr(postgresql.time, "sleep", slept.append)
                for _ in range(2):
                    with pytest.raises(DatabaseUnavailable, match="cannot be used") as found:
                        await send(database)
                    assert "postgres:" not in found.value.message.replace("postgresql:", "")
                assert slept == list(postgresql.PAUSES)
                proxy.target = there
                assert (await send(database)).run_id
                await database.close()

        asyncio.run(acts())
