"""A disk that is full for a while under a gateway: nothing that was accepted is lost, the gateway
says that it is not ready, and when there is room again everything is done without a restart.

The limit on the size of files that a process may write stands in for the disk: it needs no privilege, and it
can be moved while the process lives."""

from __future__ import annotations

import asyncio
import json
import resource
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.chaos.flood import TOKEN, Books, Gateway, Line, Post, Senders, furnish, posts
from tests.integration.mcp.support import free_port

EVENTS = 24
SECONDS = 120
NOTHING = 1024
"""Not even a page of the database fits."""


def set_room(gateway: Gateway, room: int | None) -> None:
    hard = resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE, (hard if room is None else room, hard))


def play_slowly(root: Path) -> None:
    """Answers that take a moment, so that many runs are in the middle of something at any time."""
    call = {"calls": [{"operation": "ledger.append", "arguments": {"line": "done"}}], "delay": 1.0}
    replies = [call] + [{"text": "Done.", "delay": 1.0}] * 3
    (root / "play.yaml").write_text(json.dumps({"replies": replies}))


@asynccontextmanager
async def open_gateway(root: Path, patience: float | None) -> AsyncIterator[tuple[Gateway, Books, Senders]]:
    home = furnish(root)
    play_slowly(root)
    gateway, books = Gateway(home, free_port(), patience=patience), Books.open(home)
    await gateway.start()
    try:
        yield gateway, books, Senders(gateway.port)
    finally:
        gateway.stop()
        await books.database.close()


async def until_ready(gateway: Gateway, expected: int) -> None:
    async with asyncio.timeout(SECONDS), Line(gateway.port) as line:
        while await line.get("/readyz") != expected:
            await asyncio.sleep(0.1)


async def running(books: Books) -> int:
    return sum(1 for status in await books.statuses() if status == "running")


@pytest.mark.parametrize("patience", [None, 0.0], ids=["runs-wait-for-room", "runs-are-given-back"])
def test_all_is_done_when_there_is_room_again(tmp_path: Path, patience: float | None) -> None:
    """Once the runs outlast the full disk; once every run that meets it has to be given back."""

    async def acts() -> None:
        async with open_gateway(tmp_path / "home", patience) as (gateway, books, senders):
            await senders.send(posts(EVENTS, EVENTS))
            async with asyncio.timeout(SECONDS):
                while await running(books) < 3:
                    await asyncio.sleep(0.02)
            set_room(gateway, NOTHING)
            await until_ready(gateway, 503)
            async with Line(gateway.port) as line:
                status, body = await line.hook(Post("late", "late"))
            assert (status, body["error"]["code"]) == (503, "database-unavailable")
            # every run under way meets the full disk before there is room
            await asyncio.sleep(4)
            set_room(gateway, None)
            await senders.send([Post("late", "late")])
            await books.drain(gateway, SECONDS)
            await until_ready(gateway, 200)
            verdict = await books.judge(senders, gateway.kills)
            assert (verdict.events, verdict.kills, verdict.clean) == (EVENTS + 1, 0, True), verdict
            assert await books.ends() == {("completed", None): EVENTS + 1}
            assert TOKEN not in (tmp_path / "home" / "logs" / "colleague.jsonl").read_text()

    asyncio.run(acts())


def test_it_can_be_stopped_meanwhile(tmp_path: Path) -> None:
    """With nothing but its own exit code to say; the next start goes on."""

    async def acts() -> None:
        async with open_gateway(tmp_path / "home", 0.0) as (gateway, books, senders):
            await senders.send(posts(3, 3))
            set_room(gateway, NOTHING)
            await until_ready(gateway, 503)
            assert gateway.stop() == 0
            await gateway.start()
            await books.drain(gateway, SECONDS)
            assert await books.completed() == 3

    asyncio.run(acts())
