"""Which database a home works with."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.clock import Clock
from colleague.config import Settings, resolve
from colleague.home import Home
from colleague.store.tx import Database


def open_database(home: Home, settings: Settings, environ: Mapping[str, str], clock: Clock) -> Database:
    """PostgreSQL when `experts.database` names it, else the home's own SQLite file."""
    url = settings.experts.database
    if url is None:
        from colleague.store.sqlite import SqliteDatabase

        return SqliteDatabase(home.database_file, clock)
    from colleague.store.postgresql import PostgresDatabase

    return PostgresDatabase(resolve(url, environ, key="experts.database"), clock)
