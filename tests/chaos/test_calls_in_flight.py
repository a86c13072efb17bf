"""Workers on PostgreSQL, killed with -9 while a call of theirs is in flight: each effect happens once, or a
person is asked. Once with a server that honours idempotency keys, where the operator has every uncertain call
sent again without looking; once with one that heeds none, where the operator looks into its ledger."""

from __future__ import annotations

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation
from colleague.gateway.serve import work_until_signalled
from colleague.home import Home
from colleague.store import lease, sweep, worker
from colleague.store.accept import accept
from colleague.store.approvals import Answer, decide, pending_approvals
from colleague.store.sql import select
from colleague.store.tables import calls, runs
from colleague.store.tx import Tx
from tests.chaos.flood import EXPERT, GRACE_MS, LEASE_MS, Books, furnish
from tests.forked import FORKED
from tests.integration.store.databases import new_database

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
KILLS = 50 if LONG else 2
RUNS_AT_ONCE, WORKERS = 3, 2
ANSWER_SECONDS = 1.5
SECONDS = 120


def _work(home: Home) -> None:
    lease.LEASE_MS, sweep.GRACE_MS, worker.SWEEP_SECONDS = LEASE_MS, GRACE_MS, 0.5
    os.chdir(home.root)
    asyncio.run(work_until_signalled(home, load_settings(home), lambda _: None))


@dataclass
class Fleet:
    """Workers of their own process; one that was killed is replaced."""

    home: Home
    books: Books
    honours_keys: bool
    workers: dict[int, Any] = field(default_factory=dict)
    asked: int = 0

    def start(self) -> None:
        process = FORKED.Process(target=_work, args=(self.home,), daemon=True)
        process.start()
        self.workers[process.pid or 0] = process

    async def send(self, name: str) -> None:
        expert = find_expert(self.home, EXPERT)
        package = expert.load()
        arrival = Invocation(self.home, expert, package).process(find_process(package, "work"), {"id": name})
        given = replace(arrival, dedupe_keys=(name,), lane=None)
        await self.books.database.write(lambda tx: accept(tx, given))

    async def kill_one_that_waits_for_an_answer(self) -> None:
        async with asyncio.timeout(SECONDS):
            while not (found := await self.books.database.read(_calling)):
                await asyncio.sleep(0.01)
        await asyncio.sleep(random.random() * ANSWER_SECONDS / 2)
        killed = self.workers.pop(int(found[0].split(":")[1]))
        killed.kill()
        killed.join()

    async def until_done(self) -> None:
        async with asyncio.timeout(SECONDS):
            while await self.books.unfinished():
                for approval in await self.books.database.read(pending_approvals):
                    assert approval.kind == "uncertain"
                    happened = approval.call_id in self.books.effects and not self.honours_keys
                    verdict: Any = "happened" if happened else "again"
                    answer = Answer(approval.id, approval.digest, verdict, "operator")
                    await self.books.database.write(lambda tx, answer=answer: decide(tx, answer))  # type: ignore[misc]
                    self.asked += 1
                await asyncio.sleep(0.05)

    def stop(self) -> None:
        for process in self.workers.values():
            process.kill()
            process.join()


def _calling(tx: Tx) -> list[str]:
    """The workers that have sent something and wait for the answer."""
    query = select(runs.c.worker).join(calls, calls.c.run_id == runs.c.id)
    rows = tx.all(query.where(calls.c.status == "started", runs.c.status == "running"))
    return [row.worker for row in rows]


async def kill_them(home: Home, *, honours_keys: bool) -> tuple[Fleet, int]:
    books = Books.open(home)
    fleet = Fleet(home, books, honours_keys)
    try:
        for _ in range(WORKERS):
            fleet.start()
        for number in range(KILLS):
            for each in range(RUNS_AT_ONCE):
                await fleet.send(f"{number}-{each}")
            await fleet.kill_one_that_waits_for_an_answer()
            fleet.start()
            await fleet.until_done()
        assert await books.ends() == {("completed", None): KILLS * RUNS_AT_ONCE}
        return fleet, len(books.effects)
    finally:
        fleet.stop()
        await books.database.close()


@pytest.mark.parametrize("honours_keys", [True, False], ids=["keys-honoured", "keys-ignored"])
def test_each_effect_is_made_once(
    tmp_path: Path, postgres_url: str, honours_keys: bool, record_property: Callable[[str, object], None]
) -> None:
    with new_database(postgres_url) as url:
        options = (str(ANSWER_SECONDS), *(["honour"] if honours_keys else []))
        home = furnish(tmp_path / "home", url, ledger=options)
        fleet, effects = asyncio.run(kill_them(home, honours_keys=honours_keys))
    record_property("told", f"killed {KILLS} workers with calls in flight: asked {fleet.asked} times")
    counted = Counter((home.root / "ledger.txt").read_text().splitlines())
    assert set(counted.values()) == {1}, counted
    assert effects == KILLS * RUNS_AT_ONCE
    assert fleet.asked >= KILLS, "no call was in flight"
