"""A process that works on one home, for tests that kill it: accepts one turn, advances it, decides.

Usage: drive.py HOME MODEL [--lease MS] [--decide]"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from colleague.config import Settings, load_settings
from colleague.home import Home
from colleague.runtime.host import Host, open_host
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store import lease, sweep
from colleague.store.approvals import Answer, Approval, decide, pending_approvals
from colleague.store.grants import give_grant
from colleague.store.journal import read_messages
from colleague.store.tx import Tx
from tests.grants import call_target

MESSAGE = SessionMessage("go", source="test", dedupe_key="the only turn")


def blocking(settings: Settings) -> Settings:
    """A turn that waits for its answers, so that one run is the whole story."""
    session = settings.session.model_copy(update={"approvals": "wait"})
    return settings.model_copy(update={"session": session})


async def drive(home: Home, model: str, *, decides: bool) -> dict[str, Any]:
    settings = blocking(load_settings(home))
    message = replace(MESSAGE, model=model)
    async with open_host(home, settings) as host:
        sent = await host.database.write(
            lambda tx: send_message(tx, settings, SessionKey.for_main(), message)
        )
        run_ids = [str(sent.run_id)]
        while True:
            [run] = await host.advance_only(run_ids)
            pending = await host.database.read(pending_approvals)
            if run.status != "waiting" or not decides:
                said = await host.database.read(lambda tx: transcript(tx, run_ids[0]))
                return {
                    "status": run.status,
                    "outcome": run.outcome,
                    "text": run.narrative,
                    "transcript": said,
                }
            for approval in pending:
                await decide_one(host, home, approval)


def _arguments(raw: Any) -> Any:
    return json.loads(raw) if isinstance(raw, str) else raw


def transcript(tx: Tx, run_id: str) -> list[Any]:
    """What was said and asked for, without the times and ids that differ from run to run."""
    said: list[Any] = []
    for message in read_messages(tx, run_id):
        parts = [part for each in json.loads(message.body) for part in each["parts"]]
        said.append([part.get("content") or [part["tool_name"], _arguments(part["args"])] for part in parts])
    return said


async def decide_one(host: Host, home: Home, approval: Approval) -> None:
    """Says yes for the whole run; of an uncertain effect, says what the ledger says."""
    if approval.kind == "uncertain":
        line = json.loads(approval.arguments)["line"]
        ledger = home.root / "ledger.txt"
        happened = ledger.exists() and line in ledger.read_text().split("\n")
        answer = Answer(approval.id, approval.digest, "happened" if happened else "again", "test")
    else:
        answer = Answer(approval.id, approval.digest, "approve", "test")

    def work_(tx: Tx) -> None:
        if approval.kind == "confirm":
            target = call_target(tx, approval)
            give_grant(tx, approval.expert, approval.operation, target, by="test", run_id=approval.run_id)
        decide(tx, answer)

    await host.database.write(work_)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("home")
    parser.add_argument("model")
    parser.add_argument("--lease", type=int)
    parser.add_argument("--decide", action="store_true")
    given = parser.parse_args()
    if given.lease:
        lease.LEASE_MS = given.lease
        sweep.GRACE_MS = given.lease // 2
    # The first import of the model library can take longer than a test's short lease.
    import pydantic_ai.direct  # noqa: F401

    result = asyncio.run(drive(Home(Path(given.home)), given.model, decides=given.decide))
    sys.stdout.write(json.dumps(result))


if __name__ == "__main__":
    main()
