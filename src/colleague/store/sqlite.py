"""SQLite: one writer thread, whose commits are shared by everyone who asked meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from colleague.clock import Clock, boot_time_ms
from colleague.errors import DatabaseUnavailable
from colleague.failpoints import failpoint
from colleague.files import private_folder, private_opener
from colleague.store.migrate import migrate
from colleague.store.sqlite_errors import as_unavailable
from colleague.store.tx import Tx
from colleague.threads import started_pool

if TYPE_CHECKING:
    from colleague.hooks.events import HookEvent
    from colleague.store.run import Hold
    from colleague.store.unfinished import UnfinishedAnswer

T = TypeVar("T")

log = logging.getLogger(__name__)

MOST_PER_COMMIT = 200
BUSY_SECONDS = 30.0
"""How long another program may hold the file."""
RECONNECT_SECONDS = 0.5
_WAL_TRIES = 60


@dataclass(frozen=True)
class _Job:
    """Work that waits for the writer."""

    work: Callable[[Tx], Any]
    future: Future[Any]


class SqliteDatabase:
    """The database of one home. Only the process that holds the home's lock writes to it."""

    shared = False

    def __init__(self, file: Path, clock: Clock) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.watchers: list[Callable[[str], None]] = []
        self.observers: list[Callable[[HookEvent], None]] = []
        self.unfinished: dict[Hold, UnfinishedAnswer] = {}
        self._clock = clock
        self._file = file
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = False
        self._readers = started_pool(2, "sqlite-read")
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        private_folder(file.parent)
        os.close(private_opener(str(file), os.O_RDWR | os.O_CREAT))  # its WAL gets the same mode
        with self._telling(), contextlib.closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            self.identity = migrate(Tx(connection, clock), str(file))
            connection.execute("COMMIT")
        self._writer = threading.Thread(target=self._write_forever, name="sqlite-write", daemon=True)
        self._writer.start()

    async def write(self, work: Callable[[Tx], T]) -> T:
        if self._closed:
            raise DatabaseUnavailable(f"the database {self._file} was closed")
        job = _Job(work, Future())
        self._jobs.put(job)
        result: T = await asyncio.wrap_future(job.future)
        return result

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def close(self) -> None:
        await asyncio.to_thread(self.stop)

    def stop(self) -> None:
        self._closed = True
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        for connection in self._opened:
            connection.close()

    def lease_now(self, tx: Tx) -> int:  # noqa: ARG002 - PostgreSQL asks the database
        return boot_time_ms()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Trouble of the disk is told in a sentence."""
        try:
            yield
        except Exception as error:
            raise as_unavailable(error, self._file) from error

    def _read(self, work: Callable[[Tx], T]) -> T:
        with self._telling():
            connection = self._reading()
            connection.execute("BEGIN")
            try:
                return work(Tx(connection, self._clock))
            finally:
                connection.execute("ROLLBACK")

    def _reading(self) -> sqlite3.Connection:
        """Each thread that reads keeps its connection."""
        found: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = connect(self._file)
            self._opened.append(found)
        return found

    def _write_forever(self) -> None:
        """A connection that cannot be used any more is replaced; meanwhile nobody waits without an answer."""
        ended = False
        while not ended and not (self._closed and self._jobs.empty()):
            try:
                with contextlib.closing(connect(self._file)) as connection:
                    ended = self._write_on(connection)
            except Exception as error:
                log.exception("the connection to the database is replaced")
                ended = self._refuse_waiting(as_unavailable(error, self._file))
                time.sleep(RECONNECT_SECONDS)

    def _write_on(self, connection: sqlite3.Connection) -> bool:
        """Writes until asked to end; raises when the connection cannot be used any more."""
        while (first := self._jobs.get()) is not None:
            if not self._write_batch(connection, first):
                return True
        return True

    def _write_batch(self, connection: sqlite3.Connection, first: _Job) -> bool:
        """One outer transaction for all that is waiting. False when the writer was asked to end."""
        done: list[_Done] = []
        job: _Job | None = first
        open_for_more, begun = True, False
        try:
            connection.execute("BEGIN IMMEDIATE")
            begun = True
            while job is not None:
                self._write_one(connection, job, done)
                job = self._next(len(done))
                open_for_more = job is not _END
                job = job if open_for_more else None
            failpoint("commit.before")
            connection.execute("COMMIT")
            failpoint("commit.after")
        except BaseException as error:  # noqa: BLE001 - every waiter must learn of it, whatever it was
            told = as_unavailable(error, self._file)
            _refuse([*(each for each, _, _ in done), *([job] if job else [])], told)
            if not begun and self._refuse_waiting(told):
                return False
            _roll_back(connection)
            return open_for_more
        _tell(done)
        return open_for_more

    def _refuse_waiting(self, error: BaseException) -> bool:
        """What could not even begin would make each that waits wait as long again. True when asked to end."""
        with contextlib.suppress(queue.Empty):
            while (job := self._jobs.get_nowait()) is not None:
                _refuse([job], error)
            return True
        return False

    def _next(self, count: int) -> _Job | None:
        if count >= MOST_PER_COMMIT:
            return None
        try:
            job = self._jobs.get_nowait()
        except queue.Empty:
            return None
        return _END if job is None else job

    def _write_one(self, connection: sqlite3.Connection, job: _Job, done: list[_Done]) -> None:
        """A refused request leaves no row behind and does not disturb the others.

        It is told after the commit, too: what refused it may be another request of the same commit."""
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked has gone, and nothing was done yet
        tx = Tx(
            connection,
            self._clock,
            listeners=self.listeners,
            watchers=self.watchers,
            observers=self.observers,
            unfinished=self.unfinished,
        )
        connection.execute("SAVEPOINT job")
        try:
            result = job.work(tx)
        except Exception as error:
            if not connection.in_transaction:
                raise  # a full disk can roll everything back: what followed would commit by itself
            connection.execute("ROLLBACK TO job")
            connection.execute("RELEASE job")
            done.append((job, None, as_unavailable(error, self._file)))
            return
        connection.execute("RELEASE job")
        done.append((job, tx, result))


_END = _Job(lambda _: None, Future())
_Done = tuple[_Job, Tx | None, Any]
"""A request with its transaction and result; or with none and the reason why it was refused."""


def _tell(done: list[_Done]) -> None:
    """Only now, after the outer commit, does anyone hear of what was done."""
    for job, tx, result in done:
        if tx is None:
            job.future.set_exception(result)
            continue
        for callback in tx.callbacks:
            try:
                callback()
            except Exception:
                log.exception("what should follow a commit failed")
        job.future.set_result(result)


def _refuse(jobs: Sequence[_Job], error: BaseException) -> None:
    for job in jobs:
        future = job.future
        if not future.done() and (future.running() or future.set_running_or_notify_cancel()):
            future.set_exception(error)


def _roll_back(connection: sqlite3.Connection) -> None:
    """Raises for a connection that cannot even do that: the writer opens another."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def connect(file: Path) -> sqlite3.Connection:
    """A connection on which nothing begins or ends a transaction by itself."""
    connection = sqlite3.connect(
        file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=500
    )
    try:
        _turn_on_wal(connection)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _turn_on_wal(connection: sqlite3.Connection) -> None:
    """Two processes that open a new file at once meet here, and SQLite does not wait for this by itself."""
    for left in range(_WAL_TRIES, -1, -1):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if not left:
                raise
            time.sleep(0.05)
