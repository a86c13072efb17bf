"""Rows as frozen dataclasses whose fields are named like the columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from colleague.store.sql import Column, Table

T = TypeVar("T")


@cache
def _bools(kind: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, field in kind.__dataclass_fields__.items() if field.type == "bool")


def columns_of(kind: type[Any], table: Table) -> list[Column]:
    return [table.c[name] for name in kind.__dataclass_fields__]


def record(kind: type[T], row: Sequence[Any]) -> T:
    """One row, selected with `columns_of`. What is a bool in the dataclass is 0 or 1 in the table."""
    values = dict(zip(kind.__dataclass_fields__, row, strict=True))  # type: ignore[attr-defined]
    for name in _bools(kind):  # type: ignore[arg-type]
        values[name] = bool(values[name])
    return kind(**values)
