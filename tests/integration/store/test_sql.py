"""Statements as the two databases understand them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from colleague.clock import MovableClock
from colleague.store.sql import Expression, case, func, or_, select, tuple_, update
from colleague.store.tables import lanes
from colleague.store.tx import Tx
from tests.integration.store.databases import Opener
from tests.tables import every_table

HOSTILE = ["50% of it", "a_b", "it's; DROP TABLE x --", "%s %(1)s ?1 :lane", "1/%/2", "{} {0}", "Größe"]


def on(opener: Opener, work: Callable[[Tx], Any]) -> Any:
    async def act() -> Any:
        database = opener(MovableClock())
        try:
            return await database.write(work)
        finally:
            await database.close()

    return asyncio.run(act())


def named(tx: Tx, *which: Expression) -> list[str]:
    return [row.lane for row in tx.all(select(lanes).where(*which).order_by(lanes.c.next_seq))]


def fill(tx: Tx) -> None:
    tx.insert_all(lanes, [{"lane": lane, "next_seq": number} for number, lane in enumerate(HOSTILE)])


def test_every_column_is_in_the_database(opener: Opener) -> None:
    """The tables here are written by hand, and so are the migrations."""

    def look(tx: Tx) -> None:
        for table in every_table():
            assert tx.all(select(table).limit(1)) == [], table.name

    on(opener, look)


@pytest.mark.parametrize("lane", HOSTILE)
def test_a_text_is_found_as_it_is(opener: Opener, lane: str) -> None:
    def look(tx: Tx) -> None:
        fill(tx)
        assert named(tx, lanes.c.lane == lane) == [lane]
        assert named(tx, lanes.c.lane.in_([lane, "other"])) == [lane]
        assert named(tx, lanes.c.lane.startswith(lane[:3])) == [lane]
        assert named(tx, lanes.c.lane.endswith(lane[-3:])) == [lane]
        assert named(tx, lanes.c.lane.contains(lane[1:])) == [lane]
        assert named(tx, lanes.c.lane.icontains(lane.swapcase() if lane.isascii() else lane)) == [lane]
        assert named(tx, ~lanes.c.lane.startswith(lane)) == [each for each in HOSTILE if each != lane]

    on(opener, look)


def test_marks_of_patterns_match_only_themselves(opener: Opener) -> None:
    def look(tx: Tx) -> None:
        fill(tx)
        assert named(tx, lanes.c.lane.contains("%")) == [each for each in HOSTILE if "%" in each]
        assert named(tx, lanes.c.lane.contains("_")) == ["a_b"]
        assert named(tx, lanes.c.lane.like("a_b")) == ["a_b"]

    on(opener, look)


def test_nothing_is_in_an_empty_list(opener: Opener) -> None:
    def look(tx: Tx) -> None:
        fill(tx)
        assert named(tx, lanes.c.lane.in_([])) == []
        assert named(tx, lanes.c.lane.not_in([])) == HOSTILE
        assert named(tx, or_(lanes.c.lane.in_([]), lanes.c.next_seq == 1)) == HOSTILE[1:2]

    on(opener, look)


def test_a_column_is_grouped_by_what_it_is_computed_from(opener: Opener) -> None:
    def look(tx: Tx) -> None:
        fill(tx)
        half = case((lanes.c.next_seq < 3, "first"), else_="rest")
        rows = tx.all(select(half.label("half"), func.count().label("count")).group_by(half).order_by(half))
        assert [(row.half, row.count) for row in rows] == [("first", 3), ("rest", len(HOSTILE) - 3)]

    on(opener, look)


def test_pages_changes_and_counts(opener: Opener) -> None:
    def look(tx: Tx) -> None:
        fill(tx)
        after = tuple_(lanes.c.next_seq, lanes.c.lane) > tuple_(1, HOSTILE[1])
        assert named(tx, after) == HOSTILE[2:]
        rest = tx.all(select(lanes.c.lane).order_by(lanes.c.next_seq).offset(2))
        assert [row[0] for row in rest] == HOSTILE[2:]
        raised = update(lanes).where(lanes.c.next_seq > 3).values(next_seq=lanes.c.next_seq + 10)
        assert tx.execute(raised).rowcount == len(HOSTILE) - 4
        assert not tx.changed(raised.where(lanes.c.lane == "nobody"))

    on(opener, look)
