"""The rules of the store, one at a time, on both databases."""

from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from colleague.clock import MovableClock
from colleague.errors import NotFound, UsageError
from colleague.store import claims as work
from colleague.store.accept import Accepted, Arrival, QueueFull, accept, accept_all
from colleague.store.approvals import Ask, raise_asks, wait
from colleague.store.cancel import cancel
from colleague.store.claims import release_all
from colleague.store.delegations import NewDelegation, add_delegation
from colleague.store.ids import new_id, short
from colleague.store.journal import Message, append
from colleague.store.lookup import full_id
from colleague.store.migrate import NewerDatabase, migrate
from colleague.store.outbox import put_in_outbox, sent, start_sending, waiting_outbox
from colleague.store.people import add_person, use_link
from colleague.store.retention import DAY_MS, forget_old
from colleague.store.run import get_run, lock_run
from colleague.store.spend import Spent, add_spend, spent_by_run, spent_today
from colleague.store.sql import func, select, text
from colleague.store.sqlite import SqliteDatabase
from colleague.store.sweep import sweep
from colleague.store.tables import approvals, events, lanes, messages, runs
from colleague.store.tx import Database, Tx
from tests.conftest import ROOT
from tests.finish import finish
from tests.integration.store.databases import Opener

ARRIVAL = Arrival(expert="e", trigger="t", source="test", payload="{}", session_key="s", lane="e/t")


def on(opener: Opener, acts: Callable[[Database, MovableClock], Awaitable[None]]) -> None:
    async def go() -> None:
        clock = MovableClock()
        database = opener(clock)
        try:
            await acts(database, clock)
        finally:
            await database.close()

    asyncio.run(go())


async def send(database: Database, **more: Any) -> Accepted:
    return await database.write(lambda tx: accept(tx, replace(ARRIVAL, **more)))


async def take(database: Database) -> work.Taken | None:
    return await database.write(lambda tx: work.take(tx, "w", database.lease_now(tx)))


async def count(database: Database, table: Any) -> int:
    return int(
        await database.read(lambda tx: tx.execute(select(func.count()).select_from(table)).scalar_one())
    )


