"""A process that works on one turn which spawns sub-agents, for tests that kill it.

Usage: delegating.py HOME MODEL [--lease MS]"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from colleague.config import load_settings
from colleague.home import Home
from colleague.main_names import MAIN_SESSION
from colleague.runtime.host import open_host
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store import claims, lease, sweep
from colleague.store.run import Run
from colleague.store.session_items import items_of
from colleague.store.tables import runs
from colleague.store.tx import Tx


async def drive(home: Home, model: str) -> dict[str, Any]:
    settings = load_settings(home)
    said = SessionMessage("go", model=model, dedupe_key="the only message", queue_mode="queue")
    async with open_host(home, settings) as host:
        sent = await host.database.write(lambda tx: send_message(tx, settings, SessionKey.for_main(), said))
        await host.advance_only([str(sent.run_id)])
        return await host.database.read(seen)


def seen(tx: Tx) -> dict[str, Any]:
    items = items_of(tx, MAIN_SESSION)
    return {
        "results": [each.source for each in items if each.source.startswith("session:")],
        "answers": [each.text for each in items if each.role == "assistant" and each.text],
        "runs": sorted(
            f"{each.kind} {each.status} {each.outcome}" for each in tx.find(Run, runs, {}, order=("id",))
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("home")
    parser.add_argument("model")
    parser.add_argument("--lease", type=int)
    given = parser.parse_args()
    if given.lease:
        lease.LEASE_MS = given.lease
        sweep.GRACE_MS = given.lease // 2
    claims.ALONE_AFTER = 9  # on a busy machine a run may be at work in each of three lives that are killed
    import pydantic_ai.direct  # noqa: F401 - it can take longer than a short lease

    sys.stdout.write(json.dumps(asyncio.run(drive(Home(Path(given.home)), given.model))))


if __name__ == "__main__":
    main()
