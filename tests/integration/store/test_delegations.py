"""Work that is handed over: the parent waits without a worker and is told once, on both databases."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from colleague.clock import MovableClock
from colleague.store import claims as work
from colleague.store import journal
from colleague.store.accept import Arrival, accept
from colleague.store.announce import announce, announce_all
from colleague.store.approvals import Ask, wait
from colleague.store.cancel import cancel
from colleague.store.cascade import end_stopped_children
from colleague.store.claims import end_run, take_some
from colleague.store.delegations import (
    NewDelegation,
    add_delegation,
    asked_by,
    get_delegation,
    waits_for,
)
from colleague.store.inbox import IncomingMessage, QueueRule, send, waiting_for
from colleague.store.journal import DELEGATION, Call, Message, NewCall, read_calls
from colleague.store.lanes import lock_lane
from colleague.store.outbox import waiting_announcements
from colleague.store.run import Run, get_run, lock_run
from colleague.store.session_items import NewItem, items_of
from colleague.store.sql import func, select
from colleague.store.sweep import sweep
from colleague.store.tables import runs
from colleague.store.tx import Database, Tx
from tests.integration.store.databases import Opener

PARENT, CHILD = "agent:main:main", "agent:main:subagent:one"


def said(key: str, text: str = "go", **more: Any) -> IncomingMessage:
    arrival = Arrival(
        expert="main", trigger="t", source="test", payload="{}", session_key=key, lane=key, kind="agent"
    )
    return IncomingMessage(replace(arrival, **more), "main", NewItem("user", text, source="test"))


class Stage:
    """One parent turn that a worker holds, with one call that is to be handed over."""

    def __init__(self, database: Database, clock: MovableClock) -> None:
        self.database, self.clock = database, clock

    async def begin(self) -> None:
        await self.database.write(lambda tx: send(tx, said(PARENT), QueueRule()))
        self.taken = await self.take()

    async def take(self) -> work.Taken:
        database = self.database
        found = await database.write(lambda tx: work.take(tx, "w", database.lease_now(tx)))
        assert found is not None
        return found

    async def hand_over(self, *, seconds: int = 120, child: str = CHILD) -> Call:
        hold, run = self.taken.hold, self.taken.run

        def begin(tx: Tx) -> Call:
            position = len(journal.read_messages(tx, run.id))
            new = NewCall(0, f"c{position}", "sessions_send", "{}", "auto", "allowed", tool=DELEGATION)
            [call] = journal.append(tx, hold, [Message("main", position, "[]", None, 1)], new_calls=[new])
            return call

        call = await self.database.write(begin)

        def start(tx: Tx) -> None:
            lock_lane(tx, child)
            journal.start_call(tx, hold, call)
            kind = "subagent"
            sent = send(tx, said(child, kind=kind, parent_run=run.id), QueueRule("queue"))
            add_delegation(tx, NewDelegation(call.id, run, child, sent.event_id, sent.run_id, seconds * 1000))

        await self.database.write(start)
        return call

    async def wait(self) -> bool:
        return await self.database.write(lambda tx: wait(tx, self.taken.hold, working_ms=5))

    async def end_child(self, text: str = "42") -> None:
        child = await self.take()
        await self.database.write(
            lambda tx: end_run(tx, lock_run(tx, child.run.id), "completed", narrative=text)
        )

    async def call(self, call: Call) -> Call:
        [found] = [
            each
            for each in await self.database.read(lambda tx: read_calls(tx, call.run_id))
            if each.id == call.id
        ]
        return found

    async def status(self) -> str:
        return (await self.database.read(lambda tx: get_run(tx, self.taken.run.id))).status

    async def turns(self) -> int:
        query = select(func.count()).where(runs.c.session_key == PARENT)
        return int(await self.database.read(lambda tx: tx.execute(query).scalar_one()))


def on(opener: Opener, acts: Callable[[Stage], Awaitable[None]]) -> None:
    async def go() -> None:
        clock = MovableClock()
        database = opener(clock)
        try:
            stage = Stage(database, clock)
            await stage.begin()
            await acts(stage)
        finally:
            await database.close()

    asyncio.run(go())


def test_a_parent_that_waits_is_held_by_nobody_and_gets_the_result_in_its_call(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over()
        assert await stage.wait()
        row = await stage.database.read(lambda tx: get_run(tx, stage.taken.run.id))
        assert (row.status, row.worker, row.working_ms) == ("waiting", None, 5)
        await stage.end_child()
        assert (await stage.call(call)).result is None
        assert await announce_all(stage.database) == 1
        assert json.loads((await stage.call(call)).result or "{}")["text"] == "42"
        assert await stage.status() == "queued"
        assert await announce_all(stage.database) == 0
        assert await stage.turns() == 1

    on(opener, acts)


def test_two_senders_tell_a_result_once(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        await stage.hand_over(seconds=0)
        await stage.database.write(
            lambda tx: end_run(tx, lock_run(tx, stage.taken.run.id), "completed", narrative="later")
        )
        await stage.end_child()
        [message] = await stage.database.read(waiting_announcements)
        told = await asyncio.gather(
            *(stage.database.write(lambda tx: announce(tx, message)) for _ in range(8))
        )
        assert sorted(told) == [False] * 7 + [True]
        assert await stage.turns() == 2
        items = await stage.database.read(lambda tx: items_of(tx, PARENT))
        assert [(each.role, each.text) for each in items] == [("user", "go"), ("event", "42")]

    on(opener, acts)


def test_a_person_who_speaks_ends_the_waiting_and_the_result_becomes_a_turn(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over()
        assert await stage.wait()
        sent = await stage.database.write(lambda tx: send(tx, said(PARENT, "hello?"), QueueRule("steer")))
        assert (sent.queued, sent.run_id) == ("steered", stage.taken.run.id)
        assert "The work goes on" in str((await stage.call(call)).result)
        assert await stage.status() == "queued"
        child = await stage.database.read(lambda tx: get_delegation(tx, call.id))
        assert child is not None
        assert child.child_run is not None
        await stage.database.write(
            lambda tx: end_run(tx, lock_run(tx, str(child.child_run)), "failed", error="no key")
        )
        await announce_all(stage.database)
        assert await stage.turns() == 2
        items = await stage.database.read(lambda tx: items_of(tx, PARENT))
        assert items[-1].text == "It ended without a result: failed: no key"

    on(opener, acts)


def test_who_spoke_before_the_waiting_began_is_heard_too(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over()
        await stage.database.write(lambda tx: send(tx, said(PARENT, "hello?"), QueueRule("steer")))
        assert not await stage.wait()
        assert "A new message has come" in str((await stage.call(call)).result)

    on(opener, acts)


def test_only_working_time_of_the_child_counts_and_then_the_call_ends(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over(seconds=120)
        assert await stage.wait()
        for _ in range(20):
            stage.clock.move(seconds=300)
            await sweep(stage.database, take_over_lost=False)
        assert (await stage.call(call)).result is None
        await stage.take()
        for _ in range(8):
            stage.clock.move(seconds=31)
            await sweep(stage.database, take_over_lost=False)
        assert "no answer after 120 seconds of work" in str((await stage.call(call)).result)
        assert await stage.status() == "queued"

    on(opener, acts)


def test_a_child_that_needs_a_person_is_told_of_and_goes_on_later(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over()
        assert await stage.wait()
        child = await stage.take()
        ask = Ask(None, "confirm", "mail.send", "{}", "d")
        assert await stage.database.write(lambda tx: wait(tx, child.hold, [ask]))
        assert await announce_all(stage.database) == 1
        text = str((await stage.call(call)).result)
        assert "waits for a person" in text
        assert "mail.send" in text
        assert await stage.status() == "queued"
        found = await stage.database.read(lambda tx: get_delegation(tx, call.id))
        assert found is not None
        assert found.status == "going_on"

    on(opener, acts)


async def family(stage: Stage) -> list[Run]:
    """Every run, in the order in which they began."""
    return await stage.database.read(lambda tx: tx.find(Run, runs, {}, order=("id",)))


def test_what_a_cancelled_parent_handed_over_ends_with_it(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        call = await stage.hand_over()
        assert await stage.wait()
        assert await stage.database.write(lambda tx: cancel(tx, stage.taken.run.id, "stopped by ann"))
        assert "stopped by ann" in str((await stage.call(call)).result)
        assert [each.status for each in await family(stage)] == ["done", "queued"]
        told = await asyncio.gather(*(end_stopped_children(stage.database) for _ in range(3)))
        assert sum(told) == 1
        assert [each.outcome for each in await family(stage)] == ["cancelled", "cancelled"]
        assert await announce_all(stage.database) == 0
        assert await stage.turns() == 1

    on(opener, acts)


def test_children_of_children_end_too_and_a_result_that_was_not_told_is_not_told(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        parent = stage.taken
        await stage.hand_over(seconds=0)
        await stage.hand_over(seconds=0, child=f"{CHILD}-done")
        stage.taken = await stage.take()
        if stage.taken.run.session_key != CHILD:
            first, stage.taken = stage.taken, await stage.take()
        else:
            first = await stage.take()
        await stage.hand_over(seconds=0, child=f"{CHILD}-below")
        await stage.database.write(lambda tx: end_run(tx, lock_run(tx, first.run.id), "completed"))
        await stage.database.write(lambda tx: cancel(tx, parent.run.id, "stopped by ann"))
        while await announce_all(stage.database):
            pass
        ended = {each.session_key: each.outcome for each in await family(stage)}
        assert ended == {
            PARENT: "cancelled",
            CHILD: "cancelled",
            f"{CHILD}-below": "cancelled",
            f"{CHILD}-done": "completed",
        }
        assert await stage.turns() == 1

    on(opener, acts)


def test_an_interrupted_turn_ends_what_it_waits_for_and_nothing_else(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        await stage.hand_over(seconds=0, child=f"{CHILD}-beside")
        await stage.hand_over()
        assert await stage.wait()
        sent = await stage.database.write(lambda tx: send(tx, said(PARENT, "no"), QueueRule("interrupt")))
        assert sent.queued == "interrupted"
        await announce_all(stage.database)
        ended = {each.session_key: each.outcome for each in await family(stage) if each.session_key != PARENT}
        assert ended == {CHILD: "cancelled", f"{CHILD}-beside": None}

    on(opener, acts)


def test_in_a_session_of_others_only_what_was_handed_over_ends(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        other = "agent:main:test:dm:bob"
        at_work = await stage.database.write(lambda tx: send(tx, said(other, "his own"), QueueRule()))
        await stage.hand_over(child=other)
        await stage.database.write(lambda tx: send(tx, said(other, "and this"), QueueRule("queue")))
        assert await stage.wait()
        await stage.database.write(lambda tx: cancel(tx, stage.taken.run.id, "stopped by ann"))
        await announce_all(stage.database)
        waiting = await stage.database.read(lambda tx: waiting_for(tx, other))
        assert [each.message.item.text for each in waiting] == ["and this"]
        row = await stage.database.read(lambda tx: get_run(tx, str(at_work.run_id)))
        assert row.status == "queued"

    on(opener, acts)


def test_a_circle_is_seen_from_every_side(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        await stage.hand_over()
        assert await stage.wait()
        child = await stage.take()
        asked = await stage.database.read(lambda tx: asked_by(tx, child.run))
        assert asked == [PARENT]
        assert await stage.database.read(lambda tx: waits_for(tx, PARENT, CHILD))
        assert not await stage.database.read(lambda tx: waits_for(tx, CHILD, PARENT))

    on(opener, acts)


def test_no_more_turns_of_a_kind_work_than_may(opener: Opener) -> None:
    async def acts(stage: Stage) -> None:
        for number in range(5):
            key = f"agent:main:subagent:{number}"
            await stage.database.write(
                lambda tx, key=key: send(tx, said(key, kind="subagent"), QueueRule())  # type: ignore[misc]
            )
        await stage.database.write(
            lambda tx: accept(
                tx,
                Arrival(expert="e", trigger="t", source="s", payload="{}", session_key="s", lane=None),
            )
        )
        database = stage.database

        async def take(worker: str) -> list[work.Taken]:
            return await database.write(
                lambda tx: take_some(
                    tx, worker, database.lease_now(tx), "", 10, limits={"agent": 1, "subagent": 2}
                )
            )

        found = [each for some in await asyncio.gather(take("a"), take("b")) for each in some]
        assert sorted(each.run.kind for each in found) == ["expert", "subagent", "subagent"]

    on(opener, acts)
