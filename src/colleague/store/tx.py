"""One transaction, as the rest of the store sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, CursorResult, Executable, Row, Table

from colleague.clock import Clock
from colleague.store.record import record
from colleague.store.statement import (
    PLUS_ONE,
    insert_once_statement,
    insert_statement,
    select_statement,
    update_statement,
)

T = TypeVar("T")
R = TypeVar("R")


Listeners = Sequence[Callable[[], None]]
Watchers = Sequence[Callable[[str], None]]


class Fenced(Exception):
    """Someone else has taken this run over; whatever this worker writes no longer counts."""


class Tx:
    """A connection inside a transaction. What `after_commit` is given happens once the commit is on disk."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock,
        *,
        locks_rows: bool,
        listeners: Listeners = (),
        watchers: Watchers = (),
    ) -> None:
        self.connection = connection
        self.now = clock.now()
        self.locks_rows = locks_rows
        self.callbacks: list[Callable[[], None]] = []
        self._listeners = listeners
        self._watchers = watchers

    def execute(self, statement: Executable, values: Any = None) -> CursorResult[Any]:
        return self.connection.execute(statement, values)

    def one(self, statement: Executable) -> Row[Any] | None:
        return self.connection.execute(statement).first()

    def all(self, statement: Executable) -> list[Row[Any]]:
        return list(self.connection.execute(statement).all())

    def changed(self, statement: Executable) -> bool:
        """Whether an update or delete met a row."""
        return self.connection.execute(statement).rowcount > 0

    def insert(self, table: Table, **values: Any) -> None:
        self.connection.execute(insert_statement(table, tuple(values)), _storable(values))

    def insert_all(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Rows of the same columns, in one round trip."""
        statement = insert_statement(table, tuple(rows[0]))
        self.connection.execute(statement, [_storable(row) for row in rows])

    def insert_once(self, table: Table, **values: Any) -> None:
        """Does nothing when the row is there already."""
        statement = insert_once_statement(table, tuple(values), self.locks_rows)
        self.connection.execute(statement, _storable(values))

    def update(self, table: Table, where: dict[str, Any], **values: Any) -> bool:
        """Whether a row was met. A value may be PLUS_ONE."""
        plus = frozenset(name for name, value in values.items() if value is PLUS_ONE)
        statement = update_statement(table, tuple(where), tuple(values), plus)
        given = {f"where_{name}": value for name, value in where.items()}
        given |= {f"set_{name}": value for name, value in _storable(values).items() if name not in plus}
        return self.connection.execute(statement, given).rowcount > 0

    def find(
        self,
        kind: type[R],
        table: Table,
        where: dict[str, Any],
        *,
        order: tuple[str, ...] = (),
        lock: bool = False,
    ) -> list[R]:
        """Rows as records; with `lock`, held until the commit where the database locks rows."""
        columns = tuple(kind.__dataclass_fields__)  # type: ignore[attr-defined]
        statement = select_statement(table, columns, tuple(where), order, lock and self.locks_rows)
        rows = self.connection.execute(statement, {f"where_{name}": value for name, value in where.items()})
        return [record(kind, row) for row in rows]

    def tell_workers(self) -> None:
        for listener in list(self._listeners):
            listener()

    def tell_watchers(self, subject: str) -> None:
        for watcher in list(self._watchers):
            watcher(subject)

    def after_commit(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)


def _storable(values: dict[str, Any]) -> dict[str, Any]:
    """PostgreSQL keeps no NUL in a text, and that must not lose a result. JSON escapes its own."""
    return {
        name: value.replace("\0", "\ufffd") if isinstance(value, str) else value
        for name, value in values.items()
    }


class Database(Protocol):
    """Where transactions come from. Work runs on a thread, so it is a plain function of a Tx."""

    shared: bool
    """Whether other processes work on it, too."""
    listeners: list[Callable[[], None]]
    """Called, from any thread, when there may be work."""
    watchers: list[Callable[[str], None]]
    """Called, from any thread, with what has news: the key of a session, or the id of an ended run."""

    async def write(self, work: Callable[[Tx], T]) -> T: ...
    async def read(self, work: Callable[[Tx], T]) -> T: ...
    async def close(self) -> None: ...
    def lease_now(self, tx: Tx) -> int:
        """The time that leases go by, in milliseconds; nobody can move it."""
        ...
