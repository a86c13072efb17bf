"""Messages that come during a turn, on both databases: stored before the answer, one turn at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.store.accept import Arrival
from colleague.store.claims import Taken, take
from colleague.store.inbox import (
    IncomingMessage,
    QueueRule,
    SendOutcome,
    drop_waiting,
    send,
    take_steered,
    waiting_for,
)
from colleague.store.lanes import lock_lane
from colleague.store.session_items import NewItem, items_of
from colleague.store.sql import select
from colleague.store.sweep import sweep
from colleague.store.tables import events, runs
from colleague.store.tx import Database
from tests.finish import finish
from tests.integration.store.databases import Opener

KEY = "agent:main:main"
LEASE = 10**15


class Chat:
    """One session in which somebody talks, and a worker without a model."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database, self.clock = database, clock

    async def send(self, text: str, dedupe: str = "", **rule: Any) -> SendOutcome:
        arrival = Arrival(
            kind="agent",
            expert="main",
            trigger="test",
            source="test",
            payload="{}",
            session_key=KEY,
            lane=KEY,
            dedupe_keys=(dedupe,) if dedupe else (),
        )
        said = IncomingMessage(arrival, "main", NewItem("user", text, source="ann"))
        return await self.database.write(lambda tx: send(tx, said, replace(QueueRule(), **rule)))

    async def take(self) -> Taken | None:
        return await self.database.write(lambda tx: take(tx, "worker", LEASE, ""))

    async def turn(self) -> list[str]:
        """Takes the next turn, which must be the only one, and ends it; the messages of it."""
        taken = await self.take()
        assert taken is not None
        assert await self.take() is None, "never two turns at once"
        await self.database.write(lambda tx: finish(tx, taken.hold, "completed"))
        return await self.said(taken.run.id)

    async def said(self, run_id: str) -> list[str]:
        items = await self.database.read(lambda tx: items_of(tx, KEY, limit=1000))
        return [item.text for item in items if item.run_id == run_id]

    async def turns(self) -> list[list[str]]:
        found = []
        while await self.database.read(lambda tx: tx.one(select(runs.c.id).where(runs.c.status == "queued"))):
            found.append(await self.turn())
        return found

    async def waiting(self) -> list[str]:
        rows = await self.database.read(lambda tx: waiting_for(tx, KEY))
        return [row.message.item.text for row in rows]

    async def reason(self, event_id: str) -> tuple[str | None, str | None]:
        query = select(events.c.outcome, events.c.reason).where(events.c.id == event_id)
        row = await self.database.read(lambda tx: tx.one(query))
        assert row is not None
        return row.outcome, row.reason


def talking(opener: Opener, acts: Callable[[Chat], Coroutine[Any, Any, None]]) -> None:
    async def open_chat() -> None:
        clock = MovableClock()
        database = opener(clock)
        try:
            await acts(Chat(database, clock))
        finally:
            await database.close()

    asyncio.run(open_chat())


@pytest.mark.parametrize(
    ("mode", "answer", "turns"),
    [
        ("steer", "steered", [["a"], ["b"]]),
        ("followup", "queued", [["a"], ["b"]]),
        ("queue", "queued", [["a"], ["b"]]),
        ("collect", "collected", [["a", "b"]]),
        ("steer-backlog", "steered", [["a", "b"]]),
    ],
)
def test_what_no_turn_took_is_run_after_it(
    opener: Opener, mode: str, answer: str, turns: list[list[str]]
) -> None:
    async def acts(chat: Chat) -> None:
        assert (await chat.send("first", mode=mode)).queued == "started"
        assert [(await chat.send(text, mode=mode)).queued for text in ("a", "b")] == [answer] * 2
        assert await chat.waiting() == ["a", "b"]
        assert await chat.turns() == [["first"], *turns]
        assert await chat.waiting() == []

    talking(opener, acts)


