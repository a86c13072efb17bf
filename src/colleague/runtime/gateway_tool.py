"""The tool with which an agent sees how the runtime that it lives in stands, and asks for a restart."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from colleague import __version__
from colleague.agent.gate import Verdict
from colleague.agent.prompt.workspace_files import file_problems
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec, refused
from colleague.agent.tools.arguments import parameters
from colleague.config import Settings, load_settings
from colleague.config.status import require_enforced, without_effect
from colleague.errors import ColleagueError, UsageError
from colleague.home import Home
from colleague.plugins.report import served_channels
from colleague.runtime.doctor_process import DoctorFailed, run_doctor
from colleague.runtime.gateway_file import running_gateway
from colleague.runtime.process_restart import ProcessRestart
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
    "was not delivered, spend of today, and problems that a person should look at. status changes nothing; "
    "doctor checks settings, database, models, servers, experts and sandbox, each with its cure; restart "
    "asks a person, then ends what is under way in order and starts again, where everything goes on."
)
_ACTIONS = ("status", "doctor", "restart")


def gateway_verdict(arguments: dict[str, Any]) -> Verdict:
    """Looking is free; a restart asks."""
    if arguments.get("action") == "restart":
        return Verdict("ask", "confirm", "it ends what is under way and starts the runtime again")
    return Verdict("allow", "auto")


@dataclass(frozen=True)
class GatewayTools:
    """Gives `gateway` to the agents that people talk to, never to sub-agents."""

    home: Home
    database: Database
    environ: Mapping[str, str]
    restart: ProcessRestart

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:  # noqa: ARG002
        if SessionKey.parse(entry.key).is_subagent:
            return ()
        return (GatewayTool(self.home, self.database, settings, self.environ, self.restart),)


@dataclass(frozen=True)
class GatewayTool:
    """`gateway`: a look at the runtime, in numbers and sentences, without anybody's text."""

    home: Home
    database: Database
    settings: Settings
    environ: Mapping[str, str]
    restart: ProcessRestart

    spec = ToolSpec(
        name="gateway",
        description=_DESCRIPTION,
        parameters=parameters(
            action={"type": "string", "enum": list(_ACTIONS), "description": "status when not given."}
        ),
        own_verdict=gateway_verdict,
    )

    async def call(self, request: ToolRequest) -> ToolOutput:
        action = request.arguments.get("action") or "status"
        if action == "restart":
            return await self._restart()
        return await (self._doctor() if action == "doctor" else self._status())

    async def _restart(self) -> ToolOutput:
        """Not with settings that the new process could not start with."""
        try:
            if self.restart.problem:
                raise UsageError(f"it is not restarted: {self.restart.problem}")
            require_enforced(await asyncio.to_thread(load_settings, self.home))
        except ColleagueError as error:
            return refused(error)
        self.restart.ask()
        return ToolOutput(
            "The runtime restarts as soon as this turn is over. Whatever is queued, runs or waits goes on "
            "afterwards; commands in the background end.",
            source="gateway",
        )

    async def _doctor(self) -> ToolOutput:
        try:
            found = await run_doctor(self.home, self.environ)
        except DoctorFailed as error:
            return refused(error)
        return ToolOutput(json.dumps(found, ensure_ascii=False, indent=1), source="gateway")

    async def _status(self) -> ToolOutput:
        running = await asyncio.to_thread(running_gateway, self.home)
        document = {
            "version": __version__,
            "gateway": {"address": running.url, "started_at": running.started_at} if running else None,
            **await self.database.read(_numbers),
            "problems": await asyncio.to_thread(self._problems),
        }
        return ToolOutput(json.dumps(document, ensure_ascii=False, indent=1), source="gateway")

    def _problems(self) -> list[str]:
        idle = without_effect(self.settings, served_channels(self.home, self.settings))
        return [*map(str, idle), *file_problems(self.settings)]


def _numbers(tx: Tx) -> dict[str, Any]:
    return {
        "runs": runs_by_status(tx),
        "waiting_questions": pending_by_kind(tx),
        "dead_letters": count_dead_letters(tx),
        "undelivered": unsent(tx),
        "unread": count_unread(tx),
        "spent_today": [asdict(each) for each in spent_today_by_expert(tx)],
    }
