"""sessions_spawn: a session in a sandbox starts nobody outside of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from colleague.agent.prompt.preview import preview_run
from colleague.agent.tool import NotSent, ToolRequest
from colleague.clock import MovableClock
from colleague.config import Settings
from colleague.sessions.tools.spawn import SessionsSpawnTool
from colleague.store.session_entry import open_session
from colleague.store.sqlite import SqliteDatabase

CAGED = {"mode": "all"}
SETTINGS = Settings.model_validate(
    {
        "agents": {
            "defaults": {"subagents": {"allowAgents": ["*"]}, "sandbox": {"mode": "non-main"}},
            "list": [
                {"id": "main"},
                {"id": "caged", "sandbox": CAGED},
                {"id": "free", "sandbox": {"mode": "off"}},
            ],
        }
    }
)


@pytest.mark.parametrize(
    ("own", "wanted", "starts"),
    [
        ("agent:main:main", "free", True),
        ("agent:main:main", "caged", True),
        ("agent:main:slack:group:1", "free", False),
        ("agent:main:slack:group:1", "caged", True),
        ("agent:caged:main", "main", True),
        ("agent:caged:main", "free", False),
        ("agent:caged:main", "caged", True),
    ],
)
def test_a_sandboxed_session_starts_nobody_outside(
    tmp_path: Path, own: str, wanted: str, starts: bool
) -> None:
    async def spawned() -> str:
        database = SqliteDatabase(tmp_path / "colleague.sqlite", MovableClock())
        try:
            agent = own.split(":")[1]
            entry = await database.write(lambda tx: open_session(tx, own, agent))
            tool = SessionsSpawnTool(database, SETTINGS.for_agent(agent), preview_run(entry), entry)
            given = {"task": "touch /owned", "agentId": wanted}
            return (await tool.handover(ToolRequest("", "", "", given))).lane
        except NotSent as error:
            return str(error)
        finally:
            await database.close()

    said = asyncio.run(spawned())
    assert said.startswith(f"agent:{wanted}:subagent:") is starts, said
    assert ("runs in a sandbox and" in said) is not starts
