"""The ids that a shell offers, from both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.home import Home
from colleague.store.id_offers import dead_letters, pending_approvals, recent_runs
from colleague.store.postgresql import PostgresDatabase
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import approvals, runs
from colleague.store.tx import Database, Tx
from tests.integration.store.databases import new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """A home with a waiting run, a dead one, and questions of two kinds."""
    home = Home(tmp_path / "home")
    home.root.mkdir()
    if request.param == "sqlite":
        asyncio.run(fill(SqliteDatabase(home.database_file, MovableClock())))
        yield home
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        home.settings_file.write_text(json.dumps({"experts": {"database": url}}))
        home.settings_file.chmod(0o600)
        asyncio.run(fill(PostgresDatabase(url, MovableClock())))
        yield home


async def fill(database: Database) -> None:
    def write(tx: Tx) -> None:
        shared = {"expert": "sales", "session_key": "s", "created_at": 1}
        tx.insert(runs, id="run-00000001", status="waiting", process="triage", **shared)
        tx.insert(
            runs, id="run-00000002", status="done", outcome="dead_letter", error="no", ended_at=2, **shared
        )
        for number, kind in enumerate(("confirm", "learning")):
            tx.insert(
                approvals,
                id=f"approval-0000001{number}",
                run_id="run-00000001",
                kind=kind,
                expert="sales",
                operation="crm.update",
                arguments="{}",
                digest="",
                status="pending",
                on_timeout="reject",
                requested_at=number,
                reasoning="",
            )

    await database.write(write)
    await database.close()


def test_what_is_offered(filled: Home) -> None:
    assert list(recent_runs(filled)) == [
        ("00000002", "sales dead_letter"),
        ("00000001", "sales triage waiting"),
    ]
    assert list(dead_letters(filled)) == [("00000002", "sales no")]
    assert list(pending_approvals(filled)) == [("00000010", "confirm sales: crm.update")]
    assert list(pending_approvals(filled, learnings=True)) == [("00000011", "learning sales: crm.update")]
