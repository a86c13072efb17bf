"""Short ids for the completion of a shell: read-only, and without what takes long to import."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from colleague.store.ids import short

if TYPE_CHECKING:
    from colleague.home import Home

SECONDS = 1

_RUNS = "SELECT id, expert, process, COALESCE(outcome, status) FROM runs ORDER BY id DESC LIMIT 50"
_DEAD = (
    "SELECT id, expert, process, COALESCE(error, '') FROM runs WHERE outcome = 'dead_letter'"
    " ORDER BY ended_at DESC LIMIT 50"
)
_PENDING = (
    "SELECT id, expert, operation, kind FROM approvals WHERE status = 'pending'"
    " ORDER BY requested_at DESC LIMIT 500"
)


def recent_runs(home: Home) -> Iterator[tuple[str, str]]:
    """The ending of each id, and what the run is."""
    for identifier, expert, process, status in _rows(home, _RUNS):
        yield short(identifier), " ".join(filter(None, (expert, process, status)))


def dead_letters(home: Home) -> Iterator[tuple[str, str]]:
    for identifier, expert, process, error in _rows(home, _DEAD):
        yield short(identifier), " ".join(filter(None, (expert, process, error[:60])))


def pending_approvals(home: Home, *, learnings: bool = False) -> Iterator[tuple[str, str]]:
    """Those that wait for a person; proposed learnings apart from all others."""
    for identifier, expert, operation, kind in _rows(home, _PENDING):
        if (kind == "learning") is learnings:
            yield short(identifier), f"{kind} {expert}: {operation}"


def _rows(home: Home, statement: str) -> Sequence[Sequence[Any]]:
    from colleague.config import load_settings

    if url := load_settings(home).experts.database:
        from colleague.config import resolve

        return _postgresql_rows(resolve(url, os.environ, key="experts.database"), statement)
    address = f"{home.database_file.as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True, timeout=SECONDS)) as database:
        return database.execute(statement).fetchall()


def _postgresql_rows(url: str, statement: str) -> Sequence[Sequence[Any]]:
    import psycopg

    options = f"-c default_transaction_read_only=on -c statement_timeout={SECONDS * 1000}"
    with psycopg.connect(url, connect_timeout=SECONDS, options=options) as database:
        return database.execute(statement.encode()).fetchall()
