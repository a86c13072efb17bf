"""Figures of the last days, and the audit log, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.errors import UsageError
from colleague.origin import Origin
from colleague.store.approvals import expire
from colleague.store.audit import AuditedDatabase, AuditFilter, Change, note_change
from colleague.store.run_filter import RunFilter
from colleague.store.spend import Spent, add_spend
from colleague.store.sqlite import SqliteDatabase
from colleague.store.statistics import (
    DAY_MS,
    WAITS,
    cause_of,
    day_start,
    overview_document,
    slow_decisions,
)
from colleague.store.tables import approvals, runs
from colleague.store.tx import Database, Tx
from tests.integration.store.databases import Opener
from tests.integration.store.test_run_filter import fill, read_all
from tests.integration.store.test_store import on, send

ANNA = Origin("anna", "page", "10.0.0.7")


def question(tx: Tx, number: int, run_id: str, waited_seconds: int | None) -> None:
    """Decided after so long; open when that is None."""
    known = {"kind": "confirm", "expert": "sales", "operation": "mail.send", "arguments": "{}", "digest": "d"}
    times: dict[str, Any] = {"requested_at": tx.now - 90_000_000, "status": "pending", "decided_at": None}
    if waited_seconds is not None:
        begun = tx.now - waited_seconds * 1000
        times = {"requested_at": begun, "status": "decided", "decided_at": tx.now, "decided_by": "anna"}
    tx.insert(approvals, id=f"question-{number}", run_id=run_id, **known, **times)


def test_the_overview(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        old = await send(database, expert="old", lane=None)
        clock.move(seconds=40 * 86_400)
        made = await fill(database, clock)
        waits = [0, 59, 60, 7_200, 90_000]

        def work(tx: Tx) -> None:
            for number, seconds in enumerate(waits):
                question(tx, number, made[0], seconds)
            question(tx, 99, made[1], None)
            for run_id in made[:2]:
                add_spend(tx, "sales", run_id, Spent(100, 10, 0.5))
            tx.update(runs, {"id": made[1]}, error="the model gave no answer: timeout after 60 s")

        await database.write(work)
        found = await database.read(lambda tx: overview_document(tx, 7))
        assert len(found["days"]) == 7
        counted: dict[str, int] = {}
        for each in found["outcomes"]:
            assert each["day"] in found["days"]
            counted[each["outcome"]] = counted.get(each["outcome"], 0) + each["runs"]
        assert counted == {"completed": 4, "failed": 2, "dead_letter": 2}
        assert [(s["expert"], s["tokens"], s["cost"]) for s in found["spend"]] == [("sales", 220, 1.0)]
        assert sorted((q["expert"], q["status"], q["runs"]) for q in found["queue"]) == [
            ("desk", "queued", 2),
            ("old", "queued", 1),
            ("sales", "queued", 2),
        ]
        assert [w["decisions"] for w in found["waits"]] == [2, 1, 0, 1, 0, 1]
        assert found["median_wait_seconds"] == 60
        assert {(f["cause"], f["runs"]) for f in found["failures"]} == {
            ("the model gave no answer", 1),
            ("", 3),
        }
        late = await database.read(lambda tx: slow_decisions(tx, 0, WAITS[-1], None, 10))
        assert [each["waited_seconds"] for each in late] == [90_000]
        by_error = RunFilter(("failed",), error="the model gave no answer")
        assert await read_all(database, by_error, 5) == [made[1]]
        assert await read_all(database, RunFilter(error="%"), 5) == []
        first = await database.read(lambda tx: RunFilter(until=tx.now - 30 * DAY_MS).page(tx, limit=5))
        assert [run.id for run in first.items] == [old.run_id]

    on(opener, acts)


def test_days_that_cannot_be_shown(opener: Opener) -> None:
    async def acts(database: Database, _: MovableClock) -> None:
        for days in (0, 32):
            with pytest.raises(UsageError):
                await database.read(lambda tx, days=days: overview_document(tx, days))

    on(opener, acts)


def test_history_is_never_read_whole(tmp_path: Path) -> None:
    """Each query of the overview is answered by an index."""
    database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
    asked: set[str] = set()

    def questions(tx: Tx) -> None:
        tx.connection.set_trace_callback(asked.add)  # type: ignore[attr-defined]  # of SQLite
        overview_document(tx, 30)
        slow_decisions(tx, 0, 0, 60, 10)
        AuditFilter(who="anna").page(tx, limit=5)
        tx.connection.set_trace_callback(None)  # type: ignore[attr-defined]  # of SQLite

    def plans(tx: Tx) -> list[str]:
        queries = [f"EXPLAIN QUERY PLAN {text}" for text in asked if text.startswith("SELECT")]
        return [str(row[3]) for each in queries for row in tx.connection.execute(each).fetchall()]

    async def look() -> list[str]:
        await database.read(questions)
        found = await database.read(plans)
        await database.close()
        return found

    steps = asyncio.run(look())
    assert len(asked) > 30
    assert [each for each in steps if each.startswith("SCAN") and "USING" not in each] == []


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (None, ""),
        ("", ""),
        ("step 3 failed", "step"),
        ("the budget is spent (200000 tokens)", "the budget is spent"),
        ("'x' is no expert", "'x' is no expert"),
        ("two\nlines", "two"),
        ("x" * 100, "x" * 60),
    ],
)
def test_causes(error: str | None, cause: str) -> None:
    assert cause_of(error) == cause
    assert (error or "").startswith(cause), "the list of runs is asked with it"


def test_a_day_of_utc() -> None:
    assert day_start("1970-01-02") == DAY_MS


def nothing(_: Tx) -> None:
    pass


class TestAudit:
    def test_what_fails_is_no_entry(self, opener: Opener) -> None:
        async def acts(database: Database, _: MovableClock) -> None:
            def failing(tx: Tx) -> None:
                note_change(tx, ANNA, Change("person.add", "bert"))
                raise UsageError("no")

            with pytest.raises(UsageError):
                await database.write(failing)
            audited = AuditedDatabase(database, ANNA, Change("run.retry", "r1"))
            with pytest.raises(UsageError):
                await audited.write(failing)
            await audited.write(nothing)
            await audited.write(nothing)
            found = await database.read(lambda tx: AuditFilter().page(tx, limit=10))
            assert [(e["action"], e["who"], e["address"]) for e in found["entries"]] == [
                ("run.retry", "anna", "10.0.0.7")
            ]

        on(opener, acts)

    def test_pages_and_filters(self, opener: Opener) -> None:
        async def acts(database: Database, clock: MovableClock) -> None:
            for number in range(7):
                change = Change(
                    f"{('person', 'personal')[number % 2]}.add", f"s{number}", detail={"a": "100%"}
                )
                await database.write(lambda tx, change=change: note_change(tx, ANNA, change))
                clock.move(seconds=1)
            first = await database.read(lambda tx: AuditFilter(action="person").page(tx, limit=3))
            assert [e["subject"] for e in first["entries"]] == ["s6", "s4", "s2"]
            last = await database.read(
                lambda tx: AuditFilter(action="person").page(tx, limit=3, after=first["next_after"] or "")
            )
            assert ([e["subject"] for e in last["entries"]], last["next_after"]) == (["s0"], None)
            for text, count in (("S3", 1), ("100%", 7), ("1_0", 0), ("anna s3", 1), ("anna bert", 0)):
                found = await database.read(lambda tx, text=text: AuditFilter(text=text).page(tx, limit=9))
                assert len(found["entries"]) == count, text

        on(opener, acts)

    def test_nobody_answered_in_time(self, opener: Opener) -> None:
        async def acts(database: Database, _: MovableClock) -> None:
            run = await send(database, expert="sales", lane=None)

            def work(tx: Tx) -> None:
                question(tx, 1, str(run.run_id), None)
                tx.update(approvals, {"id": "question-1"}, on_timeout="reject")
                expire(tx, "question-1")

            await database.write(work)
            found = await database.read(lambda tx: AuditFilter(action="approval").page(tx, limit=9))
            assert [(e["action"], e["who"], e["source"]) for e in found["entries"]] == [
                ("approval.expire", "", "clock")
            ]

        on(opener, acts)
