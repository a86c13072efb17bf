"""PostgreSQL: READ COMMITTED, rows locked before they are read, any number of workers."""

from __future__ import annotations

import asyncio
import logging
import select
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import psycopg
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.exc import InvalidatePoolError, OperationalError

from colleague.clock import Clock
from colleague.failpoints import failpoint
from colleague.store.migrate import migrate
from colleague.store.tx import Tx

T = TypeVar("T")

_MIGRATION_LOCK = 4_918_273
_DEADLOCK_DETECTED = "40P01"
MOST_DEADLOCKS = 5
REST_SECONDS = 5.0

log = logging.getLogger(__name__)


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
            hide_parameters=True,
        )
        _ask_after_rest(self._engine)
        # in READ COMMITTED each statement sees its own moment, so reading gains nothing from a transaction
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")
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
        """Work that met other work head on was rolled back, and is simply done again."""
        for _ in range(MOST_DEADLOCKS):
            try:
                return self._write_once(work)
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", "") != _DEADLOCK_DETECTED:
                    raise
                log.warning("two transactions met head on; one of them is done again")
        return self._write_once(work)

    def _write_once(self, work: Callable[[Tx], T]) -> T:
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
        with self._reading.connect() as connection:
            return work(Tx(connection, self._clock, locks_rows=False))


def _ask_after_rest(engine: Engine) -> None:
    """A connection that was not used for a while, or where the server said something unasked, may have been
    cut. It is asked before it is used again; asking each time would cost as much as most statements do."""

    @event.listens_for(engine, "checkin")
    def _rested(_: Any, entry: Any) -> None:
        entry.info["since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _asked(raw: Any, entry: Any, _: Any) -> None:
        since = entry.info.get("since")
        if since is not None and (time.monotonic() - since > REST_SECONDS or _was_told(raw)):
            _require_answer(engine, raw)


def _was_told(raw: Any) -> bool:
    readable, _, _ = select.select([raw.fileno()], [], [], 0)
    return bool(readable)


def _require_answer(engine: Engine, raw: Any) -> None:
    try:
        engine.dialect.do_ping(raw)
    except psycopg.Error as error:
        raise InvalidatePoolError(str(error)) from error
