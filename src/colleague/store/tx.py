"""One transaction, as the rest of the store sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from colleague.clock import Clock
from colleague.store.record import record
from colleague.store.row import Row, StatementResult
from colleague.store.sql import Statement, Table
from colleague.store.usual_statements import (
    PLUS_ONE,
    insert_once_statement,
    insert_statement,
    select_statement,
    update_statement,
)

if TYPE_CHECKING:
    from colleague.hooks.events import HookEvent
    from colleague.store.run import Hold
    from colleague.store.unfinished import UnfinishedAnswer

T = TypeVar("T")
R = TypeVar("R")
Values = Mapping[str, Any]
NO_VALUES: Values = MappingProxyType({})

Listeners = Sequence[Callable[[], None]]
Watchers = Sequence[Callable[[str], None]]
Observers = Sequence[Callable[["HookEvent"], None]]

ANYTHING = "*"
"""The subject of changes that only open pages want to hear of."""


class Fenced(Exception):
    """Someone else has taken this run over; whatever this worker writes no longer counts."""


class Cursor(Protocol):
    """The answer of a database to one statement."""

    @property
    def rowcount(self) -> int: ...
    @property
    def description(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class DatabaseConnection(Protocol):
    """A connection as the libraries of both databases have it."""

    def execute(self, sql: Any, values: Any = ..., /) -> Any: ...
    def cursor(self) -> Any: ...


class Tx:
    """A connection inside a transaction. What `after_commit` is given happens once the commit is on disk."""

    def __init__(
        self,
        connection: DatabaseConnection,
        clock: Clock,
        *,
        postgresql: bool = False,
        locks_rows: bool = False,
        listeners: Listeners = (),
        watchers: Watchers = (),
        observers: Observers = (),
        unfinished: Mapping[Hold, UnfinishedAnswer] = MappingProxyType({}),
    ) -> None:
        self.connection = connection
        self.postgresql = postgresql
        self.now = clock.now()
        self.locks_rows = locks_rows
        self.unfinished = unfinished
        self.callbacks: list[Callable[[], None]] = []
        self._listeners = listeners
        self._watchers = watchers
        self._observers = observers

    def execute(
        self, statement: Statement, values: Mapping[str, Any] = MappingProxyType({})
    ) -> StatementResult:
        return StatementResult(self._run(statement, values))

    def one(self, statement: Statement) -> Row | None:
        return self.execute(statement).first()

    def all(self, statement: Statement) -> list[Row]:
        return self.execute(statement).all()

    def rows(self, statement: Statement, **values: Any) -> list[Sequence[Any]]:
        """What a statement answers that was built once, with a `bindparam` for each of the values."""
        return list(self._run(statement, values).fetchall())

    def changed(self, statement: Statement) -> bool:
        """Whether an update or delete met a row."""
        return self.execute(statement).rowcount > 0

    def insert(self, table: Table, **values: Any) -> None:
        self._run(insert_statement(table, tuple(values)), _storable(values))

    def insert_all(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """Rows of the same columns, in one round trip."""
        sql = insert_statement(table, tuple(rows[0])).rendered(postgresql=self.postgresql)
        self.connection.cursor().executemany(sql.text, [sql.given(_storable(row)) for row in rows])

    def insert_once(self, table: Table, **values: Any) -> None:
        """Does nothing when the row is there already."""
        self._run(insert_once_statement(table, tuple(values)), _storable(values))

    def update(self, table: Table, where: dict[str, Any], **values: Any) -> bool:
        """Whether a row was met. A value may be PLUS_ONE."""
        plus = frozenset(name for name, value in values.items() if value is PLUS_ONE)
        statement = update_statement(table, tuple(where), tuple(values), plus)
        given = {f"where_{name}": value for name, value in where.items()}
        given |= {f"set_{name}": value for name, value in _storable(values).items() if name not in plus}
        return bool(self._run(statement, given).rowcount > 0)

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
        rows = self._run(statement, {f"where_{name}": value for name, value in where.items()}).fetchall()
        return [record(kind, row) for row in rows]

    def _run(self, statement: Statement, values: Values) -> Cursor:
        sql = statement.rendered(postgresql=self.postgresql)
        cursor: Cursor = self.connection.execute(sql.text, sql.given(values))
        return cursor

    def tell_workers(self) -> None:
        for listener in list(self._listeners):
            listener()

    def tell_changed(self, subject: str) -> None:
        """After the commit, whoever watches a session, or works on a run, looks at it again."""
        self.after_commit(partial(self.tell_watchers, subject))

    def tell_pages(self) -> None:
        """After the commit, open pages load again what they show; nobody else is concerned."""
        self.tell_changed(ANYTHING)

    def tell_watchers(self, subject: str) -> None:
        for watcher in list(self._watchers):
            watcher(subject)

    @property
    def is_observed(self) -> bool:
        return bool(self._observers)

    def tell_observers(self, event: HookEvent) -> None:
        """Once the commit is on disk."""
        for observe in self._observers:
            self.after_commit(partial(observe, event))

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
    observers: list[Callable[[HookEvent], None]]
    """Called, from any thread, with sessions that begin and end."""
    unfinished: dict[Hold, UnfinishedAnswer]
    """What the workers of this process are being told by their models."""

    async def write(self, work: Callable[[Tx], T]) -> T: ...
    async def read(self, work: Callable[[Tx], T]) -> T: ...
    async def close(self) -> None: ...
    def lease_now(self, tx: Tx) -> int:
        """The time that leases go by, in milliseconds; nobody can move it."""
        ...
