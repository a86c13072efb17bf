"""A worker that ended a run still tidies up: the end of its own hold is no take-over."""

from __future__ import annotations

import asyncio

import pytest

from colleague.clock import MovableClock
from colleague.store import lease
from colleague.store.cancel import cancel
from colleague.store.claims import Taken
from colleague.store.tx import Database
from colleague.store.worker import Worker
from tests.finish import finish
from tests.integration.store.databases import Opener
from tests.integration.store.test_store import on, send

RENEWALS = 0.3
"""Seconds in which the lease of these tests is renewed many times."""


@pytest.fixture(autouse=True)
def short_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "LEASE_MS", 60)


def test_what_comes_after_the_end_is_not_disturbed(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        tidied = asyncio.Event()

        async def ends(taken: Taken) -> None:
            await database.write(lambda tx: finish(tx, taken.hold, "completed"))
            await asyncio.sleep(RENEWALS)
            tidied.set()

        await send(database)
        worker = Worker(database, ends)
        working = asyncio.create_task(worker.run())
        await asyncio.wait_for(tidied.wait(), 120)
        worker.stop()
        await working

    on(opener, acts)


def test_a_run_that_a_person_cancels_is_left_at_once(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        left = asyncio.Event()

        async def hangs(taken: Taken) -> None:
            try:
                await database.write(lambda tx: cancel(tx, taken.run.id, "a person"))
                await asyncio.sleep(60)
            finally:
                left.set()

        await send(database)
        worker = Worker(database, hangs)
        working = asyncio.create_task(worker.run())
        await asyncio.wait_for(left.wait(), 120)
        worker.stop()
        await working

    on(opener, acts)
