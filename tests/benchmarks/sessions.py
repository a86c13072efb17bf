"""What a turn of a conversation costs over HTTP with an instant model: alone, many at once, late in a long
session and beside many others; how soon a stream has text; what a gateway costs that has nothing to do.

Usage: sessions.py [--messages N] [--others N]"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import httpx2 as httpx
from tests.benchmarks.events import Served, serving

from colleague.clock import SystemClock
from colleague.home import Home
from colleague.runtime.own_token import own_token
from colleague.store.ids import new_id
from colleague.store.sqlite import SqliteDatabase
from colleague.store.tables import sessions

GOALS = {"turn ms": 30, "20 at once s": 0.6, "long": 1.3, "idle MB": 95, "idle CPU %": 1.0}
TURNS = 40
IDLE_SECONDS = 15
MODEL = "script/instant.yaml"


@dataclass(frozen=True)
class Person:
    """Talks to a gateway."""

    client: httpx.AsyncClient

    async def turn(self, session: str) -> float:
        """Milliseconds from the message to its answer."""
        began = time.perf_counter()
        asked = {"text": "hello", "model": MODEL, "wait": 60}
        answer = await self.client.post(f"/api/sessions/{session}/messages", json=asked)
        answer.raise_for_status()
        if answer.json().get("status") != "done":
            raise SystemExit(f"the turn did not end: {answer.text}")
        return (time.perf_counter() - began) * 1000

    async def first_text(self, session: str) -> float:
        """Milliseconds from the request to the first piece of a streamed answer."""
        began = time.perf_counter()
        said = [{"role": "user", "content": "hello"}]
        asked = {"model": "main", "messages": said, "stream": True, "user": session}
        async with self.client.stream("POST", "/v1/chat/completions", json=asked) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                    return (time.perf_counter() - began) * 1000
        raise SystemExit("the stream had no text")


def furnish(root: Path) -> None:
    home = Home(root)
    home.root.mkdir(parents=True, exist_ok=True)
    (root / "instant.yaml").write_text(json.dumps({"replies": [{"when": "/./", "text": "Hello there."}]}))
    defaults = {"model": MODEL, "maxConcurrent": 20}
    (root / "colleague.json").write_text(json.dumps({"agents": {"defaults": defaults}}))


async def add_others(root: Path, others: int) -> None:
    """Sessions that were used before."""
    database = SqliteDatabase(Home(root).state / "colleague.sqlite", SystemClock())
    try:
        await database.write(lambda tx: _insert_others(tx, others))
    finally:
        await database.close()


def _insert_others(tx: Any, others: int) -> None:
    rows = [
        {"key": f"agent:main:bench:dm:{number}", "id": new_id(), "agent_id": "main", "spawn_depth": 0}
        | {"input_tokens": 0, "output_tokens": 0, "compaction_count": 0, "positions": 0}
        | {"started_at": tx.now, "created_at": tx.now, "updated_at": tx.now}
        for number in range(others)
    ]
    for start in range(0, len(rows), 1000):
        tx.insert_all(sessions, rows[start : start + 1000])


@asynccontextmanager
async def talking(root: Path) -> AsyncIterator[tuple[Served, Person]]:
    async with serving(root) as served:
        token = own_token(Home(root))
        base = f"http://127.0.0.1:{served.port}"
        headers = {"Authorization": f"Bearer {token}"}
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=120) as client:
            yield served, Person(client)


async def measure(messages: int, others: int) -> None:
    with tempfile.TemporaryDirectory(prefix="colleague-bench-") as folder:
        root = Path(folder)
        furnish(root)
        async with talking(root) as (served, person):
            await person.turn("agent:main:main")
            fresh = statistics.median([await person.turn(f"agent:main:bench:dm:f{n}") for n in range(TURNS)])
            show("a turn in a fresh session", f"{fresh:.1f} ms", fresh, GOALS["turn ms"])
            began = time.perf_counter()
            await asyncio.gather(*(person.turn(f"agent:main:bench:dm:g{n}") for n in range(20)))
            together = time.perf_counter() - began
            show("20 messages in 20 sessions at once", f"{together:.2f} s", together, GOALS["20 at once s"])
            stream = statistics.median([await person.first_text(f"s{n}") for n in range(10)])
            print(f"{'first text of a stream':44} {stream:.1f} ms ({stream / fresh:.2f} of a turn)")
            await idle(served)
            for _ in range(messages // 2):
                await person.turn("agent:main:bench:dm:long")
            late = statistics.median([await person.turn("agent:main:bench:dm:long") for _ in range(TURNS)])
            again = statistics.median([await person.turn(f"agent:main:bench:dm:h{n}") for n in range(TURNS)])
            show(f"a turn after {messages} messages", f"{late:.1f} ms", late / again, GOALS["long"])
        await add_others(root, others)
        async with talking(root) as (_, person):
            await person.turn("agent:main:main")
            beside = statistics.median([await person.turn(f"agent:main:bench:dm:k{n}") for n in range(TURNS)])
            show(f"a turn beside {others} other sessions", f"{beside:.1f} ms", beside / again, GOALS["long"])


async def idle(served: Served) -> None:
    before = served.cpu_seconds
    await asyncio.sleep(IDLE_SECONDS)
    share = (served.cpu_seconds - before) / IDLE_SECONDS * 100
    show("idle", f"{share:.2f} % of a core", share, GOALS["idle CPU %"])
    show("memory", f"{served.resident_mb:.0f} MB", served.resident_mb, GOALS["idle MB"])


def show(what: str, figure: str, value: float, goal: float) -> None:
    print(f"{what:44} {figure:>16}   {value / goal:.2f} of the goal")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--others", type=int, default=10_000)
    given = parser.parse_args()
    asyncio.run(measure(given.messages, given.others))
