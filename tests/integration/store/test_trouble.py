"""Why a run does not go on: stored for every process, and gone with its cause."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from colleague.clock import MovableClock
from colleague.store.accept import Arrival, accept
from colleague.store.cancel import cancel
from colleague.store.claims import Taken, end_run, give_back, release, retry_later, take
from colleague.store.journal import Message, append
from colleague.store.report import brief_document, run_document
from colleague.store.run import Run, get_run, lock_run
from colleague.store.sweep import fire
from colleague.store.timers import due_timers
from colleague.store.trouble import LONGEST, Trouble, clear_trouble, note_trouble, runs_in_trouble
from colleague.store.tx import Database, Fenced, Tx
from tests.integration.store.databases import Opener

ARRIVAL = Arrival(expert="e", trigger="t", source="test", payload="{}", session_key="s", lane="l")


def play(opener: Opener, acts: Callable[[Database, Taken, MovableClock], Awaitable[None]]) -> None:
    async def go() -> None:
        clock = MovableClock()
        database = opener(clock)
        try:
            await database.write(lambda tx: accept(tx, ARRIVAL))
            taken = await database.write(lambda tx: take(tx, "w", database.lease_now(tx)))
            assert taken is not None
            await database.write(lambda tx: note_trouble(tx, taken.hold, "m answers 500", 8000))
            await acts(database, taken, clock)
        finally:
            await database.close()

    asyncio.run(go())


async def run_of(database: Database, taken: Taken) -> Run:
    return await database.read(lambda tx: get_run(tx, taken.run.id))


def test_it_is_in_the_documents_with_its_times(opener: Opener) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        def look(tx: Tx) -> None:
            run = get_run(tx, taken.run.id)
            trouble = Trouble.of(run)
            assert trouble is not None
            assert (trouble.text, trouble.next_try_at - trouble.since) == ("m answers 500", 8000)
            assert brief_document(run)["trouble"] == run_document(tx, run.id)["trouble"]
            assert runs_in_trouble(tx) == [run.id]

        await database.read(look)

    play(opener, acts)


def test_the_first_failure_is_since_when(opener: Opener) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        first = Trouble.of(await run_of(database, taken))
        clock.move(seconds=60)
        again = await database.write(lambda tx: note_trouble(tx, taken.hold, "x" * 5000, 1000))
        assert first is not None
        assert (again.since, again.next_try_at) == (first.since, first.since + 61_000)
        assert len(again.text) == LONGEST
        clock.move(seconds=-3600)
        earlier = await database.write(lambda tx: note_trouble(tx, taken.hold, "y", 1000))
        assert earlier.since < first.since
        assert earlier.next_try_at - earlier.since == 1000

    play(opener, acts)


END = {
    "answer": lambda tx, taken: append(tx, taken.hold, [Message("main", 0, "{}", None, 1)]),
    "next try": lambda tx, taken: clear_trouble(tx, taken.hold),
    "give back": lambda tx, taken: give_back(tx, taken.hold),
    "crash": lambda tx, taken: release(tx, lock_run(tx, taken.run.id)),
    "end": lambda tx, taken: end_run(tx, lock_run(tx, taken.run.id), "completed"),
    "cancel": lambda tx, taken: cancel(tx, taken.run.id, "no"),
}


@pytest.mark.parametrize("how", END)
def test_it_goes_with_its_cause(opener: Opener, how: str) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        await database.write(lambda tx: END[how](tx, taken))
        assert (await run_of(database, taken)).trouble is None
        assert await database.read(runs_in_trouble) == []

    play(opener, acts)


def test_a_failed_attempt_says_when_the_next_begins(opener: Opener) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        await database.write(lambda tx: retry_later(tx, taken.hold, "no such mail", 30_000))
        run = await run_of(database, taken)
        trouble = Trouble.of(run)
        assert trouble is not None
        assert (trouble.text, trouble.next_try_at) == ("attempt 1 failed: no such mail", run.retry_at)
        clock.move(seconds=31)
        [timer] = await database.read(due_timers)
        await database.write(lambda tx: fire(tx, timer))
        assert (await run_of(database, taken)).trouble is None

    play(opener, acts)


def test_a_worker_that_lost_the_run_notes_nothing(opener: Opener) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        await database.write(lambda tx: give_back(tx, taken.hold))
        with pytest.raises(Fenced):
            await database.write(lambda tx: note_trouble(tx, taken.hold, "late", 1000))
        assert (await run_of(database, taken)).trouble is None

    play(opener, acts)


def test_an_interruption_is_no_crash_however_often(opener: Opener) -> None:
    async def acts(database: Database, taken: Taken, clock: MovableClock) -> None:
        again: Taken | None = taken
        for _ in range(5):
            assert again is not None
            held = again.hold
            await database.write(lambda tx, held=held: give_back(tx, held))  # type: ignore[misc]
            again = await database.write(lambda tx: take(tx, "w", database.lease_now(tx)))
        assert again is not None
        assert (again.run.stalls, again.alone, again.poisonous) == (0, False, False)

    play(opener, acts)
