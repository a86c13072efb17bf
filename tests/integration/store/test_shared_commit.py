"""Requests that share a commit: nobody hears of anything before it, neither of a success nor of a refusal."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from colleague.clock import MovableClock
from colleague.store.accept import Arrival, accept
from colleague.store.run import get_run
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tx import Tx

ARRIVAL = Arrival("clerk", "test", "test", "{}", "s", lane=None, dedupe_keys=("once",))


class Refused(Exception):
    """What a request that comes second is told."""


def accept_only_the_first(tx: Tx) -> str:
    accepted = accept(tx, ARRIVAL)
    if accepted.duplicate:
        raise Refused(accepted.run_id)
    return str(accepted.run_id)


def test_a_refusal_is_told_after_the_commit_it_rests_on(tmp_path: Path) -> None:
    """Whoever is told that a run is there already finds it there."""
    queued, last_begun, may_end = threading.Event(), threading.Event(), threading.Event()

    def first(tx: Tx) -> str:
        queued.wait(120)
        return accept_only_the_first(tx)

    def last(tx: Tx) -> None:
        last_begun.set()
        may_end.wait(120)

    async def acts() -> None:
        database = SqliteDatabase(tmp_path / "db.sqlite", MovableClock())
        tasks = [asyncio.create_task(database.write(work)) for work in (first, accept_only_the_first, last)]
        await asyncio.sleep(0.1)
        queued.set()
        await asyncio.to_thread(last_begun.wait, 10)
        await asyncio.sleep(0.1)
        assert not any(task.done() for task in tasks)
        may_end.set()
        run_id = await tasks[0]
        with pytest.raises(Refused, match=run_id):
            await tasks[1]
        assert (await database.read(lambda tx: get_run(tx, run_id))).status == "queued"
        await tasks[2]
        await database.close()

    asyncio.run(acts())
