"""Which database a home works with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from colleague.clock import Clock
from colleague.config import Settings, resolve
from colleague.home import Home
from colleague.store.identity import key_of, require_file, require_same
from colleague.store.tx import Database


class OpenedDatabase(Database, Protocol):
    """A database that was opened here."""

    identity: str
    """Which database this is; a copy of it has the same."""

    def stop(self) -> None:
        """`close` for whoever has no loop to wait in."""
        ...


def open_database(home: Home, settings: Settings, environ: Mapping[str, str], clock: Clock) -> Database:
    """PostgreSQL when `experts.database` names it, else the home's own SQLite file.

    Raises DatabaseGone when it is missing or another one than this home worked with."""
    url = database_url(settings, environ)
    if url is None:
        require_file(home)
    database = _open(home, url, clock)
    try:
        require_same(home, key_of(url), database.identity)
    except BaseException:
        database.stop()
        raise
    return database


def database_url(settings: Settings, environ: Mapping[str, str]) -> str | None:
    """None for SQLite."""
    url = settings.experts.database
    return None if url is None else resolve(url, environ, key="experts.database")


def _open(home: Home, url: str | None, clock: Clock) -> OpenedDatabase:
    if url is None:
        from colleague.store.sqlite import SqliteDatabase

        return SqliteDatabase(home.database_file, clock)
    from colleague.store.postgresql import PostgresDatabase

    return PostgresDatabase(url, clock)