def test_steered_rows_become_part_of_the_turn_at_work(opener: Opener) -> None:
    async def acts(chat: Chat) -> None:
        first = await chat.send("first")
        taken = await chat.take()
        assert taken is not None
        await chat.send("later", mode="followup")
        sent = await chat.send("now")
        assert sent.run_id == first.run_id
        items = await chat.database.write(lambda tx: take_steered(tx, taken.hold, KEY))
        assert [item.text for item in items] == ["now"]
        await chat.send("now, too")
        items = await chat.database.write(lambda tx: take_steered(tx, taken.hold, KEY))
        assert [item.text for item in items] == ["now, too"], "a queued message switches nothing off"
        await chat.database.write(lambda tx: finish(tx, taken.hold, "completed"))
        assert await chat.said(taken.run.id) == ["first", "now", "now, too"]
        assert await chat.turns() == [["later"]]

    talking(opener, acts)


def test_interrupt_ends_the_turn_and_whoever_held_it_can_write_no_more(opener: Opener) -> None:
    from colleague.store.tx import Fenced

    async def acts(chat: Chat) -> None:
        await chat.send("first")
        taken = await chat.take()
        assert taken is not None
        await chat.send("waits", mode="followup")
        sent = await chat.send("stop", mode="interrupt")
        assert sent.queued == "interrupted"
        with pytest.raises(Fenced):
            await chat.database.write(lambda tx: take_steered(tx, taken.hold, KEY))
        assert await chat.turns() == [["waits", "stop"]]

    talking(opener, acts)


def test_debounce_waits_for_more_and_its_end_starts_the_turn(opener: Opener) -> None:
    async def acts(chat: Chat) -> None:
        await chat.send("first")
        taken = await chat.take()
        assert taken is not None
        await chat.send("a", mode="collect", debounce_ms=1000)
        await chat.database.write(lambda tx: finish(tx, taken.hold, "completed"))
        assert await chat.turns() == []
        chat.clock.move(seconds=0.5)
        await chat.send("b", mode="collect", debounce_ms=1000)
        chat.clock.move(seconds=0.7)
        await sweep(chat.database)
        assert await chat.turns() == [], "the second message has not waited long enough"
        chat.clock.move(seconds=0.5)
        await sweep(chat.database)
        assert await chat.turns() == [["a", "b"]]

    talking(opener, acts)


@pytest.mark.parametrize(
    ("drop", "turns"),
    [("old", [["b"], ["c"]]), ("new", [["a"], ["b"]]), ("summarize", None)],
)
def test_beyond_the_cap(opener: Opener, drop: str, turns: list[list[str]] | None) -> None:
    async def acts(chat: Chat) -> None:
        await chat.send("first")
        rule = {"mode": "queue", "cap": 2, "drop": drop}
        sent = {text: await chat.send(text, **rule) for text in ("a", "b", "c")}
        assert sent["c"].queued == ("dropped" if drop == "new" else "queued")
        outcome, reason = await chat.reason(sent["c" if drop == "new" else "a"].event_id)
        assert outcome == "skipped"
        assert "2 messages were waiting" in str(reason)
        found = await chat.turns()
        if turns is not None:
            assert found == [["first"], *turns]
        else:
            [_, [summary, after], last] = found
            assert summary.endswith("- a")
            assert (after, last) == ("b", ["c"])

    talking(opener, acts)


def test_many_at_once_start_one_turn_and_a_repeat_changes_nothing(opener: Opener) -> None:
    async def acts(chat: Chat) -> None:
        names = [f"m{number}" for number in range(30)]
        sent = await asyncio.gather(*(chat.send(name, name, mode="collect", cap=100) for name in names))
        assert [each.queued for each in sent].count("started") == 1
        again = await asyncio.gather(*(chat.send(name, name, mode="collect", cap=100) for name in names))
        assert all(each.duplicate for each in again)
        assert [each.event_id for each in again] == [each.event_id for each in sent]
        found = await chat.turns()
        assert len(found) == 2
        assert sorted(text for turn in found for text in turn) == sorted(names)

    talking(opener, acts)


def test_a_stopped_session_says_why_nothing_came_of_what_waited(opener: Opener) -> None:
    async def acts(chat: Chat) -> None:
        await chat.send("first")
        sent = await chat.send("a", mode="queue")

        def stop(tx: Any) -> int:
            lock_lane(tx, KEY)
            return drop_waiting(tx, KEY, "ann stopped the session")

        assert await chat.database.write(stop) == 1
        assert await chat.reason(sent.event_id) == ("skipped", "ann stopped the session")
        assert await chat.turns() == [["first"]]

    talking(opener, acts)
