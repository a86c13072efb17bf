"""Statements of the usual shapes, built once: building one costs more than running it."""

from __future__ import annotations

from functools import cache

from colleague.store.sql import (
    InsertStatement,
    Select,
    Table,
    UpdateStatement,
    bindparam,
    insert,
    select,
    update,
)

PLUS_ONE = object()
"""As a value in an update: one more than before."""


@cache
def insert_statement(table: Table, names: tuple[str, ...]) -> InsertStatement:
    return insert(table).values({name: bindparam(name) for name in names})


@cache
def insert_once_statement(table: Table, names: tuple[str, ...]) -> InsertStatement:
    """Nothing happens when the row is there already."""
    return insert_statement(table, names).on_conflict_do_nothing()


@cache
def update_statement(
    table: Table, where: tuple[str, ...], names: tuple[str, ...], plus: frozenset[str]
) -> UpdateStatement:
    conditions = [table.c[name] == bindparam(f"where_{name}") for name in where]
    values = {name: table.c[name] + 1 if name in plus else bindparam(f"set_{name}") for name in names}
    return update(table).where(*conditions).values(values)


@cache
def select_statement(
    table: Table, columns: tuple[str, ...], where: tuple[str, ...], order: tuple[str, ...], lock: bool
) -> Select:
    conditions = [table.c[name] == bindparam(f"where_{name}") for name in where]
    query = select(*(table.c[name] for name in columns)).where(*conditions)
    query = query.order_by(*(table.c[name] for name in order)) if order else query
    return query.with_for_update() if lock else query
