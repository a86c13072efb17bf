"""Nothing on a hot path grows with history: the questions a worker asks are answered by an index."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Executable, select
from sqlalchemy.dialects import sqlite

from colleague.clock import MovableClock
from colleague.store import approvals, lanes
from colleague.store import claims as work
from colleague.store.sqlite import SqliteDatabase
from colleague.store.statement import select_statement
from colleague.store.tables import calls, is_ready, messages, runs, sql_literal
from colleague.triggers.gmail import resolve

HOT: dict[str, Executable] = {
    "the next run": work._ELIGIBLE,
    "the head of a lane": lanes._HEAD,
    "anything ready": select(runs.c.id).where(is_ready()).limit(1),
    "what is being run": select(runs.c.id).where(runs.c.status == sql_literal("running")),
    "open questions of a run": approvals._OPEN,
    "pushes to look up": resolve.OPEN,
    "where the last push came to": resolve.LOOKED_UP,
    "one run": select_statement(runs, ("id",), ("id",), (), False),
    "a transcript": select_statement(messages, ("body",), ("run_id", "session"), ("position",), False),
    "calls of an answer": select_statement(
        calls, ("id",), ("run_id", "session", "position"), ("place",), False
    ),
}


@pytest.mark.parametrize("what", HOT)
def test_a_hot_question_is_answered_by_an_index(tmp_path: Path, what: str) -> None:
    compiled = HOT[what].compile(dialect=sqlite.dialect())  # type: ignore[attr-defined]
    given = dict.fromkeys(compiled.params, "x")

    async def plan() -> list[str]:
        database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
        query = f"EXPLAIN QUERY PLAN {compiled}"
        ordered = tuple(given[name] for name in compiled.positiontup or ())
        rows = await database.read(lambda tx: tx.connection.exec_driver_sql(query, ordered).all())
        await database.close()
        return [str(row[3]) for row in rows]

    steps = asyncio.run(plan())
    assert steps
    one_row = ("SCAN anon_1", "SCAN anon_2")  # what the query itself limits to one
    whole = [step for step in steps if step.startswith("SCAN") and "USING" not in step]
    assert not [step for step in whole if step not in one_row], steps
