"""Which tools for commands an agent has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from colleague.agent.commands.command_tool import CommandTool
from colleague.agent.commands.exec_rules import ExecRules, exec_settings
from colleague.agent.commands.place import CommandPlace
from colleague.agent.commands.process_tool import CommandProcessTool
from colleague.agent.commands.running_commands import RunningCommands
from colleague.agent.tool import Tool
from colleague.config import Settings
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class CommandTools:
    """Gives `exec` and `process` to agents (`agent/main_agent.py::MoreTools`)."""

    environ: Mapping[str, str]
    commands: RunningCommands

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:
        own = exec_settings(settings, entry.agent_id)
        if own.security == "deny":
            return ()
        place = CommandPlace(settings.workspace, self.environ, own.path_prepend, own.max_processes)
        rules = ExecRules(own, place.finder)
        return (
            CommandTool(run.session_key, self.commands, rules, place),
            CommandProcessTool(run.session_key, self.commands, rules),
        )
