"""A process that talks to the main session of a home, for tests that kill it while the talk is shortened.

Each message is sent once, however often the process is started. Usage: long_talk.py HOME TURNS"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from colleague.agent.context.compaction import ITEM_SOURCE
from colleague.config import load_settings
from colleague.home import Home
from colleague.runtime.host import open_host
from colleague.session_key import SessionKey
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.compactions import Compaction
from colleague.store.session_entry import get_session
from colleague.store.session_items import items_of
from colleague.store.tables import compactions
from colleague.store.tx import Tx

KEY = SessionKey.for_main()
FACT = "The code of Heron is K-4711-Q."


async def talk(home: Home, turns: int) -> dict[str, Any]:
    settings = load_settings(home)
    answers = []
    async with open_host(home, settings) as host:
        for number in range(turns):
            text = f"{FACT if number == 0 else ''} Message {number}. " + "word " * 1200
            message = SessionMessage(text, source="test", dedupe_key=f"message {number}")
            sent = await host.database.write(lambda tx, m=message: send_message(tx, settings, KEY, m))
            [run] = await host.advance_only([str(sent.run_id)])
            answers.append(run.narrative or run.error)
        return {"answers": answers} | await host.database.read(_standing)


def _standing(tx: Tx) -> dict[str, Any]:
    made = tx.find(Compaction, compactions, {}, order=("number",))
    items = items_of(tx, str(KEY), limit=1000)
    return {
        "count": get_session(tx, str(KEY)).compaction_count,
        "made": [asdict(each) for each in made],
        "told": sum(item.source == ITEM_SOURCE for item in items),
        "said": [(item.role, item.text[:60]) for item in items if item.role != "event"],
    }


def main() -> None:
    import pydantic_ai.direct  # noqa: F401 - its first import can take longer than a lease

    home, turns = sys.argv[1:]
    sys.stdout.write(json.dumps(asyncio.run(talk(Home(Path(home)), int(turns)))))


if __name__ == "__main__":
    main()
