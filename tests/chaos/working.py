"""A process that works on a home until its run has ended, and answers what is asked as an operator would.

It is a copy of one that has everything imported, so that starting it hundreds of times is cheap, and it dies
by SIGKILL wherever a failpoint says so."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import traceback
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from colleague.config import load_settings
from colleague.experts.expert import find_expert
from colleague.experts.runs.inputs import find_process
from colleague.experts.runs.invoke import Invocation
from colleague.home import Home
from colleague.run_document import Decision
from colleague.runtime.host import Host, open_host
from colleague.store import lease, outbox, sweep, worker
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Answer, Approval, decide, pending_approvals
from colleague.store.outbox import UNREAD, outbox_of
from tests.chaos.process import EXPERT, INPUTS, PROCESS
from tests.forked import FORKED

KILLED = -9
LEASE_MS, GRACE_MS, SEND_MS = 3000, 500, 2000
SECONDS = 240


@dataclass(frozen=True)
class Operator:
    """Says yes to what is asked. Of an uncertain effect a careful one says what the office's ledger says;
    a hasty one has it sent again, whatever happened."""

    office: Path
    careful: bool

    def answer(self, approval: Approval) -> Answer:
        decision: Decision = "approve"
        result = None
        if approval.kind == "uncertain":
            result = self._happened(approval) if self.careful else None
            decision = "again" if result is None else "happened"
        return Answer(approval.id, approval.digest, decision, "operator", answer=result)

    def _happened(self, approval: Approval) -> str | None:
        """What came of it, when the office has a record of it."""
        asked = (approval.operation.partition(".")[2], json.loads(approval.arguments))
        with closing(sqlite3.connect(self.office, timeout=120)) as db:
            rows = db.execute("SELECT operation, arguments, result FROM ledger").fetchall()
        return next((row[2] for row in rows if (row[0], json.loads(row[1])) == asked), None)


def work(home: Home, operator: Operator, *, kill: str = "", log: Path | None = None) -> int:
    """Works on the home in a process of its own; returns how that ended, KILLED when by its failpoint."""
    process = FORKED.Process(target=_main, args=(home, operator, kill, log))
    process.start()
    process.join(SECONDS)
    code = process.exitcode
    if code is None:
        process.kill()
    process.join()
    process.close()
    assert code is not None, f"the process did not end in {SECONDS} seconds"
    return code


def trouble(home: Home) -> str:
    """Why the last process failed, if it did."""
    file = home.root / "trouble.txt"
    return file.read_text() if file.exists() else ""


def _main(home: Home, operator: Operator, kill: str, log: Path | None) -> None:
    os.environ |= {"COLLEAGUE_FAILPOINT": kill} if kill else {}
    os.environ |= {"COLLEAGUE_FAILPOINT_LOG": str(log)} if log else {}
    lease.LEASE_MS, sweep.GRACE_MS, worker.SWEEP_SECONDS = LEASE_MS, GRACE_MS, 0.5
    outbox.LONGEST_SEND_MS = SEND_MS
    try:
        asyncio.run(_work(home, operator))
    except Exception:
        (home.root / "trouble.txt").write_text(traceback.format_exc())
        raise


async def _work(home: Home, operator: Operator) -> None:
    arrival = _arrival(home)
    async with open_host(home, load_settings(home)) as host:
        accepted = await host.database.write(lambda tx: accept(tx, arrival))
        run_id = str(accepted.run_id)
        while await _goes_on(host, operator, run_id):
            pass
        while not await _all_told(host, run_id):
            await asyncio.sleep(0.1)
            await host.deliver()


async def _all_told(host: Host, run_id: str) -> bool:
    messages = await host.database.read(lambda tx: outbox_of(tx, run_id))
    return all(each.status in ("sent", UNREAD) for each in messages)


async def _goes_on(host: Host, operator: Operator, run_id: str) -> bool:
    """Works as far as it can alone; False when nothing is left to decide."""
    await host.advance_only([run_id])
    pending = await host.database.read(pending_approvals)
    for approval in pending:
        answer = operator.answer(approval)
        await host.database.write(lambda tx, answer=answer: decide(tx, answer))  # type: ignore[misc]
    return bool(pending)


def _arrival(home: Home) -> Arrival:
    """The same event, however often it is told."""
    expert = find_expert(home, EXPERT)
    package = expert.load()
    arrival = Invocation(home, expert, package).process(find_process(package, PROCESS), dict(INPUTS))
    return replace(arrival, dedupe_keys=("the only one",))


def asked(home: Home) -> list[dict[str, Any]]:
    """Every time the model was asked."""
    return [json.loads(line) for line in (home.root / "asked.log").read_text().splitlines()]
