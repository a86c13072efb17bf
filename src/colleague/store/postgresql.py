"""PostgreSQL: READ COMMITTED, rows locked before they are read, any number of workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import Connection, create_engine, text

from colleague.clock import Clock
from colleague.failpoints import failpoint
from colleague.store.migrate import migrate
from colleague.store.tx import Tx

T = TypeVar("T")

_MIGRATION_LOCK = 4_918_273


class PostgresDatabase:
    """A database that many processes share."""

    shared = True

    def __init__(self, url: str, clock: Clock, *, connections: int = 8) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.url = url
        self._clock = clock
        driver_url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        self._engine = create_engine(
            driver_url,
            pool_size=connections,
            max_overflow=0,
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,
        )
        self._threads = ThreadPoolExecutor(connections, thread_name_prefix="postgresql")
        with self._engine.begin() as connection:
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
            migrate(connection, "the database")

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._write, work)

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    async def close(self) -> None:
        self._threads.shutdown()
        self._engine.dispose()

    def lease_now(self, tx: Tx) -> int:
        return int(
            tx.execute(text("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")).scalar_one()
        )

    def _write(self, work: Callable[[Tx], T]) -> T:
        with self._engine.connect() as connection:
            tx = Tx(connection, self._clock, locks_rows=True, listeners=self.listeners)
            result = self._committed(connection, work, tx)
        for callback in tx.callbacks:
            callback()
        return result

    def _committed(self, connection: Connection, work: Callable[[Tx], T], tx: Tx) -> T:
        with connection.begin():
            result = work(tx)
            failpoint("commit.before")
        failpoint("commit.after")
        return result

    def _read(self, work: Callable[[Tx], T]) -> T:
        with self._engine.connect() as connection:
            return work(Tx(connection, self._clock, locks_rows=False))
