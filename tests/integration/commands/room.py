"""The tools for commands in a workspace of their own, on a real database."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from colleague.agent.commands.command_tool import CommandTool
from colleague.agent.commands.exec_rules import ExecRules
from colleague.agent.commands.place import CommandPlace
from colleague.agent.commands.process_tool import CommandProcessTool
from colleague.agent.commands.running import MARK
from colleague.agent.commands.running_commands import RunningCommands
from colleague.agent.tool import ToolOutput, ToolRequest
from colleague.clock import MovableClock
from colleague.config.agent_tools import ExecTool
from colleague.mcp.process import ProcessTree
from colleague.store.commands import StartedCommand, commands_of_session
from colleague.store.sqlite import SqliteDatabase

T = TypeVar("T")
SESSION = "agent:main:main"
_numbers = itertools.count()


@dataclass
class Room:
    """One session with its commands."""

    commands: RunningCommands
    database: SqliteDatabase
    place: CommandPlace
    settings: ExecTool
    session: str = SESSION
    told: list[str] = field(default_factory=list)

    @property
    def exec(self) -> CommandTool:
        return CommandTool(self.session, self.commands, self.rules, self.place)

    @property
    def process(self) -> CommandProcessTool:
        return CommandProcessTool(self.session, self.commands, self.rules)

    @property
    def rules(self) -> ExecRules:
        return ExecRules(self.settings, self.place.finder)

    def request(self, **arguments: Any) -> ToolRequest:
        call = f"call-{next(_numbers)}"
        return ToolRequest("run-1", call, call, arguments, self.told.append)

    async def run(self, command: str, **more: Any) -> ToolOutput:
        return await self.exec.call(self.request(command=command, **more))

    async def look(self, action: str, name: str = "", **more: Any) -> ToolOutput:
        named = {"sessionId": name} if name else {}
        return await self.process.call(self.request(action=action, **named, **more))

    async def records(self) -> list[StartedCommand]:
        return await self.database.read(lambda tx: commands_of_session(tx, self.session))

    async def left(self) -> list[int]:
        """Processes of any command of this session that are alive."""
        families = [ProcessTree(None, each.mark, MARK) for each in await self.records()]
        return [member.pid for family in families for member in family.members()]


def in_room(home: Path, work: Callable[[Room], Awaitable[T]], **settings: Any) -> T:
    """Lets a session work, as a process would; at its end nothing runs any more."""
    chosen = ExecTool(**{"ask": "off", "background_ms": 60_000, **settings})
    workspace = home / "workspace"
    workspace.mkdir(parents=True, exist_ok=True)

    async def session() -> T:
        database = SqliteDatabase(home / "state" / "colleague.sqlite", MovableClock())
        environ = {**os.environ, "ANTHROPIC_API_KEY": "sk-secret", "COLLEAGUE_X": "y"}
        place = CommandPlace(workspace, environ, chosen.path_prepend, chosen.max_processes)
        try:
            async with RunningCommands(database) as commands:
                return await work(Room(commands, database, place, chosen))
        finally:
            await database.close()

    return asyncio.run(session())
