"""Parts of statements: tables, columns, parameters, conditions and functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from colleague.store.sql.rendering import Rendering

_ESCAPE = "/"


class FromClause:
    """Where rows come from: a table, an alias of one, a join or a subquery."""

    def render(self, out: Rendering) -> str:
        raise NotImplementedError

    def sources(self) -> Iterator[FromClause]:
        """The tables that it makes readable."""
        yield self

    def join(self, other: FromClause, on: Expression) -> Join:
        return Join(self, other, on, "JOIN")

    def outerjoin(self, other: FromClause, on: Expression) -> Join:
        return Join(self, other, on, "LEFT JOIN")


class Columns:
    """The columns of a table by name: `table.c.id`, `table.c["id"]`."""

    def __init__(self, source: Table | Alias, names: Iterable[str]) -> None:
        self.__dict__.update((name, Column(source, name)) for name in names)

    def __getattr__(self, name: str) -> Column:
        raise AttributeError(f"there is no column {name!r}")

    def __getitem__(self, name: str) -> Column:
        found: Column = self.__dict__[name]
        return found

    def __iter__(self) -> Iterator[Column]:
        return iter(self.__dict__.values())


class Table(FromClause):
    """A table; `columns` are their names with spaces between."""

    def __init__(self, name: str, columns: str) -> None:
        self.name = name
        self.c = Columns(self, columns.split())

    def alias(self) -> Alias:
        return Alias(self)

    def render(self, out: Rendering) -> str:  # noqa: ARG002 - an alias is named by it
        return self.name

    def qualifier(self, out: Rendering) -> str:  # noqa: ARG002 - an alias is named by it
        return self.name


class Alias(FromClause):
    """A table that is read once more in the same statement."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.c = Columns(self, (column.name for column in table.c))

    def render(self, out: Rendering) -> str:
        return f"{self.table.name} AS {out.alias(self)}"

    def qualifier(self, out: Rendering) -> str:
        return out.alias(self)


class Join(FromClause):
    def __init__(self, left: FromClause, right: FromClause, on: Expression, word: str) -> None:
        self._left, self._right, self._on, self._word = left, right, on, word

    def render(self, out: Rendering) -> str:
        on = self._on.render(out)
        return f"{self._left.render(out)} {self._word} {self._right.render(out)} ON {on}"

    def sources(self) -> Iterator[FromClause]:
        yield from self._left.sources()
        yield from self._right.sources()


