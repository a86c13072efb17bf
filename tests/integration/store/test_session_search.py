"""Full-text search over everything said: the same on both databases, whatever is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import pytest

from colleague.clock import MovableClock
from colleague.store.retention import forget_old
from colleague.store.session_entry import begin_transcript, open_session
from colleague.store.session_items import NewItem, add_item
from colleague.store.session_search import search_items
from colleague.store.sql import text
from colleague.store.tables import sessions
from colleague.store.tx import Tx
from tests.integration.store.databases import Opener

T = TypeVar("T")
KEY, OTHER = "agent:main:main", "agent:main:telegram:dm:1"
HOSTILE = [
    "",
    "   ",
    '"',
    "'; DROP TABLE session_items; --",
    "AND OR NOT NEAR(",
    "text:pipeline",
    "* ^ : & | ! <-> ()",
    "a" * 5000,
    "x\0y",
    "\ud800",
    "%s %(name)s :words",
    "👍🏽 ² ½",
    " ".join(["word"] * 500),
]


def on(opener: Opener, clock: MovableClock, *works: Callable[[Tx], T]) -> list[T]:
    async def go() -> list[T]:
        database = opener(clock)
        try:
            return [await database.write(each) for each in works]
        finally:
            await database.close()

    return asyncio.run(go())


def say(*said: str, key: str = KEY, hidden: bool = False) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        open_session(tx, key, "main")
        if hidden:
            tx.update(sessions, {"key": key}, hidden=1)
        for each in said:
            add_item(tx, key, NewItem("user", each))

    return work


def find(query: str, **more: Any) -> Callable[[Tx], list[Any]]:
    return lambda tx: [
        (each.session_key, each.position, each.excerpt) for each in search_items(tx, query, **more)
    ]


class TestFinding:
    def test_all_words_each_as_a_beginning_the_newest_first(self, opener: Opener) -> None:
        said = say("The pipeline of Acme is full", "Nothing here", "ACME: write to joe@acme-corp.example")
        _, both, one, none, mail = on(
            opener,
            MovableClock(),
            said,
            find("acm"),
            find("full acme"),
            find("acme penguin"),
            find("corp example"),
        )
        assert [each[1] for each in both] == [3, 1]
        assert one == [(KEY, 1, "The pipeline of Acme is full")]
        assert (none, [each[1] for each in mail]) == ([], [3])

    def test_other_scripts(self, opener: Opener) -> None:
        found = on(opener, MovableClock(), say("Größe und Straße", "привет мир"), find("größe"), find("мир"))
        assert [[each[1] for each in hits] for hits in found[1:]] == [[1], [2]]  # type: ignore[union-attr]

    def test_archives_are_found_and_hidden_sessions_are_not(self, opener: Opener) -> None:
        def archives(tx: Tx) -> list[str | None]:
            return [each.archive for each in search_items(tx, "apple")]

        _, archive, _, _, found, one, limited = on(
            opener,
            MovableClock(),
            say("apple one"),
            lambda tx: begin_transcript(tx, KEY, "ann").id,
            say("apple two"),
            say("apple three", key=OTHER, hidden=True),
            archives,
            find("apple", session_key=KEY),
            find("apple", limit=1),
        )
        assert found == [None, archive]
        assert [each[1] for each in one] == [2, 1]  # type: ignore[union-attr]
        assert len(limited) == 1  # type: ignore[arg-type]

    @pytest.mark.parametrize("query", HOSTILE)
    def test_no_query_is_wrong(self, opener: Opener, query: str) -> None:
        _, found = on(opener, MovableClock(), say("an innocent line"), find(query))
        assert found == []

    def test_a_long_text_is_stored_and_found_by_its_beginning(self, opener: Opener) -> None:
        long = "beginning " + " ".join(f"w{number}" for number in range(300_000))
        _, found = on(opener, MovableClock(), say(long), find("beginning"))
        [(_, position, excerpt)] = found  # type: ignore[misc]
        assert position == 1
        assert excerpt.startswith("beginning w0 w1")
        assert excerpt.endswith("...")


def test_retention_keeps_the_index_in_step(opener: Opener) -> None:
    clock = MovableClock()
    anew = partial(begin_transcript, key=KEY, by="ann")
    on(opener, clock, say("old apple"), anew, say("old pear", key=OTHER, hidden=True))
    clock.move(days=40)

    def left(tx: Tx) -> tuple[int, list[str]]:
        count = tx.execute(text("SELECT count(*) FROM session_items")).scalar_one()
        return int(count), [row.key for row in tx.all(text("SELECT key FROM sessions"))]

    _, _, apple, new, rows = on(
        opener, clock, say("new apple"), lambda tx: forget_old(tx), find("old"), find("apple"), left
    )
    assert (apple, new) == ([], [(KEY, 2, "new apple")])
    assert rows == (1, [KEY])
    on(opener, clock, _check_index)


def _check_index(tx: Tx) -> None:
    """SQLite's own look at it; a row of the index without an item would be an error."""
    if not tx.postgresql:
        assert tx.execute(text("SELECT count(*) FROM search_rows")).scalar_one() == 1
        found = text("SELECT rowid FROM session_search WHERE session_search MATCH 'apple OR pear OR old'")
        assert len(tx.all(found)) == 1
