"""PostgreSQL: rows locked before they are read to be written, reads of one moment, any number of workers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import psycopg

from colleague.clock import Clock
from colleague.failpoints import failpoint
from colleague.store.migrate import migrate
from colleague.store.postgres_commit import NotCommitted, begin, commit, require_committed
from colleague.store.postgres_connection import PostgresConnections
from colleague.store.postgres_errors import cannot_now, is_conflict, is_connection_lost, unavailable
from colleague.store.sql import text
from colleague.store.tx import Tx
from colleague.threads import started_pool

if TYPE_CHECKING:
    from colleague.hooks.events import HookEvent
    from colleague.store.run import Hold
    from colleague.store.unfinished import UnfinishedAnswer

T = TypeVar("T")

_BEGIN_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_MIGRATION_LOCK = 4_918_273
PAUSES = (0.0, 0.05, 0.1, 0.25, 0.5)
"""Seconds before the same is done again."""

log = logging.getLogger(__name__)


class PostgresDatabase:
    """A database that many processes share."""

    shared = True

    def __init__(self, url: str, clock: Clock, *, connections: int = 8) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.watchers: list[Callable[[str], None]] = []
        self.observers: list[Callable[[HookEvent], None]] = []
        self.unfinished: dict[Hold, UnfinishedAnswer] = {}
        self.url = url
        self._clock = clock
        self._away = False
        self._connections = PostgresConnections(url)
        self._threads = started_pool(connections, "postgresql")
        try:
            self.identity = self._threads.submit(self._open).result()
        except BaseException:
            self.stop()
            raise

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._write, work)

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    async def close(self) -> None:
        self.stop()

    def stop(self) -> None:
        self._threads.shutdown()
        self._connections.close()

    def lease_now(self, tx: Tx) -> int:
        return int(
            tx.execute(text("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")).scalar_one()
        )

    def _open(self) -> str:
        return self._until_done(lambda: self._write_once(_migrate, at=_nowhere))

    def _write(self, work: Callable[[Tx], T]) -> T:
        return self._until_done(lambda: self._write_once(work))

    def _read(self, work: Callable[[Tx], T]) -> T:
        return self._until_done(lambda: self._read_once(work))

    def _until_done(self, once: Callable[[], T]) -> T:
        """Does again what certainly did not happen, a few times; then the database is away.

        While it is known to be away each is tried once, so that nobody waits long for a no."""
        pauses = iter(PAUSES)
        while True:
            try:
                result = once()
            except (psycopg.Error, NotCommitted) as error:
                time.sleep(self._pause_after(error, pauses))
            else:
                self._away = False
                return result

    def _pause_after(self, error: Exception, pauses: Iterator[float]) -> float:
        """How long to wait before it is done again. Raises when it is not."""
        pause = next(pauses, None)
        if is_conflict(error):
            log.warning("two transactions met head on; one of them is done again")
            if pause is None:
                raise error
            return 0.0
        lost = isinstance(error, NotCommitted) or is_connection_lost(error)
        if not lost and not cannot_now(error):
            raise error
        if lost and pause is not None and not self._away:
            if pause == PAUSES[0]:
                log.info("a connection to the database was lost; what it was for is done again")
            return pause
        self._away = self._away or lost
        raise unavailable(error, self.url) from error

    def _write_once(self, work: Callable[[Tx], T], *, at: Callable[[str], None] = failpoint) -> T:
        with self._connections.use() as connection:
            transaction = begin(connection)
            tx = Tx(
                connection.raw,
                self._clock,
                postgresql=True,
                locks_rows=True,
                listeners=self.listeners,
                watchers=self.watchers,
                observers=self.observers,
                unfinished=self.unfinished,
            )
            result = work(tx)
            at("commit.before")
            answered = commit(connection)
        if not answered:
            require_committed(self._connections, transaction)
        at("commit.after")
        for callback in tx.callbacks:
            callback()
        return result

    def _read_once(self, work: Callable[[Tx], T]) -> T:
        """All statements see the same moment, as on SQLite."""
        with self._connections.use() as connection:
            connection.raw.execute(_BEGIN_READING)
            result = work(Tx(connection.raw, self._clock, postgresql=True))
            connection.raw.execute("COMMIT")
        return result


def _nowhere(_: str) -> None:
    """Opening a database is no commit of the work, where a crash is tried."""


def _migrate(tx: Tx) -> str:
    tx.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
    return migrate(tx, "the database")
