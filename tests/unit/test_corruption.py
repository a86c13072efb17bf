"""A database that cannot be read is not always a damaged one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from colleague.store.corruption import DatabaseDamaged, unreadable


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    """As on a file system that is read-only."""
    with pytest.raises(sqlite3.OperationalError) as failed:
        sqlite3.connect(f"{(tmp_path / 'none').as_uri()}?mode=ro", uri=True)
    told = unreadable(tmp_path / "none", failed.value)
    assert "cannot be read: unable to open database file" in told.message
    assert "restore" not in told.hint


def test_garbage_is(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_text("no database at all, and long enough to be looked at as one" * 20)
    connection = sqlite3.connect(tmp_path / "garbage")
    with pytest.raises(sqlite3.DatabaseError) as failed:
        connection.execute("PRAGMA integrity_check")
    connection.close()
    assert isinstance(unreadable(tmp_path / "garbage", failed.value), DatabaseDamaged)
