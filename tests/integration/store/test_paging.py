"""Lists in pages: every row is on exactly one of them, and what is left is never kept quiet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from colleague.store.approvals import approvals_page, count_approvals
from colleague.store.event_report import events_page
from colleague.store.overview import count_dead_letters, dead_letters
from colleague.store.paging import Page
from colleague.store.run_filter import RunFilter
from colleague.store.tables import approvals, runs
from colleague.store.tx import Database, Tx
from tests.integration.store.databases import Opener
from tests.integration.store.test_store import MovableClock, on, send

ROWS = 25
Read = Callable[[Tx, str | None], Page[Any]]
READERS: dict[str, tuple[Read, bool]] = {
    "pending": (lambda tx, after: approvals_page(tx, limit=4, after=after), False),
    "every approval": (lambda tx, after: approvals_page(tx, every=True, limit=4, after=after), True),
    "runs": (lambda tx, after: RunFilter().page(tx, limit=4, after=after), True),
    "dead letters": (lambda tx, after: dead_letters(tx, limit=4, after=after), False),
    "events": (lambda tx, after: events_page(tx, limit=4, after=after), True),
}


async def fill(database: Database) -> list[str]:
    """Runs that are dead letters, each with a pending question; several of the same moment."""
    accepted = [await send(database, lane=None) for _ in range(ROWS)]

    def work(tx: Tx) -> None:
        for number, each in enumerate(accepted):
            tx.insert(
                approvals,
                id=f"{number:04}-approval",
                run_id=each.run_id,
                call_id=str(number),
                kind="learning" if number % 5 == 0 else "confirm",
                expert="e",
                operation="o",
                arguments="{}",
                digest="d",
                reasoning="",
                status="pending",
                on_timeout="reject",
                requested_at=number // 3,
            )
            tx.update(runs, {"id": each.run_id}, status="done", outcome="dead_letter", ended_at=number // 3)

    await database.write(work)
    return [str(each.run_id) for each in accepted]


def identity(item: Any) -> str:
    return str(item["id"] if isinstance(item, dict) else item.id)


@pytest.mark.parametrize("name", READERS)
def test_every_row_is_on_one_page(opener: Opener, name: str) -> None:
    read, descending = READERS[name]

    async def acts(database: Database, clock: MovableClock) -> None:
        await fill(database)
        found: list[str] = []
        after = None
        while True:
            page = await database.read(lambda tx, after=after: read(tx, after))
            found += [identity(each) for each in page.items]
            if page.next_after is None:
                break
            assert len(page.items) == 4
            after = page.next_after
        assert len(found) == len(set(found)) == ROWS
        if name not in ("dead letters",):
            assert found == sorted(found, reverse=descending)

    on(opener, acts)


def test_a_page_that_is_exactly_full_is_the_last(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fill(database)
        page = await database.read(lambda tx: RunFilter().page(tx, limit=ROWS))
        assert (len(page.items), page.next_after) == (ROWS, None)

    on(opener, acts)


def test_counts_are_of_all_of_them(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fill(database)
        counts = await database.read(
            lambda tx: (
                count_approvals(tx),
                count_approvals(tx, learnings=True),
                count_approvals(tx, every=True, learnings=False),
                count_dead_letters(tx),
            )
        )
        assert counts == (25, 5, 20, 25)

    on(opener, acts)


def test_what_was_gone_on_after_and_is_gone(opener: Opener) -> None:
    async def acts(database: Database, clock: MovableClock) -> None:
        await fill(database)
        assert await database.read(lambda tx: RunFilter().page(tx, limit=5, after="gone")) == Page([])

    on(opener, acts)
