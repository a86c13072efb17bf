"""agents_list: whom an agent may hand work to, and what each is for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from colleague.clock import MovableClock
from colleague.config.load import load_settings
from colleague.home import Home
from colleague.sessions.tools.looking import AgentsListTool
from colleague.store.session_entry import open_session
from colleague.store.sqlite import SqliteDatabase

AGENTS = [{"id": "main"}, {"id": "books", "name": "Bea", "description": "Keeps the books."}, {"id": "other"}]


def test_names_and_descriptions_are_told(tmp_path: Path) -> None:
    defaults = {"subagents": {"allowAgents": ["books"]}}
    (tmp_path / "colleague.json").write_text(json.dumps({"agents": {"defaults": defaults, "list": AGENTS}}))
    settings = load_settings(Home(tmp_path))

    async def listed() -> str:
        database = SqliteDatabase(tmp_path / "colleague.sqlite", MovableClock())
        try:
            entry = await database.write(lambda tx: open_session(tx, "agent:main:main", "main"))
            return (await AgentsListTool(settings, entry).call(None)).text  # type: ignore[arg-type]
        finally:
            await database.close()

    assert json.loads(asyncio.run(listed())) == {
        "own": "main",
        "agents": [{"id": "main"}, {"id": "books", "name": "Bea", "description": "Keeps the books."}],
    }
