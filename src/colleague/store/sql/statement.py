"""SELECT, INSERT, UPDATE and DELETE. Each method makes another statement, so that one can be kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from colleague.store.sql.expression import (
    Alias,
    BindParameter,
    Expression,
    FromClause,
    Label,
    Query,
    RawSql,
    Table,
    and_,
    as_expression,
)
from colleague.store.sql.rendering import Rendered, Rendering

_NAMED = re.compile(r"(?<![:\w]):([a-z_]+)")
"""`:name`, and not the type after `::`."""


class Statement:
    """Something to execute. Its text for a database is made once."""

    _texts: dict[bool, Rendered]

    def rendered(self, *, postgresql: bool) -> Rendered:
        found = self._texts.get(postgresql)
        if found is None:
            out = Rendering(postgresql=postgresql)
            found = self._texts[postgresql] = out.done(self.render(out))
        return found

    def render(self, out: Rendering) -> str:
        raise NotImplementedError

    def _with(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        other.__dict__ = self.__dict__ | changes | {"_texts": {}}
        return other


class TextStatement(Statement):
    """SQL as it was written, with `:name` for each parameter."""

    def __init__(self, sql: str) -> None:
        self._sql, self._texts = sql, {}

    def render(self, out: Rendering) -> str:
        return _NAMED.sub(lambda found: out.place(BindParameter(found[1])), out.raw(self._sql))


class _Filtered(Statement):
    """A statement about the rows that meet all its conditions."""

    _where: tuple[Expression, ...] = ()

    def where(self, *conditions: Expression) -> Self:
        return self._with(_where=(*self._where, *conditions))


class Select(_Filtered, Query):
    _from: tuple[FromClause, ...] = ()
    _joined: tuple[tuple[FromClause, Expression], ...] = ()
    _group: tuple[Expression, ...] = ()
    _order: tuple[Expression, ...] = ()
    _limit: Expression | None = None
    _offset: Expression | None = None
    _distinct = False
    _lock: tuple[Table | None, bool] | None = None

    def __init__(self, columns: Sequence[Expression | Table | Alias | Subquery]) -> None:
        self._texts = {}
        self._read = tuple(each for each in columns if isinstance(each, Subquery))
        self._columns = tuple(column for each in columns for column in _columns(each))

    def select_from(self, *sources: FromClause) -> Select:
        return self._with(_from=(*self._from, *sources))

    def join(self, other: FromClause, on: Expression) -> Select:
        return self._with(_joined=(*self._joined, (other, on)))

    def group_by(self, *columns: Expression) -> Select:
        return self._with(_group=columns)

    def order_by(self, *columns: Expression) -> Select:
        return self._with(_order=(*self._order, *columns))

    def limit(self, most: int | Expression | None) -> Select:
        return self._with(_limit=None if most is None else as_expression(most))

    def offset(self, passed_over: int | Expression) -> Select:
        return self._with(_offset=as_expression(passed_over))

    def distinct(self) -> Select:
        return self._with(_distinct=True)

    def with_for_update(self, *, of: Table | None = None, skip_locked: bool = False) -> Select:
        """Holds the rows until the commit, where the database locks rows."""
        return self._with(_lock=(of, skip_locked))

    def subquery(self) -> Subquery:
        return Subquery(self)

    def as_subquery(self) -> Expression:
        return _Nested(self)

    def render(self, out: Rendering) -> str:
        sources = self._sources(out)
        with out.inside(tuple(table for each in sources for table in each.sources())):
            columns = ", ".join(_selected(out, each) for each in self._columns)
            text = f"SELECT {'DISTINCT ' if self._distinct else ''}{columns}"
            text += f" FROM {', '.join(each.render(out) for each in sources)}"
            text += _where_clause(out, self._where)
            text += _list_clause(out, " GROUP BY ", self._group)
            text += _list_clause(out, " ORDER BY ", self._order)
            return f"{text}{self._limit_clause(out)}{self._lock_clause(out)}"

    def _sources(self, out: Rendering) -> list[FromClause]:
        """What is joined or named, and the tables of columns and conditions; a subquery among several leaves
        out those that stand around it."""
        joined = [source for source, _ in self._joined]
        found = _distinct([*self._read, *self._from, *self._named()])
        covered = [table for each in (*self._from, *joined) for table in each.sources()]
        free = [each for each in found if each in self._from or not _is_among(each, covered)]
        if len(free) > 1:
            free = [each for each in free if not out.is_around(each)]
        if joined:
            free[0] = _all_joined(free[0], self._joined)
        return free

    def _named(self) -> Iterator[FromClause]:
        for each in (*self._columns, *self._where):
            yield from each.sources()

    def _limit_clause(self, out: Rendering) -> str:
        if self._offset is not None and self._limit is None and not out.postgresql:
            return f" LIMIT -1 OFFSET {self._offset.render(out)}"  # SQLite has no OFFSET alone
        limit = "" if self._limit is None else f" LIMIT {self._limit.render(out)}"
        return limit if self._offset is None else f"{limit} OFFSET {self._offset.render(out)}"

    def _lock_clause(self, out: Rendering) -> str:
        if self._lock is None or not out.postgresql:
            return ""
        of, skip_locked = self._lock
        return f" FOR UPDATE{f' OF {of.name}' if of else ''}{' SKIP LOCKED' if skip_locked else ''}"


class Subquery(FromClause):
    """A SELECT whose rows are read by another one."""

    def __init__(self, query: Select) -> None:
        self._query = query

    def render(self, out: Rendering) -> str:
        return f"({self._query.render(out)}) AS subquery"


class _Nested(Expression):
    def __init__(self, query: Select, word: str = "") -> None:
        self._query, self._word = query, word

    def render(self, out: Rendering) -> str:
        return f"{self._word}({self._query.render(out)})"


class Exists(_Nested):
    """Whether any row meets the conditions; the tables around it are those of the statement it stands in."""

    def __init__(self, *conditions: Expression) -> None:
        super().__init__(Select([RawSql("1")]).where(*conditions), "EXISTS ")
        self._conditions = conditions

    def where(self, *conditions: Expression) -> Exists:
        return Exists(*self._conditions, *conditions)


class CompoundSelect(Statement):
    _limit: Expression | None = None

    def __init__(self, parts: Sequence[Select]) -> None:
        self._parts, self._texts = tuple(parts), {}

    def limit(self, most: int) -> CompoundSelect:
        return self._with(_limit=as_expression(most))

    def render(self, out: Rendering) -> str:
        text = " UNION ALL ".join(each.render(out) for each in self._parts)
        return text if self._limit is None else f"{text} LIMIT {self._limit.render(out)}"


class _Changing(_Filtered):
    """A statement that changes one table."""

    _returning: tuple[Expression, ...] = ()

    def __init__(self, table: Table) -> None:
        self._table, self._texts = table, {}

    def returning(self, *columns: Expression) -> Self:
        return self._with(_returning=columns)

    def _end(self, out: Rendering) -> str:
        return f"{_where_clause(out, self._where)}{_list_clause(out, ' RETURNING ', self._returning)}"


class _Assigning(_Changing):
    _values: Mapping[str, Expression] = {}

    def values(self, given: Mapping[str, object] | None = None, /, **values: object) -> Self:
        found = {name: as_expression(value) for name, value in {**(given or {}), **values}.items()}
        return self._with(_values={**self._values, **found})


class InsertStatement(_Assigning):
    _conflict = ""
    _keys: tuple[str, ...] = ()
    _replaced: Mapping[str, Expression] = {}
    _replaced_where: tuple[Expression, ...] = ()

    @property
    def excluded(self) -> Excluded:
        return Excluded()

    def on_conflict_do_nothing(self) -> InsertStatement:
        return self._with(_conflict="DO NOTHING")

    def on_conflict_do_update(
        self, *, index_elements: Sequence[str], set_: Mapping[str, object], where: Expression | None = None
    ) -> InsertStatement:
        replaced = {name: as_expression(value) for name, value in set_.items()}
        conditions = () if where is None else (where,)
        return self._with(
            _conflict="DO UPDATE", _keys=tuple(index_elements), _replaced=replaced, _replaced_where=conditions
        )

    def render(self, out: Rendering) -> str:
        values = ", ".join(value.render(out) for value in self._values.values())
        text = f"INSERT INTO {self._table.name} ({', '.join(self._values)}) VALUES ({values})"  # noqa: S608 - names of ours, values beside it
        if self._conflict:
            keys = f" ({', '.join(self._keys)})" if self._keys else ""
            text += f" ON CONFLICT{keys} {self._conflict}"
        if self._replaced:
            text += f" SET {_assignments(out, self._replaced)}{_where_clause(out, self._replaced_where)}"
        return f"{text}{self._end(out)}"


class Excluded:
    """The row that met one with the same key: `statement.excluded.name`."""

    def __getattr__(self, name: str) -> Expression:
        return RawSql(f"excluded.{name}")

    def __getitem__(self, name: str) -> Expression:
        return RawSql(f"excluded.{name}")


class UpdateStatement(_Assigning):
    def render(self, out: Rendering) -> str:
        with out.inside((self._table,)):
            assigned = _assignments(out, self._values)
            return f"UPDATE {self._table.name} SET {assigned}{self._end(out)}"  # noqa: S608 - names of ours


class DeleteStatement(_Changing):
    def render(self, out: Rendering) -> str:
        with out.inside((self._table,)):
            return f"DELETE FROM {self._table.name}{self._end(out)}"  # noqa: S608 - names of ours


def select(*columns: Expression | Table | Alias | Subquery) -> Select:
    return Select(columns)


def insert(table: Table) -> InsertStatement:
    return InsertStatement(table)


def update(table: Table) -> UpdateStatement:
    return UpdateStatement(table)


def delete(table: Table) -> DeleteStatement:
    return DeleteStatement(table)


def exists() -> Exists:
    return Exists()


def union_all(*parts: Select) -> CompoundSelect:
    return CompoundSelect(parts)


def text(sql: str) -> TextStatement:
    return TextStatement(sql)


def _columns(selected: Expression | Table | Alias | Subquery) -> Iterator[Expression]:
    if isinstance(selected, Expression):
        yield selected
    elif isinstance(selected, Subquery):
        yield RawSql("*")
    else:
        yield from selected.c


def _selected(out: Rendering, column: Expression) -> str:
    return f"{column.render(out)} AS {column.name}" if isinstance(column, Label) else column.render(out)


def _all_joined(first: FromClause, joined: Sequence[tuple[FromClause, Expression]]) -> FromClause:
    for other, on in joined:
        first = first.join(other, on)
    return first


def _distinct(sources: Sequence[FromClause]) -> list[FromClause]:
    return list({id(each): each for each in sources}.values())


def _is_among(source: FromClause, others: Sequence[FromClause]) -> bool:
    return any(source is other for other in others)


def _where_clause(out: Rendering, conditions: Sequence[Expression]) -> str:
    if not conditions:
        return ""
    return f" WHERE {conditions[0].render(out) if len(conditions) == 1 else and_(*conditions).render(out)}"


def _list_clause(out: Rendering, word: str, columns: Sequence[Expression]) -> str:
    return f"{word}{', '.join(each.render(out) for each in columns)}" if columns else ""


def _assignments(out: Rendering, values: Mapping[str, Expression]) -> str:
    return ", ".join(f"{name} = {value.render(out)}" for name, value in values.items())
