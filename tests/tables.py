"""The tables of the store, all of them."""

from __future__ import annotations

from colleague.store import tables
from colleague.store.sql import Table


def every_table() -> list[Table]:
    return [each for each in vars(tables).values() if isinstance(each, Table)]
