"""Interrupting and going on with a run on PostgreSQL, where many processes may work."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from tests.acceptance.provider import HELLO, OVERLOADED, Provider, providing, use
from tests.acceptance.test_model_trouble import newest, started, tries
from tests.conftest import Colleague
from tests.integration.store.databases import new_database


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    with new_database(postgres_url) as url:
        yield url


@pytest.fixture
def provider(colleague: Colleague, database: str) -> Iterator[Provider]:
    with providing(OVERLOADED) as found:
        use(colleague, found, experts={"database": database})
        yield found


def stalls(url: str) -> list[int]:
    with closing(psycopg.connect(url)) as connection:
        return [row[0] for row in connection.execute("SELECT stalls FROM runs").fetchall()]


def test_an_interrupted_run_is_queued_and_resume_goes_on(
    colleague: Colleague, provider: Provider, database: str
) -> None:
    with started(colleague, "agent", "hello") as process:
        process.until(tries)
        run = newest(colleague)
        ending = run["id"][-8:]
        assert run["trouble"]["text"].startswith("local/m1 answers 500")
        assert "nobody works" not in colleague.ok("run", "show", ending).out
        held = colleague("run", "resume", ending)
        assert held.code == 1
        assert "is under way" in held.err
        assert process.interrupt(signal.SIGINT)[0] == 130
    assert (newest(colleague)["status"], stalls(database)) == ("queued", [0])
    assert "nobody works on it" in colleague.ok("run", "show", ending).out
    with started(colleague, "worker", "--log-json") as worker:
        worker.until(lambda each: any("goes on" in line for line in each.out))
        assert "nobody works" not in colleague.ok("run", "show", ending).out
        worker.child.send_signal(signal.SIGTERM)
        assert worker.child.wait(120) == 0
        assert all(json.loads(line) for line in worker.out)
    provider.answer(HELLO)
    assert colleague("run", "resume", ending, timeout=90).out == "Good morning.\n"
    assert newest(colleague)["trouble"] is None
