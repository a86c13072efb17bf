"""What a clock that is wrong for a few seconds could destroy for good: nothing of it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from colleague.clock import DOUBT_MS
from colleague.store import claims as work
from colleague.store.accept import Arrival, accept
from colleague.store.approvals import Ask, get_approval, wait
from colleague.store.call_target import CallTarget
from colleague.store.grants import give_grant, live_grants
from colleague.store.outbox import not_sent, put_in_outbox, waiting_outbox
from colleague.store.run import get_run
from colleague.store.sla import Sla
from colleague.store.spend import Spent, add_spend, spent_today
from colleague.store.sql import select
from colleague.store.sweep import forget, sweep
from colleague.store.tables import approvals, runs, timers
from colleague.store.tx import Database
from tests.finish import finish
from tests.integration.store.databases import Opener
from tests.watch import Watch

DAY_MS = 86_400_000
ARRIVAL = Arrival(expert="e", trigger="t", source="test", payload="{}", session_key="s", lane=None)
ASK = Ask(None, "confirm", "mail.send", "{}", "digest", expires_ms=DAY_MS)
TARGET = CallTarget("office", "send", "launch", "schema", "package")


def on(opener: Opener, acts: Callable[[Database, Watch], Awaitable[None]]) -> None:
    async def go() -> None:
        watch = Watch()
        database = opener(watch.clock())  # type: ignore[arg-type]
        try:
            await acts(database, watch)
        finally:
            await database.close()

    asyncio.run(go())


async def take(database: Database, **more: Any) -> work.Taken:
    await database.write(lambda tx: accept(tx, replace(ARRIVAL, **more)))
    taken = await database.write(lambda tx: work.take(tx, "w", database.lease_now(tx)))
    assert taken is not None
    return taken


async def ask(database: Database) -> str:
    taken = await take(database)
    await database.write(lambda tx: wait(tx, taken.hold, [ASK]))
    [row] = await database.read(lambda tx: tx.all(select(approvals.c.id)))
    return str(row.id)


async def ahead_for_six_seconds(database: Database, watch: Watch, days: int = 40) -> None:
    watch.moves(days=days)
    for _ in range(6):
        watch.passes(seconds=1)
        await sweep(database)
        await forget(database, 30 * DAY_MS)
    watch.moves(days=-days)


class TestAheadForSixSeconds:
    def test_an_approval_does_not_expire(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            asked = await ask(database)
            await ahead_for_six_seconds(database, watch)
            assert (await database.read(lambda tx: get_approval(tx, asked))).status == "pending"
            watch.passes(days=1)
            await sweep(database)
            assert (await database.read(lambda tx: get_approval(tx, asked))).status == "expired"

        on(opener, acts)

    def test_no_run_is_forgotten(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            taken = await take(database)
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))
            await ahead_for_six_seconds(database, watch)
            assert (await database.read(lambda tx: get_run(tx, taken.run.id))).outcome == "completed"
            watch.passes(days=31)
            assert await forget(database, 30 * DAY_MS) == 1

        on(opener, acts)

    def test_a_repeat_is_a_repeat(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            keyed = replace(ARRIVAL, dedupe_keys=("delivery 1",))
            first = await database.write(lambda tx: accept(tx, keyed))
            watch.moves(days=40)
            again = await database.write(lambda tx: accept(tx, keyed))
            await forget(database, 30 * DAY_MS)
            watch.moves(days=-40)
            last = await database.write(lambda tx: accept(tx, keyed))
            assert (again.event_id, last.event_id) == (first.event_id, first.event_id)

        on(opener, acts)

    def test_the_budget_of_the_day_is_not_renewed(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            await database.write(lambda tx: add_spend(tx, "e", "r", Spent(10, 20, 0.5)))
            before = await database.read(lambda tx: spent_today(tx, "e"))
            watch.moves(days=1)
            assert await database.read(lambda tx: spent_today(tx, "e")) == before

        on(opener, acts)

    def test_a_grant_and_a_promise_last_as_long_as_they_last(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            taken = await take(database, sla=Sla(3_600_000))
            await database.write(
                lambda tx: give_grant(tx, "e", "mail.send", TARGET, by="ann", lasts_ms=DAY_MS)
            )
            await ahead_for_six_seconds(database, watch)
            late = await database.read(lambda tx: tx.one(select(runs.c.sla_breached_at)))
            assert late is not None
            assert late[0] is None
            assert await database.read(lambda tx: live_grants(tx, "e", taken.run.id))
            watch.passes(days=1)
            assert not await database.read(lambda tx: live_grants(tx, "e", taken.run.id))

        on(opener, acts)


class TestWrongAtBoot:
    """It was ahead when the process began, and is put right later."""

    async def put_right(self, watch: Watch, database: Database) -> None:
        watch.moves(days=-40)
        await sweep(database)
        watch.passes(seconds=DOUBT_MS / 1000)
        await sweep(database)

    def test_a_pause_between_attempts_does_not_last_for_forty_days(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            taken = await take(database)
            await database.write(lambda tx: work.retry_later(tx, taken.hold, "it failed", 3_600_000))
            await self.put_right(watch, database)
            assert (await database.read(lambda tx: get_run(tx, taken.run.id))).status == "queued"
            assert await database.read(lambda tx: tx.all(select(timers))) == []

        on(opener, acts)

    def test_a_pause_of_a_right_clock_is_kept(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            taken = await take(database)
            watch.passes(seconds=5)
            await database.write(lambda tx: work.retry_later(tx, taken.hold, "it failed", 40 * DAY_MS))
            watch.moves(seconds=-30)
            await sweep(database)
            assert (await database.read(lambda tx: get_run(tx, taken.run.id))).status == "retrying"

        on(opener, acts)

    def test_nor_does_one_between_deliveries(self, opener: Opener) -> None:
        async def acts(database: Database, watch: Watch) -> None:
            await database.write(lambda tx: put_in_outbox(tx, "r", "narrative", "1", "main", "{}"))
            [message] = await database.read(waiting_outbox)
            await database.write(lambda tx: not_sent(tx, message.id, "away", again_in_ms=3_600_000))
            assert await database.read(waiting_outbox) == []
            await self.put_right(watch, database)
            assert [each.id for each in await database.read(waiting_outbox)] == [message.id]

        on(opener, acts)
