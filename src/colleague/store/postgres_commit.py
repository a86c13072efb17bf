"""BEGIN and COMMIT on PostgreSQL, and finding out what became of a commit whose answer never came.

The number of a transaction is read when it begins, in the same round trip, and its status can be asked for
afterwards. A server that crashed may give the number of a lost transaction to another one. So "committed" is
believed only when the server has not restarted since the transaction began. "Aborted" is always true."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psycopg

from colleague.errors import CommitUnknown
from colleague.store.postgres_connection import LIFE, PostgresConnection, PostgresConnections
from colleague.store.postgres_errors import is_connection_lost

FIND_OUT_SECONDS = 5.0
PAUSE = 0.1

_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT txid_current()"
_ASK = f"SELECT {LIFE}, txid_status(%s::bigint)"
_IN_THE_FUTURE = "22023"


@dataclass(frozen=True)
class Transaction:
    """A transaction that has begun: its number, and the life of the server in which it has it."""

    number: int
    life: str


class NotCommitted(Exception):
    """The connection was lost during the commit, and nothing of it happened."""


def begin(connection: PostgresConnection) -> Transaction:
    cursor = connection.raw.execute(_BEGIN)
    cursor.nextset()
    [number] = cursor.fetchone() or [0]
    return Transaction(int(number), connection.life)


def commit(connection: PostgresConnection) -> bool:
    """False when the connection was lost, and with it the answer."""
    try:
        answer = connection.raw.execute("COMMIT").statusmessage
    except psycopg.Error as error:
        if not is_connection_lost(error):
            raise
        connection.raw.close()
        return False
    if answer != "COMMIT":
        raise psycopg.errors.InFailedSqlTransaction("the transaction had failed before its commit")
    return True


def require_committed(connections: PostgresConnections, transaction: Transaction) -> None:
    """Asks until it is known. Raises NotCommitted, or CommitUnknown when it cannot be found out."""
    deadline = time.monotonic() + FIND_OUT_SECONDS
    while True:
        happened = _ask(connections, transaction)
        if happened is True:
            return
        if happened is False:
            raise NotCommitted
        if time.monotonic() > deadline:
            raise _unknown("the database did not come back to tell")
        time.sleep(PAUSE)


def _ask(connections: PostgresConnections, transaction: Transaction) -> bool | None:
    """Whether it was committed; None when that is not known yet."""
    try:
        with connections.use() as connection:
            [life, status] = connection.raw.execute(_ASK, [transaction.number]).fetchone() or ["", None]
    except psycopg.Error as error:
        if is_connection_lost(error):
            return None
        if error.sqlstate == _IN_THE_FUTURE:
            return False
        raise
    return _judge(status, same_life=life == transaction.life)


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
