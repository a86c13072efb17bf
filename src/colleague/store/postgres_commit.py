"""BEGIN and COMMIT on PostgreSQL, and finding out what became of a commit whose answer never came.

The number of a transaction is read when it begins, in the same round trip, and its status can be asked for
afterwards. A server that crashed may give the number of a lost transaction to another one. So "committed" is
believed only when the server has not restarted since the transaction began. "Aborted" is always true."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from colleague.errors import CommitUnknown
from colleague.store.postgres_errors import is_connection_lost, original

FIND_OUT_SECONDS = 5.0
PAUSE = 0.1

_LIFE = "concat(pg_postmaster_start_time(), ' ', pg_stat_get_bgwriter_stat_reset_time())"
"""Other after a restart, and after a crash from which the server recovered by itself."""
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT txid_current()"
_ASK = text(f"SELECT {_LIFE} AS life, txid_status(CAST(:number AS bigint)) AS status")
_IN_THE_FUTURE = "22023"


@dataclass(frozen=True)
class Transaction:
    """A transaction that has begun: its number, and the life of the server in which it has it."""

    number: int
    life: str


class NotCommitted(Exception):
    """The connection was lost during the commit, and nothing of it happened."""


def note_life(raw: Any, info: dict[str, Any]) -> None:
    """For a new connection: remembers in which life of the server it was made."""
    raw.autocommit = True
    try:
        info["life"] = raw.execute(f"SELECT {_LIFE}").fetchone()[0]
    except psycopg.Error:
        raw.close()
        raise


def begin(connection: Connection) -> Transaction:
    raw: Any = connection.connection.dbapi_connection
    try:
        cursor = raw.execute(_BEGIN)
    except psycopg.Error as error:
        connection.invalidate(error)
        raise
    cursor.nextset()
    return Transaction(int(cursor.fetchone()[0]), str(connection.info["life"]))


def commit(connection: Connection) -> bool:
    """False when the connection was lost, and with it the answer."""
    raw: Any = connection.connection.dbapi_connection
    try:
        answer = raw.execute("COMMIT").statusmessage
    except psycopg.Error as error:
        if not is_connection_lost(error):
            raise
        connection.invalidate(error)
        return False
    if answer != "COMMIT":
        raise psycopg.errors.InFailedSqlTransaction("the transaction had failed before its commit")
    return True


def require_committed(engine: Engine, transaction: Transaction) -> None:
    """Asks until it is known. Raises NotCommitted, or CommitUnknown when it cannot be found out."""
    deadline = time.monotonic() + FIND_OUT_SECONDS
    while True:
        happened = _ask(engine, transaction)
        if happened is True:
            return
        if happened is False:
            raise NotCommitted
        if time.monotonic() > deadline:
            raise _unknown("the database did not come back to tell")
        time.sleep(PAUSE)


def _ask(engine: Engine, transaction: Transaction) -> bool | None:
    """Whether it was committed; None when that is not known yet."""
    try:
        with engine.connect() as connection:
            row = connection.execute(_ASK, {"number": transaction.number}).one()
    except (DBAPIError, psycopg.Error) as error:
        if is_connection_lost(error):
            return None
        if getattr(original(error), "sqlstate", None) == _IN_THE_FUTURE:
            return False
        raise
    return _judge(row.status, same_life=row.life == transaction.life)


def _judge(status: str | None, *, same_life: bool) -> bool | None:
    if status == "aborted" or (status == "in progress" and not same_life):
        return False
    if status == "in progress":
        return None
    if status == "committed" and same_life:
        return True
    raise _unknown("the database was restarted meanwhile")


def _unknown(reason: str) -> CommitUnknown:
    return CommitUnknown(
        f"the connection to the database was lost during a commit, and {reason}",
        hint="look whether it happened before you do it again",
    )
