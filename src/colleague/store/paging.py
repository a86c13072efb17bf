"""Lists of which only a part is shown: a page, and where the next one begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from colleague.store.sql import Expression, Select, Table, func, select, tuple_
from colleague.store.tx import Tx

T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some rows of a list. `next_after` is the id to go on after; None when these were the last."""

    items: list[T]
    next_after: str | None = None


@dataclass(frozen=True)
class Order:
    """What a list is sorted by. The id comes last, so that no two rows have the same place."""

    table: Table
    columns: tuple[Expression, ...]
    descending: bool = False

    def page(self, tx: Tx, query: Select, *, limit: int, after: str | None) -> Page[Any]:
        """The rows of `query`, which has the column `id`, after the row of that id."""
        keys = (*self.columns, self.table.c.id)
        if after is not None:
            place = select(*keys).where(self.table.c.id == after)
            row = tx.one(place)
            if row is None:
                return Page([])
            here, there = tuple_(*keys), tuple_(*row)
            query = query.where(here < there if self.descending else here > there)
        ordered = query.order_by(*(key.desc() if self.descending else key for key in keys))
        rows = tx.all(ordered.limit(limit + 1))
        return Page(rows[:limit], rows[limit - 1].id if len(rows) > limit else None)


def count_rows(tx: Tx, table: Table, conditions: Sequence[Expression]) -> int:
    return int(tx.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())
