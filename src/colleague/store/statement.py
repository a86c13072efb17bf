"""Statements of the usual shapes, built once: building one costs ten times as much as running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    CompoundSelect,
    Dialect,
    Insert,
    Select,
    Table,
    Update,
    bindparam,
    insert,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

BuiltStatement = Insert | Update | Select[Any] | CompoundSelect[Any]
"""One that is built once and given its values each time."""
PLUS_ONE = object()
"""As a value in an update: one more than before."""


@cache
def insert_statement(table: Table, names: tuple[str, ...]) -> Insert:
    return insert(table).values({name: bindparam(name) for name in names})


def dialect_insert(postgresql: bool):  # type: ignore[no-untyped-def]  # noqa: ANN201, RUF100 - the dialects share no type
    """The dialect's INSERT, for ON CONFLICT. A process on SQLite does not import PostgreSQL's."""
    if postgresql:
        from sqlalchemy.dialects.postgresql import insert as pg_insert

        return pg_insert
    return sqlite_insert


@cache
def insert_once_statement(table: Table, names: tuple[str, ...], postgresql: bool) -> Insert:
    """Nothing happens when the row is there already."""
    statement = dialect_insert(postgresql)(table).values({name: bindparam(name) for name in names})
    once: Insert = statement.on_conflict_do_nothing()
    return once


@cache
def update_statement(
    table: Table, where: tuple[str, ...], names: tuple[str, ...], plus: frozenset[str]
) -> Update:
    conditions = [table.c[name] == bindparam(f"where_{name}") for name in where]
    values: dict[str, Any] = {
        name: table.c[name] + 1 if name in plus else bindparam(f"set_{name}") for name in names
    }
    return update(table).where(*conditions).values(values)


@cache
def select_statement(
    table: Table, columns: tuple[str, ...], where: tuple[str, ...], order: tuple[str, ...], lock: bool
) -> Select[Any]:
    conditions = [table.c[name] == bindparam(f"where_{name}") for name in where]
    query = select(*(table.c[name] for name in columns)).where(*conditions)
    query = query.order_by(*(table.c[name] for name in order)) if order else query
    return query.with_for_update() if lock else query


@dataclass(frozen=True)
class SqliteText:
    """A statement as SQLite's own library takes it: the text, and its parameters in order."""

    text: str
    names: tuple[str, ...]
    fixed: Mapping[str, Any]

    def ordered(self, values: Mapping[str, Any]) -> list[Any]:
        return [values[name] if name in values else self.fixed[name] for name in self.names]


@cache
def _text_dialect() -> Dialect:
    """One for all statements: what it found out about a type is kept in it."""
    return sqlite_dialect(paramstyle="qmark")


@cache
def sqlite_text(statement: BuiltStatement) -> SqliteText:
    """Only for what is built once, as above: such statements are few, and the same object each time."""
    compiled = statement.compile(dialect=_text_dialect())
    fixed = {name: value for name, value in compiled.params.items() if value is not None}
    return SqliteText(str(compiled), tuple(compiled.positiontup or ()), fixed)
