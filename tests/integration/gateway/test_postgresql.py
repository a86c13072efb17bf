"""The same gateway on PostgreSQL, with a worker of its own beside it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from colleague.clock import MovableClock
from colleague.store.postgresql import PostgresDatabase
from colleague.store.session_items import NewItem, add_item
from tests.forked import forked_command
from tests.integration.experts.package import CLERK
from tests.integration.gateway.harness import ENVIRON, House
from tests.integration.gateway.test_sessions import told
from tests.integration.store.databases import new_database, postgres_url  # noqa: F401 - a fixture


def test_hooks_runs_and_a_worker_beside_it(house: House, postgres_url: str) -> None:  # noqa: F811
    with new_database(postgres_url) as url:
        house.configure(experts={"database": url})
        with house.open() as gateway, working(house) as worker:
            ids = [gateway.hook(f"{CLERK}/order", {"id": str(n)}).json()["run_id"] for n in range(20)]
            assert {gateway.ended(run_id)["outcome"] for run_id in ids} == {"completed"}
            assert gateway.hook(f"{CLERK}/order", {"id": "7"}).json()["duplicate"] is True
            assert gateway.client.get("/readyz").json()["ready"] is True
            assert gateway.get("/api/runs/aaaa%00").status_code == 404
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(120) == 0


@contextmanager
def working(house: House) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        forked_command("-m", "colleague", "worker", "--home", str(house.root)),
        env=ENVIRON | {"PATH": os.environ["PATH"]},
        stdout=subprocess.PIPE,
        text=True,
    ) as worker:
        assert worker.stdout is not None
        assert "is at work" in worker.stdout.readline()
        yield worker


def test_a_stream_tells_what_another_process_does(house: House, postgres_url: str) -> None:  # noqa: F811
    with new_database(postgres_url) as url:
        house.configure(experts={"database": url})
        with house.open() as gateway:
            events = told(gateway, "/api/sessions/agent:main:main/events")
            assert next(events)[2]["status"] == "idle"
            asyncio.run(said_elsewhere(url))
            number, kind, data = next(events)
            assert (number, kind, data["text"]) == ("1", "message", "News from elsewhere.")


async def said_elsewhere(url: str) -> None:
    database = PostgresDatabase(url, MovableClock())
    item = NewItem("event", "News from elsewhere.", source="test")
    await database.write(lambda tx: add_item(tx, "agent:main:main", item))
    await database.close()
