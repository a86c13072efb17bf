"""A statement on its way to the text that a database takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from colleague.store.sql.expression import Alias, BindParameter, FromClause


@dataclass(frozen=True)
class Rendered:
    """The text of a statement, and its parameters in the order of their places."""

    text: str
    parameters: tuple[BindParameter, ...]
    postgresql: bool

    def given(self, values: Mapping[str, Any]) -> list[Any] | dict[str, Any]:
        """What is passed with the text. `values` has a value for each `bindparam`."""
        found = [values[each.name] if each.name else each.value for each in self.parameters]
        return {str(place): value for place, value in enumerate(found, 1)} if self.postgresql else found


class Rendering:
    """Collects parameters, and knows which tables stand around a subquery."""

    def __init__(self, *, postgresql: bool) -> None:
        self.postgresql = postgresql
        self._parameters: list[BindParameter] = []
        self._places: dict[str | int, int] = {}
        self._aliases: dict[int, str] = {}
        self._around: tuple[FromClause, ...] = ()

    def place(self, parameter: BindParameter) -> str:
        """A parameter that occurs twice has one place: PostgreSQL compares expressions by it."""
        number = self._places.setdefault(parameter.name or id(parameter), len(self._places) + 1)
        if number > len(self._parameters):
            self._parameters.append(parameter)
        return f"%({number})s" if self.postgresql else f"?{number}"

    def alias(self, alias: Alias) -> str:
        return self._aliases.setdefault(id(alias), f"{alias.table.name}_{len(self._aliases) + 1}")

    def is_around(self, source: FromClause) -> bool:
        """Whether a subquery that is rendered now may name this table without reading it itself."""
        return any(each is source for each in self._around)

    @contextmanager
    def inside(self, sources: tuple[FromClause, ...]) -> Iterator[None]:
        before = self._around
        self._around = (*before, *sources)
        try:
            yield
        finally:
            self._around = before

    def raw(self, sql: str) -> str:
        """SQL as it was written: psycopg takes a single percent sign for a place."""
        return sql.replace("%", "%%") if self.postgresql else sql

    def done(self, text: str) -> Rendered:
        return Rendered(text, tuple(self._parameters), self.postgresql)
