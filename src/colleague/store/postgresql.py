"""PostgreSQL: READ COMMITTED, rows locked before they are read, any number of workers."""

from __future__ import annotations

import asyncio
import logging
import select
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import psycopg
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import DBAPIError, InvalidatePoolError

from colleague.clock import Clock
from colleague.failpoints import failpoint
from colleague.store.migrate import migrate
from colleague.store.postgres_commit import NotCommitted, begin, commit, note_life, require_committed
from colleague.store.postgres_errors import cannot_now, is_conflict, is_connection_lost, unavailable
from colleague.store.tx import Tx
from colleague.threads import started_pool

if TYPE_CHECKING:
    from colleague.hooks.events import HookEvent

T = TypeVar("T")

_MIGRATION_LOCK = 4_918_273
PAUSES = (0.0, 0.05, 0.1, 0.25, 0.5)
"""Seconds before the same is done again."""
REST_SECONDS = 5.0
_PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

log = logging.getLogger(__name__)


class PostgresDatabase:
    """A database that many processes share."""

    shared = True

    def __init__(self, url: str, clock: Clock, *, connections: int = 8) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.watchers: list[Callable[[str], None]] = []
        self.observers: list[Callable[[HookEvent], None]] = []
        self.url = url
        self._clock = clock
        self._away = False
        self._engine = create_engine(
            url.replace("postgresql://", "postgresql+psycopg://", 1),
            pool_size=connections,
            max_overflow=0,
            # our own BEGIN and COMMIT; reading needs none, since each statement sees its own moment
            isolation_level="AUTOCOMMIT",
            hide_parameters=True,
            connect_args=connection_settings(url),
        )
        _watch_connections(self._engine)
        self._threads = started_pool(connections, "postgresql")
        self.identity = self._until_done(lambda: self._write_once(_migrate, at=_nowhere))

    async def write(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._write, work)

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    async def close(self) -> None:
        self.stop()

    def stop(self) -> None:
        self._threads.shutdown()
        self._engine.dispose()

    def lease_now(self, tx: Tx) -> int:
        return int(
            tx.execute(text("SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint")).scalar_one()
        )

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
            except (DBAPIError, psycopg.Error, NotCommitted) as error:
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
        with self._engine.connect() as connection:
            transaction = begin(connection)
            tx = Tx(
                connection,
                self._clock,
                locks_rows=True,
                listeners=self.listeners,
                watchers=self.watchers,
                observers=self.observers,
            )
            result = work(tx)
            at("commit.before")
            answered = commit(connection)
        if not answered:
            require_committed(self._engine, transaction)
        at("commit.after")
        for callback in tx.callbacks:
            callback()
        return result

    def _read_once(self, work: Callable[[Tx], T]) -> T:
        with self._engine.connect() as connection:
            return work(Tx(connection, self._clock, locks_rows=False))


def _nowhere(_: str) -> None:
    """Opening a database is no commit of the work, where a crash is tried."""


def _migrate(tx: Tx) -> str:
    tx.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
    return migrate(tx.connection, "the database")


def connection_settings(url: str) -> dict[str, int]:
    """A host that does not answer is noticed in seconds, not hours; what the URL says itself counts."""
    given = parse_qs(urlsplit(url).query)
    return {name: value for name, value in _PATIENCE.items() if name not in given}


def _watch_connections(engine: Engine) -> None:
    """A connection that was not used for a while, or where the server said something unasked, may have been
    cut. It is asked before it is used again; asking each time would cost as much as most statements do."""

    @event.listens_for(engine, "connect")
    def _made(raw: Any, entry: Any) -> None:
        note_life(raw, entry.info)

    @event.listens_for(engine, "checkin")
    def _rested(_: Any, entry: Any) -> None:
        entry.info["since"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def _asked(raw: Any, entry: Any, _: Any) -> None:
        since = entry.info.get("since")
        if since is not None and (time.monotonic() - since > REST_SECONDS or _was_told(raw)):
            _require_answer(engine, raw)


def _was_told(raw: Any) -> bool:
    look = select.poll()  # select.select refuses descriptors from 1024 on
    look.register(raw.fileno(), select.POLLIN)
    return bool(look.poll(0))


def _require_answer(engine: Engine, raw: Any) -> None:
    try:
        engine.dialect.do_ping(raw)
    except psycopg.Error as error:
        raise InvalidatePoolError(str(error)) from error
