"""A flood of events: none is lost, none is done twice, and each key keeps its order; also when the gateway is
killed with -9 in the middle of it. What was answered 2xx is found; what was not is sent again."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.flood import Books, Gateway, Senders, Verdict, furnish, posts
from tests.integration.mcp.support import free_port
from tests.integration.store.databases import new_database

LONG = bool(os.environ.get("COLLEAGUE_LONG"))
EVENTS = 10_000 if LONG else 150
KEYS = 500 if LONG else 12
KILLS = [0, 12] if LONG else [3]
SECONDS = 3600 if LONG else 240


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Empty for the home's own file, else the URL of a new database."""
    if request.param == "sqlite":
        yield ""
        return
    with new_database(request.getfixturevalue("postgres_url")) as url:
        yield url


async def killing(gateway: Gateway, books: Books, senders: Senders, kills: int, seed: int) -> None:
    """Kills it when so and so many events are accepted or done, each time at a moment nobody chose."""
    dice = random.Random(seed)
    moments = sorted(dice.uniform(0.05, 1.6) for _ in range(kills))
    for moment in moments:
        while len(senders.answered) + await books.completed() < moment * EVENTS:
            await asyncio.sleep(0.01)
        await asyncio.sleep(dice.random() * 0.05)
        gateway.kill()
        await gateway.start()


async def flood(root: Path, database: str, *, kills: int) -> Verdict:
    home = furnish(root, database)
    gateway, books = Gateway(home, free_port()), Books.open(home)
    senders = Senders(gateway.port)
    await gateway.start()
    try:
        async with asyncio.timeout(SECONDS):
            sending = asyncio.create_task(senders.send(posts(EVENTS, KEYS, repeated=10)))
            draining = asyncio.create_task(_drained(books, gateway, sending))
            await killing(gateway, books, senders, kills, seed=EVENTS + kills)
            await draining
        return await books.judge(senders, gateway.kills)
    finally:
        gateway.stop()
        await books.database.close()


async def _drained(books: Books, gateway: Gateway, sending: asyncio.Task[None]) -> None:
    """The operator is there from the beginning, and again while the gateway is away."""
    while not sending.done() or await books.unfinished():
        try:
            await books.drain(gateway, SECONDS)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.05)
    await sending


@pytest.mark.parametrize("kills", KILLS)
def test_a_flood_is_neither_lost_nor_doubled_nor_mixed_up(
    tmp_path: Path, database: str, kills: int, record_property: Callable[[str, object], None]
) -> None:
    verdict = asyncio.run(flood(tmp_path / "home", database, kills=kills))
    record_property("told", str(verdict))
    assert (verdict.events, verdict.kills) == (EVENTS, kills)
    assert verdict.clean, verdict


def test_the_figures_can_be_other_than_zero(tmp_path: Path) -> None:
    """A flood that went well, and then the ledger is made to say otherwise."""

    async def acts() -> None:
        home = furnish(tmp_path / "home")
        gateway, books = Gateway(home, free_port()), Books.open(home)
        await gateway.start()
        senders = Senders(gateway.port)
        await senders.send(posts(12, 2))
        await books.drain(gateway, SECONDS)
        gateway.stop()
        assert (await books.judge(senders, 0)).clean
        ledger = home.root / "ledger.txt"
        lines = books.effects
        ledger.write_text("\n".join([*lines, lines[0]]))
        assert (await books.judge(senders, 0)).doubled == 1
        ledger.write_text("\n".join(lines[1:]))
        assert (await books.judge(senders, 0)).lost == 1
        ledger.write_text("\n".join(reversed(lines)))
        assert (await books.judge(senders, 0)).out_of_order == 10
        senders.answered["never heard of"].add("an id")
        assert (await books.judge(senders, 0)).lost > 0
        await books.database.close()

    asyncio.run(acts())


def test_what_was_answered_is_found_and_what_was_not_can_be_sent_again(tmp_path: Path) -> None:
    """The gateway dies while a request is on its way; the sender knows only whether it had an answer."""

    async def acts() -> None:
        home = furnish(tmp_path / "home", effect=False)
        gateway = Gateway(home, free_port())
        books = Books.open(home)
        senders = Senders(gateway.port, connections=4)
        dice = random.Random(7)
        for life in range(10 if LONG else 3):
            await gateway.start()
            wanted = posts(30, 5, prefix=f"life{life}-")
            sending = asyncio.create_task(senders.send(wanted))
            await asyncio.sleep(dice.random() * 0.15)
            gateway.kill()
            promised = {each: set(ids) for each, ids in senders.answered.items()}
            await gateway.start()
            await sending
            assert all(promised[each] == senders.answered[each] for each in promised), "other ids than before"
            assert all(len(ids) == 1 for ids in senders.answered.values())
            gateway.kill()
        await gateway.start()
        await books.drain(gateway, SECONDS)
        gateway.stop()
        assert await books.ends() == {("completed", None): len(senders.answered)}
        await books.database.close()

    asyncio.run(acts())


def test_fifty_at_once_are_all_accepted_and_done(tmp_path: Path) -> None:
    async def acts() -> None:
        home = furnish(tmp_path / "home", effect=False)
        gateway, books = Gateway(home, free_port()), Books.open(home)
        await gateway.start()
        senders = Senders(gateway.port, connections=50)
        await senders.send(posts(50, 50))
        assert senders.statuses == {202: 50}
        await books.drain(gateway, SECONDS)
        gateway.stop()
        assert await books.completed() == 50
        await books.database.close()

    asyncio.run(acts())
