"""What a statement answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any


class Row(tuple[Any, ...]):
    """The values of one row, by place and by the name of the column."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


@cache
def row_type(names: tuple[str, ...]) -> type[Row]:
    """Rows with these columns; the same class for the same statement."""
    columns = {name: property(itemgetter(place)) for place, name in enumerate(names)}
    return type("Row", (Row,), {"__slots__": (), **columns})


class StatementResult:
    """All rows of a statement, and how many it changed."""

    def __init__(self, cursor: Any) -> None:
        described = cursor.description
        found: Sequence[Sequence[Any]] = cursor.fetchall() if described else ()
        self._rows = [*map(row_type(tuple(column[0] for column in described)), found)] if found else []
        self.rowcount: int = cursor.rowcount

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def all(self) -> list[Row]:
        return self._rows

    def first(self) -> Row | None:
        return self._rows[0] if self._rows else None

    def scalar_one(self) -> Any:
        """The one value of the one row."""
        [[value]] = self._rows
        return value
