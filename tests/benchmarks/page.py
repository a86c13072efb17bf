"""The page with much to show: a long inbox, a long run, many runs, many open pages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.integration.gateway.harness import TOKEN, House, Running
from tests.waiting_inbox import MAIL, STAGE, WHY, fill_inbox

from colleague.clock import SystemClock
from colleague.config import load_settings
from colleague.home import Home
from colleague.store.ids import new_id
from colleague.store.open_database import open_database
from colleague.store.sql import Expression, Table, select
from colleague.store.tables import approvals, calls, runs
from colleague.store.tx import Tx

QUESTIONS, CALLS, RUNS, PAGES = 1_000, 500, 100_000, 200
GOAL_MS, GOAL_KB, GOAL_MB = 100, 150, 100
TRIES = 7


def write(home: Home, work: Callable[[Tx], None]) -> None:
    async def go() -> None:
        database = open_database(home, load_settings(home), {}, SystemClock())
        await database.write(work)
        await database.close()

    asyncio.run(go())


def _row(tx: Tx, table: Table, which: Expression) -> dict[str, Any]:
    [found] = tx.all(select(table).where(which).limit(1))
    return dict(zip((column.name for column in table.c), found, strict=True))


def many(tx: Tx) -> None:
    """Copies of rows that the store has written, so that they are as real ones are."""
    run = _row(tx, runs, runs.c.id.is_not(None))
    asked = _row(tx, approvals, approvals.c.kind == "confirm")
    drafted = {"kind": "draft", "operation": "email.send", "arguments": json.dumps(MAIL), "parameters": None}
    stage = {"arguments": json.dumps(STAGE), "reasoning": WHY}
    done = {"status": "done", "outcome": "completed", "ready": 0, "lane": None, "ended_at": tx.now}
    for _ in range(RUNS // 1_000):
        rows = [run | done | {"id": new_id()} for _ in range(1_000)]
        tx.insert_all(runs, rows)
    about = {"expires_at": None, "call_id": None}
    questions = [
        asked | (stage if n % 2 else drafted) | about | {"id": new_id(), "run_id": row["id"]}
        for n, row in enumerate(rows[:QUESTIONS])
    ]
    tx.insert_all(approvals, questions)
    result = json.dumps({"text": json.dumps(MAIL), "source": "office"})
    made = {"run_id": asked["run_id"], "session": "main", "operation": "email.get_email", "server": "office"}
    more = {"tool": "get_email", "tier": "auto", "arguments": '{"message_id": "m-1"}', "digest": "d"}
    state = {"status": "finished", "sends": 1, "repeatable": 1, "is_error": 0, "result": result}
    times = {"started_at": tx.now, "ended_at": tx.now + 40, "place": 0}
    rows = [
        made | more | state | times | {"id": new_id(), "position": n, "tool_call_id": f"t{n}"}
        for n in range(CALLS)
    ]
    tx.insert_all(calls, rows)


def memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measured(client: httpx2.Client, name: str, path: str) -> None:
    client.get(path)
    times = []
    for _ in range(TRIES):
        began = time.perf_counter()
        with client.stream("GET", path) as answer:
            assert answer.status_code == 200
            next(answer.iter_bytes())
            times.append((time.perf_counter() - began) * 1000)
    answer = client.get(path)
    whole, zipped = answer.content, int(answer.headers["content-length"]) / 1000
    first = statistics.median(times)
    good = first < GOAL_MS and zipped < GOAL_KB
    print(
        f"{name:34} first byte {first:6.1f} ms (goal {GOAL_MS})   {len(whole) / 1000:7.1f} kB, "
        f"{zipped:6.1f} kB compressed (goal {GOAL_KB})   {'ok' if good else 'MISSED'}"
    )


def open_pages(running: Running, cookie: str) -> None:
    """Pages that are open and hear of changes; none of them asks by itself."""
    before = memory_mb()
    asked = f"GET /news HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nCookie: {cookie}\r\n\r\n".encode()
    pages = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(PAGES)]
    for each in pages:
        each.sendall(asked)
        assert each.recv(65536).startswith(b"HTTP/1.1 200")
    time.sleep(2)
    for each in pages:
        each.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            each.recv(65536)
    requests = requests_so_far(running)
    time.sleep(5)
    told = sum(heard(each) for each in pages)
    used, more = memory_mb() - before, requests_so_far(running) - requests - 1
    print(
        f"{PAGES} open pages: {used:.0f} MB (goal {GOAL_MB}), told {told} times and "
        f"{more} requests in 5 quiet seconds   {'ok' if used < GOAL_MB else 'MISSED'}"
    )


def heard(page: socket.socket) -> bool:
    try:
        return b"event" in page.recv(65536)
    except BlockingIOError:
        return False


def requests_so_far(running: Running) -> int:
    text = running.get("/metrics").text
    return sum(
        int(float(line.rpartition(" ")[2])) for line in text.splitlines() if "http_requests_total{" in line
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        house = House(Path(folder) / "home").furnish()
        fill_inbox(house.home)
        write(house.home, many)
        with house.open() as running, httpx2.Client(base_url=running.url, timeout=120) as client:
            client.post("/login", data={"token": TOKEN, "next": "/"})
            asked = running.get("/api/approvals").json()
            run = next(each["run_id"] for each in asked if each["kind"] == "confirm")
            measured(client, f"inbox with {QUESTIONS} questions", "/")
            measured(client, f"a run with {CALLS} calls", f"/runs/{run}")
            measured(client, f"the list of {RUNS} runs", "/runs")
            measured(client, "the list, one status", "/runs?status=waiting")
            open_pages(running, f"colleague={client.cookies['colleague']}")
            sys.stdout.flush()
            os._exit(0)  # two hundred pages need not be closed one by one


if __name__ == "__main__":
    main()
