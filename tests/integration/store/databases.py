"""Both databases, for real: SQLite in a file, PostgreSQL in a server of its own."""

from __future__ import annotations

import asyncio
import functools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from colleague.clock import MovableClock
from colleague.store.ids import new_id
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Database
from tests.tables import every_table

Opener = Callable[[MovableClock], Database]


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    import pgserver

    with tempfile.TemporaryDirectory(prefix="colleague-pg-") as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        url = server.get_uri()
        for setting in (
            "fsync",
            "synchronous_commit",
            "full_page_writes",
        ):  # what is killed here is never the server
            administer(url, f"ALTER SYSTEM SET {setting} = off")
        administer(url, "SELECT pg_reload_conf()")
        yield url
        server.cleanup()


_EMPTY: list[str] = []
_CLEAR = ";".join(
    (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid != pg_backend_pid()",
        "SET session_replication_role = replica",  # so that their order does not matter
        *(f"DELETE FROM {table.name}" for table in every_table()),  # noqa: S608 - names of ours
    )
)


@contextmanager
def new_database(url: str) -> Iterator[str]:
    """The URL of a database of its own. Emptying one takes a tenth of the time that making one takes."""
    database = _EMPTY.pop() if _EMPTY else _made(url)
    try:
        yield database
    finally:
        administer(database, _CLEAR)
        _EMPTY.append(database)


def _made(url: str) -> str:
    name = "t" + new_id().replace("-", "")
    administer(url, f"CREATE DATABASE {name}")
    database = url.replace("/postgres?", f"/{name}?")
    asyncio.run(PostgresDatabase(database, MovableClock()).close())
    return database


@functools.cache
def _fresh_sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fresh.sqlite"
        SqliteDatabase(file, MovableClock()).stop()
        return file.read_bytes()


def place_sqlite(file: Path) -> Path:
    """Puts a new database there: a copy takes a fifth of the time that making one takes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(_fresh_sqlite())
    file.chmod(0o600)
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same database as often as asked; each time stands for a process."""
    if request.param == "sqlite":
        file = place_sqlite(tmp_path / "state" / "colleague.sqlite")
        yield lambda clock: SqliteDatabase(file, clock)
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield lambda clock: PostgresDatabase(url, clock)


def administer(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture
def run_async() -> Callable[[Any], Any]:
    return asyncio.run
