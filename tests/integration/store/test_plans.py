"""Nothing on a hot path grows with history: the questions a worker asks are answered by an index."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.store import approvals, lanes
from colleague.store import claims as work
from colleague.store.run_filter import RunFilter
from colleague.store.sql import Statement, select
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import calls, is_ready, messages, runs, sql_literal
from colleague.store.usual_statements import select_statement
from colleague.triggers.gmail import resolve

HOT: dict[str, Statement] = {
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


def plan_of(tmp_path: Path, question: Statement) -> list[str]:
    sql = question.rendered(postgresql=False)
    given = ["x" for _ in sql.parameters]

    async def plan() -> list[str]:
        database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
        query = f"EXPLAIN QUERY PLAN {sql.text}"
        rows = await database.read(lambda tx: tx.connection.execute(query, given).fetchall())
        await database.close()
        return [str(row[3]) for row in rows]

    return asyncio.run(plan())


@pytest.mark.parametrize("what", HOT)
def test_a_hot_question_is_answered_by_an_index(tmp_path: Path, what: str) -> None:
    steps = plan_of(tmp_path, HOT[what])
    assert steps
    one_row = "SCAN subquery"  # what the query itself limits to one
    whole = [step for step in steps if step.startswith("SCAN") and "USING" not in step]
    assert not [step for step in whole if step != one_row], steps


LISTED = {
    "all runs": (RunFilter(), "runs_created"),
    "since a time": (RunFilter(since=1), "runs_created"),
    "of an outcome": (RunFilter(("failed",)), "runs_outcome"),
    "of an outcome since a time": (RunFilter(("failed",), since=1), "runs_outcome"),
    "of an expert": (RunFilter(expert="e"), "runs_expert"),
    "of an expert since a time": (RunFilter(expert="e", since=1), "runs_expert"),
    "under way": (RunFilter(("queued",)), "runs_under_way"),
}


@pytest.mark.parametrize("what", LISTED)
def test_a_list_of_runs_is_read_off_an_index(tmp_path: Path, what: str) -> None:
    """In its order, so that a page costs as much as it shows; what is under way is few."""
    wanted, index = LISTED[what]
    [query] = wanted.queries()
    ordered = query.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(51)
    steps = plan_of(tmp_path, ordered)
    assert len(steps) == 1, steps
    assert index in steps[0], steps
