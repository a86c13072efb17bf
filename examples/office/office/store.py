"""The SQLite file of the office."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from office.schema import TABLES
from office.seed import seeds


class Store:
    """Creates and seeds its file on first use. Several processes may share it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        with self.transaction() as db:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger'").fetchone():
                _found(db)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it happens or none of it; one transaction at a time."""
        with closing(sqlite3.connect(self._file, timeout=20, isolation_level=None)) as db:
            db.row_factory = sqlite3.Row
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    """Adds a row; its number. Table and columns come from our own code, never from a caller."""
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    done = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
    return done.lastrowid or 0


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _found(db: sqlite3.Connection) -> None:
    for table in TABLES:
        db.execute(table)
    for name, rows in seeds(datetime.now(UTC)).items():
        for row in rows:
            insert(db, name, row)
