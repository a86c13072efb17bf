"""What agents show (canvases) and start (commands), on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from colleague.clock import MovableClock
from colleague.errors import ColleagueError
from colleague.store.canvases import (
    NewCanvas,
    canvas_document,
    canvas_documents,
    put_canvas,
    remove_canvas,
)
from colleague.store.commands import (
    StartedCommand,
    add_command,
    commands_of_session,
    end_command,
    running_commands,
)
from colleague.store.tx import Database
from tests.integration.store.databases import Opener

NEW = NewCanvas("Numbers", "document", '{"text": "Übersicht \\u0001"}', "run-1", "call-1")
OWNER = {"agent_id": "main", "session_key": "agent:main:main"}
COMMAND = StartedCommand(
    "c1", "agent:main:main", "run-1", "call-1", "sleep 1", "m", 3, "99", "here", 4, "98", 1
)


def on(opener: Opener, work: Callable[[Database], Awaitable[None]]) -> None:
    async def go() -> None:
        database = opener(MovableClock())
        try:
            await work(database)
        finally:
            await database.close()

    asyncio.run(go())


def test_canvases(opener: Opener) -> None:
    async def work(database: Database) -> None:
        first = await database.write(lambda tx: put_canvas(tx, NEW, **OWNER, canvas_id=None))
        same = await database.write(lambda tx: put_canvas(tx, NEW, **OWNER, canvas_id=None))
        assert same == first, "a call that is made again adds nothing"
        known = first.canvas_id
        second = replace(NEW, title="More", made_by="call-2")
        put = await database.write(lambda tx: put_canvas(tx, second, **OWNER, canvas_id=known[-8:]))
        assert put.version == 2
        with pytest.raises(ColleagueError, match="there is no canvas"):
            await database.write(
                lambda tx: put_canvas(
                    tx, replace(NEW, made_by="x"), agent_id="b", session_key="s", canvas_id=known
                )
            )
        [listed] = await database.read(lambda tx: canvas_documents(tx, agent_id="main"))
        assert (listed["title"], listed["version"]) == ("More", 2)
        shown = await database.read(lambda tx: canvas_document(tx, known, 1))
        assert shown["content"] == {"text": "Übersicht \x01"}
        assert await database.write(lambda tx: remove_canvas(tx, known)) == known
        assert await database.read(canvas_documents) == []

    on(opener, work)


def test_commands(opener: Opener) -> None:
    async def work(database: Database) -> None:
        for number in range(3):
            started = replace(COMMAND, id=f"c{number}", started_at=number)
            await database.write(lambda tx, started=started: add_command(tx, started))  # type: ignore[misc]
        await database.write(lambda tx: end_command(tx, "c1", "disk", None))
        await database.write(lambda tx: end_command(tx, "c1", "exited", 0))
        assert [each.id for each in await database.read(running_commands)] == ["c0", "c2"]
        found = await database.read(lambda tx: commands_of_session(tx, COMMAND.session_key))
        assert [(each.id, each.status) for each in found] == [
            ("c0", "running"),
            ("c1", "disk"),
            ("c2", "running"),
        ]

    on(opener, work)
