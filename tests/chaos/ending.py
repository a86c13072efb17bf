"""What must be true once the process of `process.py` has ended, wherever it was killed on the way."""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from typing import Any

from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.experts.workspace.learnings import entries
from colleague.experts.workspace.workspace import Workspace
from colleague.files import locked
from colleague.home import Home
from colleague.store.journal import SESSION
from colleague.store.open_database import open_database
from colleague.store.sql import select
from colleague.store.tx import Tx
from tests.chaos.counted_office import CountedOffice
from tests.chaos.process import DIARY, ENTRY, EXPERT, LESSON, NARRATIVE, REPLIES, STEPS
from tests.tables import every_table

Tables = dict[str, list[dict[str, Any]]]


def check_end(home: Home, office: CountedOffice) -> int:
    """Returns how often a person was asked whether an effect had happened."""
    tables = asyncio.run(_tables(home))
    _check_run(tables)
    _check_calls(tables)
    _check_told(tables)
    _check_files(home, tables)
    _check_nothing_is_held(home)
    _check_office(office)
    return _check_asked(tables)


async def _tables(home: Home) -> Tables:
    def read(tx: Tx) -> Tables:
        return {
            table.name: [
                dict(zip((column.name for column in table.c), row, strict=True))
                for row in tx.all(select(table).order_by(*table.c))
            ]
            for table in every_table()
        }

    database = open_database(home, load_settings(home), os.environ, SystemClock())
    try:
        return await database.read(read)
    finally:
        await database.close()


def _check_run(tables: Tables) -> None:
    [run] = tables["runs"]
    assert (run["status"], run["outcome"], run["narrative"]) == ("done", "completed", NARRATIVE), run
    assert (run["worker"], run["lease_until"]) == (None, None)
    assert [each["outcome"] for each in tables["attempts"]] == ["failed", "completed"]
    assert [each["status"] for each in tables["steps"]] == ["done"] * STEPS
    assert tables["timers"] == []


def _check_calls(tables: Tables) -> None:
    """Each call that the model asked for is there once and has a result."""
    wanted = Counter(each["operation"] for reply in REPLIES for each in reply["calls"])
    assert Counter(each["operation"] for each in tables["calls"]) == wanted
    for call in tables["calls"]:
        assert (call["status"], call["result"] is None) == ("finished", False), call


def _check_told(tables: Tables) -> None:
    """Everything is told once, and nothing else is told."""
    asked = Counter(each["kind"] for each in tables["approvals"])
    assert (asked["confirm"], asked["learning"]) == (2, 1)
    assert {each["status"] for each in tables["approvals"]} == {"decided"}
    questions = asked["confirm"] + asked["uncertain"]
    kinds = Counter(each["kind"] for each in tables["outbox"])
    assert kinds == {"delivery": 1, "proposal": 1, "learning": 1, "approval": questions}
    status = {(each["kind"], each["status"]) for each in tables["outbox"]}
    assert status == {("delivery", "unread"), *((kind, "sent") for kind in kinds if kind != "delivery")}


def _check_files(home: Home, tables: Tables) -> None:
    workspace = Workspace.of(load_settings(home).workspace, EXPERT)
    assert (workspace.root / DIARY).read_text() == f"# Diary\n\n{ENTRY}\n"
    written = [each for each in tables["file_versions"] if each["path"] == DIARY and each["run_id"]]
    assert len(written) == 1
    assert tables["file_pending"] == []
    assert [each.title for each in entries(workspace.learnings, "package")] == [LESSON["title"]]
    left = [path for path in workspace.root.rglob("*") if path.is_file() and path.name != ".learnings.lock"]
    names = sorted(str(path.relative_to(workspace.root)) for path in left)
    assert names == ["learnings/_package.md", DIARY, "state/today.md"], names


def _check_nothing_is_held(home: Home) -> None:
    for lock in home.state.rglob("*lock"):
        with locked(lock, wait_seconds=-1):
            pass


def _check_office(office: CountedOffice) -> None:
    """Each effect is there once. What is safe to repeat may have come twice, where keys are ignored."""
    assert set(office.effects.values()) == {1}, office.effects
    received = office.received
    twice = received.pop("update_deal_stage") - 1
    assert received == {"create_note": 2, "add_reply": 1, "schedule_meeting": 1}
    assert twice <= (0 if office.honours_keys else 1)


def _check_asked(tables: Tables) -> int:
    """A send without an answer was safe to repeat, or a person was asked about just this one."""
    calls = {each["id"]: each for each in tables["calls"]}
    questions = [each for each in tables["approvals"] if each["kind"] == "uncertain"]
    asked = {(each["call_id"], each["send"]): each["decision"] for each in questions}
    for send in tables["sends"]:
        call = calls[send["call_id"]]
        safe = call["repeatable"] or call["tool"] == SESSION
        if send["ended_at"] is None and not safe:
            decision = asked.pop((call["id"], send["number"]))
            last = send["number"] == call["sends"]
            assert decision == ("happened" if last else "again"), json.dumps(call)
    assert asked == {}, "somebody was asked about what was known"
    return len(questions)
