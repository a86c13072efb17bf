"""What is kept of an answer that is in no commit when its turn is stopped, as the store sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from colleague.agent.conversation import Conversation
from colleague.clock import MovableClock
from colleague.config import Settings
from colleague.main_names import MAIN_TRANSCRIPT
from colleague.session_key import SessionKey
from colleague.sessions.changes import stop
from colleague.sessions.messages import SessionMessage, send_message
from colleague.store.claims import Taken, give_back, take
from colleague.store.journal import Message, append
from colleague.store.session_items import items_of
from colleague.store.tx import Database
from colleague.store.unfinished import UnfinishedAnswer
from tests.integration.store.databases import Opener

KEY = SessionKey.for_main("main")
HALF = "Bees dance. They show each"


async def taken_turn(database: Database) -> Taken:
    """A turn at work whose answer people have seen half of."""
    await database.write(lambda tx: send_message(tx, Settings(), KEY, SessionMessage("Why?")))
    taken = await retaken(database)
    answer = database.unfinished[taken.hold] = UnfinishedAnswer(MAIN_TRANSCRIPT, 1)
    for piece in ("Never. ", "Bees dance.", " They show each"):
        answer.add(piece, void=piece.startswith("Bees"))
    return taken


async def retaken(database: Database) -> Taken:
    taken = await database.write(lambda tx: take(tx, "w", database.lease_now(tx)))
    assert taken is not None
    return taken


async def answers(database: Database) -> list[tuple[str, str]]:
    items = await database.read(lambda tx: items_of(tx, str(KEY)))
    return [(each.source, each.text) for each in items if each.role == "assistant"]


def on(opener: Opener, acts: Callable[[Database], Awaitable[None]]) -> None:
    async def story() -> None:
        database = opener(MovableClock())
        try:
            await acts(database)
        finally:
            await database.close()

    asyncio.run(story())


def test_it_is_there_for_a_process_that_comes_after_a_crash(opener: Opener) -> None:
    async def acts(database: Database) -> None:
        await taken_turn(database)
        await database.write(lambda tx: stop(tx, KEY, "ann"))
        after = opener(MovableClock())
        try:
            assert await answers(after) == [("stopped", HALF)]
        finally:
            await after.close()

    on(opener, acts)


def test_an_answer_that_is_committed_stands_there_once(opener: Opener) -> None:
    async def acts(database: Database) -> None:
        taken = await taken_turn(database)
        stored = [Message(MAIN_TRANSCRIPT, place, "[]", None, 1) for place in (0, 1)]
        await database.write(lambda tx: append(tx, taken.hold, stored))
        await database.write(lambda tx: stop(tx, KEY, "ann"))
        assert await answers(database) == []

    on(opener, acts)


def test_a_worker_that_lost_the_run_has_no_say(opener: Opener) -> None:
    async def acts(database: Database) -> None:
        first = await taken_turn(database)
        await database.write(lambda tx: give_back(tx, first.hold))
        assert (await retaken(database)).hold.epoch > first.hold.epoch
        await database.write(lambda tx: stop(tx, KEY, "ann"))
        assert await answers(database) == []

    on(opener, acts)


def test_another_process_knows_nothing_of_it(opener: Opener) -> None:
    async def acts(database: Database) -> None:
        await taken_turn(database)
        other = opener(MovableClock())
        try:
            stopped = await other.write(lambda tx: stop(tx, KEY, "ann"))
            assert stopped["run_id"] is not None
        finally:
            await other.close()
        assert await answers(database) == []

    on(opener, acts)


@pytest.mark.parametrize(
    ("about", "transcript", "kept"),
    [
        ({}, "one", "I know a ****."),
        ({"hidden": True}, "one", None),
        ({"parent_call": "call"}, "one", None),
        ({}, None, None),
    ],
    ids=["a turn", "a regular check", "inside a call", "a run without a session"],
)
def test_only_what_people_see_in_a_session_may_be_kept(
    opener: Opener, about: dict[str, Any], transcript: str | None, kept: str | None
) -> None:
    async def acts(database: Database) -> None:
        taken = await taken_turn(database)
        database.unfinished.clear()
        taken = replace(taken, run=replace(taken.run, transcript=transcript))
        conversation = Conversation(
            database, taken, redact=lambda text: text.replace("secret", "****"), **about
        )
        conversation.begin_answer()
        for piece in ("I know", " a secret."):
            conversation.note_told(piece)
        found = ["".join(each.pieces) for each in database.unfinished.values()]
        assert found == ([kept] if kept else [])
        conversation.let_go()
        assert database.unfinished == {}

    on(opener, acts)
