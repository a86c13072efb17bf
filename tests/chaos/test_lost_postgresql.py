"""PostgreSQL killed with -9 and started again in the middle of a flood, under a gateway that is not started
again: what was answered 2xx is done, once; meanwhile the answer is 503, and then it goes on by itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import httpx2

from colleague.errors import DatabaseUnavailable
from tests.chaos.flood import HOOK, HOOK_TOKEN, Books, Gateway, Line, Senders, Verdict, furnish, posts
from tests.chaos.own_postgres import OwnPostgres, own_postgres
from tests.conftest import Colleague
from tests.integration.mcp.support import free_port

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
EVENTS, KEYS = (2000, 100) if LONG else (60, 10)
KILLS = 4 if LONG else 1
SECONDS = 900 if LONG else 180


async def kill_and_start(postgres: OwnPostgres, gateway: Gateway, senders: Senders, moment: int) -> None:
    while len(senders.answered) < moment:
        await asyncio.sleep(0.01)
    await asyncio.to_thread(postgres.kill)
    refused = senders.statuses[503]
    async with Line(gateway.port) as line:
        while senders.statuses[503] < refused + 3 or await line.get("/readyz") != 503:
            await asyncio.sleep(0.05)
        assert await line.get("/api/runs") == 503
        assert await line.get("/healthz") == 200
    await asyncio.to_thread(look_at_a_refusal, gateway.port)
    await asyncio.to_thread(postgres.start)


def look_at_a_refusal(port: int) -> None:
    """A stranger is told when to come again, and not where the database is."""
    headers = {"Authorization": f"Bearer {HOOK_TOKEN}"}
    answer = httpx2.post(
        f"http://127.0.0.1:{port}{HOOK}", json={"id": "late"}, headers=headers, timeout=SECONDS
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "database-unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert "postgres" not in answer.text


async def flood(root: Path, postgres: OwnPostgres) -> tuple[Verdict, Senders]:
    home = furnish(root, postgres.url)
    gateway, books = Gateway(home, free_port()), Books.open(home)
    senders = Senders(gateway.port)
    await gateway.start()
    try:
        async with asyncio.timeout(SECONDS):
            sending = asyncio.create_task(senders.send(posts(EVENTS, KEYS, repeated=10)))
            for number in range(1, KILLS + 1):
                await kill_and_start(postgres, gateway, senders, EVENTS * number // (KILLS + 2))
            await sending
            await _drained(books, gateway)
            async with Line(gateway.port) as line:
                while await line.get("/readyz") != 200:
                    await asyncio.sleep(0.1)
        return await books.judge(senders, gateway.kills), senders
    finally:
        gateway.stop()
        await books.database.close()


async def _drained(books: Books, gateway: Gateway) -> None:
    while True:
        try:
            await books.drain(gateway, SECONDS)
            return
        except DatabaseUnavailable:
            await asyncio.sleep(0.1)


def test_nothing_is_lost(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    with own_postgres() as postgres:
        verdict, senders = asyncio.run(flood(tmp_path / "home", postgres))
        record_property("told", f"{verdict}; answers: {dict(senders.statuses)}")
        assert (verdict.events, verdict.clean) == (EVENTS, True), verdict
        assert set(senders.statuses) <= {200, 202, 503}, senders.statuses
        commands_say_so(Colleague(tmp_path / "home"), postgres)


def commands_say_so(colleague: Colleague, postgres: OwnPostgres) -> None:
    """One sentence, exit code 3, no traceback."""
    postgres.kill()
    for command in (("status",), ("run", "list"), ("serve", "--port", "0"), ("worker",)):
        said = colleague(*command)
        assert said.code == 3, (command, said)
        assert "cannot be used" in said.err
        assert "Traceback" not in said.err
        assert len(said.err.splitlines()) == 2, said.err
