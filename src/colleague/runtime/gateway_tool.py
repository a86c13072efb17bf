"""The tool with which an agent sees how the runtime that it lives in stands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from colleague import __version__
from colleague.agent.prompt.workspace_files import file_problems
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import parameters
from colleague.config import Settings
from colleague.config.status import without_effect
from colleague.home import Home
from colleague.runtime.gateway_file import running_gateway
from colleague.session_key import SessionKey
from colleague.store.overview import (
    count_dead_letters,
    count_unread,
    pending_by_kind,
    runs_by_status,
    spent_today_by_expert,
    unsent,
)
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry
from colleague.store.tx import Database, Tx

_DESCRIPTION = (
    "How the runtime that you live in stands: version, gateway, runs, waiting questions, dead letters, what "
    "was not delivered, spend of today, and problems that a person should look at. It changes nothing: a "
    "person restarts it, and runs `colleague doctor` for the whole check."
)


@dataclass(frozen=True)
class GatewayTools:
    """Gives `gateway` to the agents that people talk to, never to sub-agents."""

    home: Home
    database: Database

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        if SessionKey.parse(entry.key).is_subagent:
            return ()
        return (GatewayTool(self.home, self.database, settings),)


@dataclass(frozen=True)
class GatewayTool:
    """`gateway`: a look at the runtime, in numbers and sentences, without anybody's text."""

    home: Home
    database: Database
    settings: Settings

    spec = ToolSpec(
        name="gateway",
        description=_DESCRIPTION,
        parameters=parameters(action={"type": "string", "enum": ["status"], "description": "What to do."}),
        read_only=True,
        repeatable=True,
    )

    async def call(self, request: ToolRequest) -> ToolOutput:  # noqa: ARG002 - there is one action
        running = await asyncio.to_thread(running_gateway, self.home)
        document = {
            "version": __version__,
            "gateway": {"address": running.url, "started_at": running.started_at} if running else None,
            **await self.database.read(_numbers),
            "problems": await asyncio.to_thread(self._problems),
        }
        return ToolOutput(json.dumps(document, ensure_ascii=False, indent=1), source="gateway")

    def _problems(self) -> list[str]:
        return [*map(str, without_effect(self.settings)), *file_problems(self.settings)]


def _numbers(tx: Tx) -> dict[str, Any]:
    return {
        "runs": runs_by_status(tx),
        "waiting_questions": pending_by_kind(tx),
        "dead_letters": count_dead_letters(tx),
        "undelivered": unsent(tx),
        "unread": count_unread(tx),
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
    }