class Expression:
    """Something with a value. Comparing two of them makes a condition; a value becomes a parameter."""

    parts: tuple[Expression, ...] = ()

    def render(self, out: Rendering) -> str:
        raise NotImplementedError

    def sources(self) -> Iterator[FromClause]:
        """The tables whose columns it names, without those that only a subquery of it reads."""
        for part in self.parts:
            yield from part.sources()

    def __bool__(self) -> bool:
        raise TypeError("a condition of a statement is neither true nor false here")

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # a condition, not an answer
        return Raw("{} IS NULL", self) if other is None else self._compared("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]  # a condition, not an answer
        return Raw("{} IS NOT NULL", self) if other is None else self._compared("<>", other)

    def __lt__(self, other: object) -> Expression:
        return self._compared("<", other)

    def __le__(self, other: object) -> Expression:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> Expression:
        return self._compared(">", other)

    def __ge__(self, other: object) -> Expression:
        return self._compared(">=", other)

    def __add__(self, other: object) -> Expression:
        return Raw("({} + {})", self, as_expression(other))

    def __sub__(self, other: object) -> Expression:
        return Raw("({} - {})", self, as_expression(other))

    def concat(self, other: object) -> Expression:
        return Raw("({} || {})", self, as_expression(other))

    def __and__(self, other: Expression) -> Expression:
        return and_(self, other)

    def __or__(self, other: Expression) -> Expression:
        return or_(self, other)

    def __invert__(self) -> Expression:
        return Raw("NOT ({})", self)

    def is_(self, other: None) -> Expression:
        return self == other

    def is_not(self, other: None) -> Expression:
        return self != other

    def in_(self, values: Iterable[object] | Query) -> Expression:
        return self._among("IN", values, none="1 = 0")

    def not_in(self, values: Iterable[object] | Query) -> Expression:
        return self._among("NOT IN", values, none="1 = 1")

    def like(self, pattern: str) -> Expression:
        return self._compared("LIKE", pattern)

    def startswith(self, text: str) -> Expression:
        return self._matches(f"{_escaped(text)}%")

    def endswith(self, text: str) -> Expression:
        return self._matches(f"%{_escaped(text)}")

    def contains(self, text: str) -> Expression:
        return self._matches(f"%{_escaped(text)}%")

    def icontains(self, text: str) -> Expression:
        """In large or small letters, as far as the database knows them."""
        pattern = Raw("lower(CAST({} AS TEXT))", BindParameter(value=f"%{_escaped(text)}%"))
        return Raw(f"lower({{}}) LIKE {{}} ESCAPE '{_ESCAPE}'", self, pattern)

    def desc(self) -> Expression:
        return Raw("{} DESC", self)

    def label(self, name: str) -> Label:
        return Label(self, name)

    def _compared(self, sign: str, other: object) -> Expression:
        return Raw(f"{{}} {sign} {{}}", self, as_expression(other))

    def _matches(self, pattern: str) -> Expression:
        return Raw(f"{{}} LIKE {{}} ESCAPE '{_ESCAPE}'", self, BindParameter(value=pattern))

    def _among(self, word: str, values: Iterable[object] | Query, *, none: str) -> Expression:
        if isinstance(values, Query):
            return Raw(f"{{}} {word} {{}}", self, values.as_subquery())
        found = [as_expression(value) for value in values]
        if not found:
            return Raw(none)
        return Raw(f"{{}} {word} ({', '.join(['{}'] * len(found))})", self, *found)


class Query:
    """A SELECT, as far as a condition about its rows has to know it."""

    def as_subquery(self) -> Expression:
        raise NotImplementedError


class Column(Expression):
    def __init__(self, table: Table | Alias, name: str) -> None:
        self.table, self.name = table, name

    def render(self, out: Rendering) -> str:
        return f"{self.table.qualifier(out)}.{self.name}"

    def sources(self) -> Iterator[FromClause]:
        yield self.table


class BindParameter(Expression):
    """A value that is passed beside the text: this one, or with a name the one that is given later."""

    def __init__(self, name: str = "", value: object = None) -> None:
        self.name, self.value = name, value

    def render(self, out: Rendering) -> str:
        return out.place(self)


class Raw(Expression):
    """SQL with its parts in the places of `{}`."""

    def __init__(self, sql: str, *parts: Expression) -> None:
        self._sql, self.parts = sql, parts

    def render(self, out: Rendering) -> str:
        return self._sql.format(*(part.render(out) for part in self.parts))


class RawSql(Expression):
    """SQL as it is."""

    def __init__(self, sql: str) -> None:
        self._sql = sql

    def render(self, out: Rendering) -> str:
        return out.raw(self._sql)


class Label(Expression):
    """An expression with the name that it has in the rows."""

    def __init__(self, expression: Expression, name: str) -> None:
        self.parts, self.name = (expression,), name

    def render(self, out: Rendering) -> str:
        return self.parts[0].render(out)


class _Functions:
    """`func.max(column)`: the database's function of that name."""

    def __getattr__(self, name: str) -> Callable[..., Expression]:
        def call(*arguments: object) -> Expression:
            parts = [as_expression(each) for each in arguments]
            return Raw(f"{name}({', '.join(['{}'] * len(parts)) or '*'})", *parts)

        return call


func = _Functions()


def bindparam(name: str) -> BindParameter:
    """A parameter whose value is given when the statement runs."""
    return BindParameter(name)


def as_expression(value: object) -> Expression:
    return value if isinstance(value, Expression) else BindParameter(value=value)


def literal_column(sql: str) -> Expression:
    return RawSql(sql)


def and_(*conditions: Expression) -> Expression:
    return _combined("AND", conditions)


def or_(*conditions: Expression) -> Expression:
    return _combined("OR", conditions)


def _combined(word: str, conditions: Sequence[Expression]) -> Expression:
    return Raw(f"({f' {word} '.join(['{}'] * len(conditions))})", *conditions)


def tuple_(*values: object) -> Expression:
    parts = [as_expression(each) for each in values]
    return Raw(f"({', '.join(['{}'] * len(parts))})", *parts)


def case(*choices: tuple[Expression, object], else_: object) -> Expression:
    parts = [as_expression(each) for choice in choices for each in choice]
    return Raw(f"CASE{' WHEN {} THEN {}' * len(choices)} ELSE {{}} END", *parts, as_expression(else_))


def _escaped(text: str) -> str:
    """A text that a pattern finds as it is."""
    for mark in (_ESCAPE, "%", "_"):
        text = text.replace(mark, f"{_ESCAPE}{mark}")
    return text
