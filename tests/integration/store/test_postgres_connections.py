"""How many connections to PostgreSQL a process has, and what becomes of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest

from colleague.clock import MovableClock
from colleague.errors import ConfigError
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sql import text
from colleague.store.tx import Tx
from tests.integration.store.databases import new_database


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    with new_database(postgres_url) as found:
        yield found


def backend(tx: Tx) -> int:
    return int(tx.execute(text("SELECT pg_backend_pid()")).scalar_one())


def connections_to(url: str) -> int:
    query = (
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    with psycopg.connect(url) as connection:
        [count] = connection.execute(query).fetchone() or [0]
    return int(count) - 1


def test_one_after_another_has_one_connection_whichever_thread_works(url: str) -> None:
    async def act() -> None:
        database = PostgresDatabase(url, MovableClock())
        used = {await database.read(backend) for _ in range(20)} | {await database.write(backend)}
        assert len(used) == 1
        assert connections_to(url) == 1
        await database.close()

    asyncio.run(act())
    while connections_to(url):  # the server needs a moment to end them
        time.sleep(0.05)


def test_at_once_has_as_many_as_it_may(url: str) -> None:
    async def act() -> None:
        database = PostgresDatabase(url, MovableClock(), connections=3)
        all_there = threading.Barrier(3)

        def together(tx: Tx) -> int:
            all_there.wait(240)
            return backend(tx)

        assert len(set(await asyncio.gather(*(database.read(together) for _ in range(3))))) == 3
        await asyncio.gather(*(database.read(backend) for _ in range(20)))
        assert connections_to(url) == 3
        await database.close()

    asyncio.run(act())


@pytest.mark.parametrize("wrong", ["postgresql://anna:se%zzcret@host/x", "postgresql://[host/x?secret=1"])
def test_a_url_that_cannot_be_read_is_told_without_its_password(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"experts\.database is no URL") as error:
        PostgresDatabase(wrong, MovableClock())
    assert "cret" not in f"{error.value} {error.value.hint}"


def test_work_that_fails_leaves_a_connection_without_a_transaction(url: str) -> None:
    def fails(tx: Tx) -> None:
        backend(tx)
        raise LookupError

    async def act() -> None:
        database = PostgresDatabase(url, MovableClock())
        first = await database.read(backend)
        with pytest.raises(LookupError):
            await database.write(fails)
        with pytest.raises(psycopg.errors.UndefinedTable):
            await database.write(lambda tx: tx.execute(text("SELECT 1 FROM nowhere")))
        assert await database.write(backend) == first
        await database.close()

    asyncio.run(act())
