"""Who works on a run is a column; databases from before it existed are told what was what."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from colleague.clock import MovableClock
from colleague.store.accept import Arrival, accept
from colleague.store.migrate import migrations
from colleague.store.run import get_run
from colleague.store.sql import select, text
from colleague.store.tables import file_versions
from colleague.store.tx import Tx
from colleague.store.versions import FileKey, record_version
from tests.integration.store.databases import Opener

T = TypeVar("T")
MAIN = "agent:main:main"
TURN = Arrival("main", "command", "command", "{}", MAIN, lane=None, kind="agent")
BY_NAME = Arrival("main", "hook", "webhook", "{}", "expert:main:x:1", lane=None, digest="d1")
IN_MAIN = replace(BY_NAME, session_key=MAIN)
SALES = replace(BY_NAME, expert="sales", session_key="expert:sales")


def test_an_arrival_says_who_works_on_it(opener: Opener) -> None:
    def work(tx: Tx) -> list[str]:
        return [get_run(tx, str(accept(tx, each).run_id)).kind for each in (TURN, BY_NAME, IN_MAIN, SALES)]

    assert asyncio.run(written(opener, work)) == ["agent", "expert", "expert", "expert"]


def test_rows_from_before_are_told_apart(opener: Opener) -> None:
    def work(tx: Tx) -> tuple[list[str], list[str]]:
        ids = [str(accept(tx, each).run_id) for each in (TURN, BY_NAME, IN_MAIN, SALES)]
        for owner in ("main", "sales"):
            record_version(tx, FileKey(owner, "MEMORY.md"), b"x")
        tx.execute(text("ALTER TABLE runs DROP COLUMN kind"))
        lines = [line for line in dict(migrations())[6].splitlines() if not line.startswith("--")]
        for statement in filter(str.strip, "\n".join(lines).split(";\n")):
            tx.execute(text(statement))
        owners = sorted(row[0] for row in tx.all(select(file_versions.c.expert)))
        return [get_run(tx, each).kind for each in ids], owners

    kinds, owners = asyncio.run(written(opener, work))
    assert kinds == ["agent", "expert", "expert", "expert"]
    assert owners == ["agent:main", "sales"]


async def written(opener: Opener, work: Callable[[Tx], T]) -> T:
    database = opener(MovableClock())
    try:
        return await database.write(work)
    finally:
        await database.close()
