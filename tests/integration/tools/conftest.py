"""A desk to work at, on both databases."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sql import delete
from colleague.store.tables import file_pending, file_reads, file_versions
from colleague.store.tx import Tx
from tests.integration.store.databases import new_database
from tests.integration.tools.desk import Desk


@pytest.fixture(scope="session")
def postgres_files(postgres_url: str) -> Iterator[str]:
    """One database for all tests of files; a database for each would take most of their time."""
    with new_database(postgres_url) as url:
        yield url


@pytest.fixture
def home() -> Iterator[Path]:
    """In memory where possible: a killed process loses nothing there, and nobody waits for a disk."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder with a random name in it
    with tempfile.TemporaryDirectory(prefix="colleague-", dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder) / "home"


@pytest.fixture(params=["sqlite", "postgresql"])
def desk(request: pytest.FixtureRequest, home: Path) -> Desk:
    """On SQLite and on PostgreSQL."""
    if request.param == "sqlite":
        return Desk.on_sqlite(home)
    url: str = request.getfixturevalue("postgres_files")
    asyncio.run(_clear(url))
    return Desk.set_up(home, url)


@pytest.fixture
def sqlite_desk(home: Path) -> Desk:
    """For what has nothing to do with the database."""
    return Desk.on_sqlite(home)


async def _clear(url: str) -> None:
    def clear(tx: Tx) -> None:
        for table in (file_versions, file_reads, file_pending):
            tx.execute(delete(table))

    database = PostgresDatabase(url, MovableClock(), connections=1)
    await database.write(clear)
    await database.close()