def test_a_repeat_makes_no_event_and_has_the_first_ids(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        first = await send(database, dedupe_keys=("m1",))
        again = await send(database, dedupe_keys=("m1",))
        assert again == replace(first, duplicate=True)
        assert (await send(database, dedupe_keys=("m1",), trigger="other")).duplicate is False
        assert await count(database, events) == 2
        clock.move(days=8)
        assert (await send(database, dedupe_keys=("m1",))).duplicate is False

    on(opener, acts)


def test_a_hundred_repeats_at_once_make_one_run(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        accepted = await asyncio.gather(*(send(database, dedupe_keys=("m1",)) for _ in range(100)))
        assert len({each.run_id for each in accepted}) == 1
        assert sum(not each.duplicate for each in accepted) == 1
        row = await database.read(lambda tx: tx.one(select(events.c.duplicates)))
        assert row == (99,)

    on(opener, acts)


def test_a_refused_event_leaves_no_row_behind(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database, max_queued=1)
        with pytest.raises(QueueFull):
            await send(database, max_queued=1, dedupe_keys=("m2",))
        assert (await count(database, runs), await count(database, events)) == (1, 1)
        assert (await send(database, dedupe_keys=("m2",))).duplicate is False
        own = select(lanes.c.next_seq).where(lanes.c.lane == ARRIVAL.lane)
        assert await database.read(lambda tx: tx.one(own)) == (3,)

    on(opener, acts)


def test_many_at_once_never_exceed_the_limit(opener: Opener) -> None:
    """Each in a lane of its own, so that no lane makes them wait for each other."""

    async def acts(database: Database, clock: MovableClock) -> None:
        sent = (send(database, max_queued=5, lane=f"l{number}") for number in range(40))
        found = await asyncio.gather(*sent, return_exceptions=True)
        assert sum(isinstance(each, QueueFull) for each in found) == 35
        assert await count(database, runs) == 5

    on(opener, acts)


def test_a_held_event_has_no_place_in_the_lane(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        held = await send(database, held=True)
        assert held.run_id is None
        free = await send(database)
        taken = await take(database)
        assert taken is not None
        assert taken.run.id == free.run_id

    on(opener, acts)


def test_experts_take_turns(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for expert in ("a", "a", "a", "b", "c"):
            await send(database, expert=expert, lane=None)
        order, last = [], ""
        for _ in range(5):
            taken = await database.write(
                lambda tx, last=last: work.take(tx, "w", database.lease_now(tx), last)
            )
            last = taken.run.expert
            order.append(last)
        assert order == ["a", "b", "c", "a", "a"]

    on(opener, acts)


def test_experts_take_turns_when_several_are_taken_at_once(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for expert in ("a", "a", "a", "b", "c"):
            await send(database, expert=expert, lane=None)

        async def take_some(last: str, most: int) -> list[str]:
            found = await database.write(
                lambda tx: work.take_some(tx, "w", database.lease_now(tx), last, most)
            )
            return [taken.run.expert for taken in found]

        assert await take_some("a", 3) == ["b", "c", "a"]
        assert await take_some("a", 3) == ["a", "a"]
        assert await take_some("a", 3) == []

    on(opener, acts)


def test_events_that_come_together_keep_their_order(opener: Opener) -> None:
    """Also around one that is a repeat, and beside those of another lane."""

    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database, lane="x", dedupe_keys=("m1",))
        keys = (("x", "m2"), ("y", "m3"), ("x", "m1"), ("x", "m4"), (None, "m5"))
        arrivals = [replace(ARRIVAL, lane=lane, dedupe_keys=(key,)) for lane, key in keys]
        accepted = await database.write(lambda tx: accept_all(tx, arrivals))
        assert [each.duplicate for each in accepted] == [False, False, True, False, False]
        await send(database, lane="x")
        rows = await database.read(lambda tx: tx.all(select(runs.c.lane, runs.c.seq).order_by(runs.c.id)))
        places = [row.seq for row in rows if row.lane == "x"]
        assert places == sorted(set(places))
        assert [row.lane for row in rows] == ["x", "x", "y", "x", None, "x"]

    on(opener, acts)


def test_a_connection_that_was_cut_is_replaced(opener: Opener) -> None:
    """A server that was started again must cost nobody an answer."""

    async def acts(database: Database, clock: MovableClock) -> None:
        if not database.shared:
            pytest.skip("SQLite has no connection to cut")
        await send(database)
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid != pg_backend_pid()"
        )
        with psycopg.connect(database.url) as connection:  # type: ignore[attr-defined]
            assert connection.execute(others).fetchall()
        await send(database)
        assert await count(database, runs) == 2

    on(opener, acts)


def test_one_poison_run_never_fails_innocent_ones(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database)
        seen = []
        for _ in range(4):
            taken = await take(database)
            assert taken is not None
            seen.append((taken.alone, taken.poisonous))
            await database.write(release_all)
        assert seen == [(False, False), (False, False), (True, False), (True, True)]

    on(opener, acts)


def test_progress_clears_the_suspicion(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database)
        for position in range(4):
            taken = await take(database)
            assert taken is not None
            assert not taken.alone
            message = Message("main", position, "[]", None, 1)
            await database.write(lambda tx, taken=taken, message=message: append(tx, taken.hold, [message]))
            await database.write(release_all)

    on(opener, acts)


def test_a_retry_waits_for_its_time_and_keeps_the_lane(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        first, second = await send(database), await send(database)
        taken = await take(database)
        assert taken is not None
        await database.write(lambda tx: work.retry_later(tx, taken.hold, "boom", 30_000))
        clock.move(seconds=29)
        await sweep(database)
        assert await take(database) is None
        clock.move(seconds=2)
        await sweep(database)
        again = await take(database)
        assert again is not None
        assert (again.run.id, again.run.attempt) == (first.run_id, 2)
        await database.write(lambda tx: finish(tx, again.hold, "completed"))
        after = await take(database)
        assert after is not None
        assert after.run.id == second.run_id

    on(opener, acts)


def test_a_dead_letter_comes_back_at_the_end_of_its_lane(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        first, second = await send(database), await send(database)
        taken = await take(database)
        assert taken is not None
        await database.write(lambda tx: finish(tx, taken.hold, "dead_letter", error="boom"))
        await database.write(lambda tx: work.revive(tx, str(first.run_id)))
        next_ = await take(database)
        assert next_ is not None
        assert next_.run.id == second.run_id
        assert await take(database) is None
        await database.write(lambda tx: finish(tx, next_.hold, "completed"))
        revived = await take(database)
        assert revived is not None
        assert (revived.run.id, revived.run.attempt, revived.run.outcome) == (first.run_id, 2, None)

    on(opener, acts)


def test_cancel_withdraws_questions_and_frees_the_lane(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        first, second = await send(database), await send(database)
        taken = await take(database)
        assert taken is not None
        await database.write(lambda tx: wait(tx, taken.hold, [Ask(None, "confirm", "x.y", "{}", "d")]))
        assert await database.write(lambda tx: cancel(tx, str(first.run_id), "changed my mind"))
        assert not await database.write(lambda tx: cancel(tx, str(first.run_id), "again"))
        row = await database.read(lambda tx: tx.one(select(approvals.c.status)))
        assert row == ("withdrawn",)
        next_ = await take(database)
        assert next_ is not None
        assert next_.run.id == second.run_id

    on(opener, acts)


def test_retention_forgets_only_what_is_settled(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        ends = {}
        for outcome in ("completed", "dead_letter", None):
            accepted = await send(database, lane=None)
            if outcome:
                taken = await take(database)
                assert taken is not None
                await database.write(lambda tx, t=taken, o=outcome: finish(tx, t.hold, o))
                ends[outcome] = taken.run.id
            else:
                ends["open"] = str(accepted.run_id)
        assert await database.write(forget_old) == 0
        clock.move(days=31)
        assert await database.write(lambda tx: forget_old(tx, 30 * DAY_MS)) == 1
        left = await database.read(lambda tx: {row.id for row in tx.all(select(runs.c.id))})
        assert left == {ends["dead_letter"], ends["open"]}
        assert await count(database, events) == 2

    on(opener, acts)


def test_retention_keeps_what_is_asked_or_untold(opener: Opener) -> None:
    def tell(tx: Tx, run_id: str, kind: str) -> None:
        put_in_outbox(tx, run_id, kind, "1", "elsewhere", "{}")

    def ask(tx: Tx, run_id: str, kind: str) -> None:
        raise_asks(tx, get_run(tx, run_id), [Ask(None, kind, "x.y", "{}", "d")])  # type: ignore[arg-type]

    def hand_over(tx: Tx, run_id: str, kind: str) -> None:
        add_delegation(tx, NewDelegation(kind, get_run(tx, run_id), "agent:main:subagent:x", "e", None))

    async def acts(database: Database, clock: MovableClock) -> None:
        ended = {}
        for kind, leave in (
            ("draft", ask),
            ("learning", ask),
            ("delivery", tell),
            ("approval", tell),
            ("child", hand_over),
        ):
            await send(database, lane=None)
            taken = await take(database)
            assert taken is not None
            await database.write(lambda tx, act=leave, run=taken.run, kind=kind: act(tx, run.id, kind))
            await database.write(lambda tx, hold=taken.hold: finish(tx, hold, "completed"))
            ended[kind] = taken.run.id
        clock.move(days=31)
        assert await database.write(forget_old) == 1
        left = await database.read(lambda tx: {row.id for row in tx.all(select(runs.c.id))})
        assert left == {ended[kind] for kind in ("draft", "learning", "delivery", "child")}
        assert await count(database, approvals) == 2

    on(opener, acts)


def test_retention_leaves_a_run_that_is_being_tried_again(opener: Opener) -> None:
    """With one writer nobody comes in between; several wait for each other's rows."""

    async def acts(database: Database, clock: MovableClock) -> None:
        run_id = str((await send(database, lane=None)).run_id)
        taken = await take(database)
        assert taken is not None
        await database.write(lambda tx: finish(tx, taken.hold, "failed"))
        clock.move(days=31)
        locked, forgetting = threading.Event(), threading.Event()

        def try_again(tx: Tx) -> None:
            lock_run(tx, run_id)
            locked.set()
            forgetting.wait(0.5)
            work.revive(tx, run_id)

        async def forgets() -> int:
            await asyncio.to_thread(locked.wait)
            gone = await database.write(forget_old)
            forgetting.set()
            return gone

        await asyncio.gather(database.write(try_again), forgets())
        assert await count(database, runs) == 1

    on(opener, acts)


def test_a_link_signs_in_once_though_two_follow_it_at_the_same_moment(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        secret = await database.write(lambda tx: add_person(tx, "ann", "viewer"))
        other = threading.Event()

        def follow(tx: Tx) -> str | None:
            found = use_link(tx, secret)
            other.wait(0.5)
            return found

        async def second() -> str | None:
            found = await database.write(lambda tx: use_link(tx, secret))
            other.set()
            return found

        found = await asyncio.gather(database.write(follow), second())
        assert sorted(map(str, found)) == ["None", "ann"]

    on(opener, acts)


def test_an_id_is_found_by_its_ending(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        accepted = await send(database)
        run_id = str(accepted.run_id)
        for typed in (short(run_id), short(run_id)[:5], short(run_id)[-5:]):
            assert await database.read(lambda tx, typed=typed: full_id(tx, runs, "run", typed)) == run_id
        for ending, error in (("abc", UsageError), ("%%%%", NotFound), ("zzzz", NotFound)):
            with pytest.raises(error):
                await database.read(lambda tx, ending=ending: full_id(tx, runs, "run", ending))

    on(opener, acts)


def test_spend_adds_up_by_run_and_by_day(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for run_id in ("r1", "r1", "r2"):
            used = Spent(10, 5, 0.25, 1)
            await database.write(lambda tx, run_id=run_id, used=used: add_spend(tx, "e", run_id, used))
        assert await database.read(lambda tx: spent_by_run(tx, "r1")) == Spent(20, 10, 0.5, 2)
        assert (await database.read(lambda tx: spent_today(tx, "e"))).tokens == 45
        clock.move(days=1)
        assert await database.read(lambda tx: spent_today(tx, "e")) == Spent()

    on(opener, acts)


def test_a_message_is_told_once(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        for _ in range(2):
            await database.write(lambda tx: put_in_outbox(tx, "r", "result", "1", "main", "{}"))
        [message] = await database.read(waiting_outbox)
        claims = [await database.write(lambda tx: start_sending(tx, message)) for _ in range(2)]
        assert claims == [True, False]
        await database.write(lambda tx: sent(tx, message.id))
        assert await database.read(waiting_outbox) == []

    on(opener, acts)


def test_a_read_sees_one_moment(opener: Opener) -> None:
    """What a document says of a run must not have its calls from before and its status from after."""

    async def acts(database: Database, _: MovableClock) -> None:
        counted, written = threading.Event(), threading.Event()

        def count_twice(tx: Tx) -> tuple[int, int]:
            def one() -> int:
                return int(tx.execute(select(func.count()).select_from(events)).scalar_one())

            first = one()
            counted.set()
            assert written.wait(120)
            return first, one()

        reading = asyncio.create_task(database.read(count_twice))
        await asyncio.to_thread(counted.wait, 120)
        await send(database)
        written.set()
        assert await reading == (0, 0)
        assert await count(database, events) == 1

    on(opener, acts)


def test_text_that_json_columns_refuse_can_be_stored(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await send(database)
        taken = await take(database)
        assert taken is not None
        body = '{"x": "\\u0000 and \U0001f4a5"}'
        await database.write(lambda tx: append(tx, taken.hold, [Message("main", 0, body, None, 1)]))
        row = await database.read(lambda tx: tx.one(select(messages.c.body)))
        assert row == (body,)

    on(opener, acts)


def test_a_newer_database_is_refused_with_a_sentence(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        def grow_and_open(tx: Tx) -> None:
            tx.execute(text("INSERT INTO schema_version VALUES (99)"))
            migrate(tx, "the database")

        with pytest.raises(NewerDatabase, match="of version 99"):
            await database.write(grow_and_open)

    on(opener, acts)


def test_a_migration_that_was_skipped_is_made_up_for(opener: Opener) -> None:
    """Two lines of work may number theirs apart and be merged in any order."""

    async def acts(database: Database, clock: MovableClock) -> None:
        def skip_and_open(tx: Tx) -> None:
            tx.execute(text("ALTER TABLE runs DROP COLUMN trouble"))
            tx.execute(text("DELETE FROM schema_version WHERE version = 9"))
            migrate(tx, "the database")

        await database.write(skip_and_open)
        assert await database.read(lambda tx: tx.all(select(runs.c.trouble))) == []

    on(opener, acts)


def test_every_way_in_is_accept() -> None:
    """Nobody else inserts an event or a run."""
    inserts = []
    for file in (ROOT / "src" / "colleague").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node).startswith(
                ("tx.insert(events", "tx.insert(runs")
            ):
                inserts.append(file.name)
    assert set(inserts) == {"accept.py"}


class TestGroupCommit:
    """SQLite: requests share a commit; nobody hears of anything before it, and a failure is everyone's."""

    def open(self, folder: Path) -> SqliteDatabase:
        return SqliteDatabase(folder / "db.sqlite", MovableClock())

    async def acknowledged_is_present(self, database: SqliteDatabase) -> list[str]:
        """Sends many at once while commits fail; returns what was acknowledged and is not there."""
        ends = await asyncio.gather(
            *(send(database, lane=f"l{number % 7}") for number in range(200)), return_exceptions=True
        )
        acknowledged = {str(end.run_id) for end in ends if isinstance(end, Accepted)}
        present = await database.read(lambda tx: {row.id for row in tx.all(select(runs.c.id))})
        assert any(isinstance(end, Exception) for end in ends)
        return sorted(acknowledged - present)

    def test_a_full_disk_loses_nothing_that_was_acknowledged(self, tmp_path: Path) -> None:
        async def go() -> None:
            database = self.open(tmp_path)
            await database.write(lambda tx: tx.execute(text("PRAGMA max_page_count = 70")))
            assert await self.acknowledged_is_present(database) == []
            await database.write(lambda tx: tx.execute(text("PRAGMA max_page_count = 100000")))
            assert (await send(database)).run_id
            await database.close()

        asyncio.run(go())

    def test_futures_before_the_commit_would_be_found(self, tmp_path: Path, monkeypatch: Any) -> None:
        """The seeded bug: the answer is given when the savepoint is released."""
        honest = SqliteDatabase._write_one

        def hasty(self: Any, connection: Any, job: Any, done: Any) -> None:
            honest(self, connection, job, done)
            if done and done[-1][0] is job:
                job.future.set_result(done.pop()[2])

        async def go() -> list[str]:
            database = self.open(tmp_path)
            await database.write(lambda tx: tx.execute(text("PRAGMA max_page_count = 70")))
            monkeypatch.setattr(SqliteDatabase, "_write_one", hasty)
            lost = await self.acknowledged_is_present(database)
            monkeypatch.undo()
            await database.close()
            return lost

        assert asyncio.run(go()) != []

    def test_one_that_fails_does_not_disturb_the_others(self, tmp_path: Path) -> None:
        async def go() -> None:
            database = self.open(tmp_path)

            def fails(tx: Tx) -> None:
                accept(tx, ARRIVAL)
                raise ValueError("no")

            ends = await asyncio.gather(
                send(database), database.write(fails), send(database), return_exceptions=True
            )
            assert [type(end).__name__ for end in ends] == ["Accepted", "ValueError", "Accepted"]
            assert await count(database, runs) == 2
            await database.close()

        asyncio.run(go())

    def test_someone_who_leaves_does_not_stop_the_writer(self, tmp_path: Path) -> None:
        async def go() -> None:
            database = self.open(tmp_path)
            for _ in range(50):
                task = asyncio.create_task(send(database))
                await asyncio.sleep(0)
                task.cancel()
            assert (await send(database)).run_id
            await database.close()

        asyncio.run(go())


def test_ids_sort_by_time_and_never_repeat() -> None:
    made = [new_id() for _ in range(20_000)]
    assert made == sorted(set(made))


def test_a_frozen_clock_does_not_freeze_leases(opener: Opener) -> None:
    """Leases go by a time that nobody moves."""

    async def acts(database: Database, clock: MovableClock) -> None:
        before = await database.read(database.lease_now)
        clock.move(days=-400)
        await asyncio.sleep(0.02)
        assert before < await database.read(database.lease_now) < before + 60_000

    on(opener, acts)


def test_a_run_that_is_gone_is_said_so(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        with pytest.raises(NotFound, match="there is no run 'nope'"):
            await database.read(lambda tx: get_run(tx, "nope"))

    on(opener, acts)
