"""Which tools for commands an agent has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from colleague.agent.commands.command_skills import CommandSkills
from colleague.agent.commands.command_tool import CONFINED, UNCONFINED, CommandTool
from colleague.agent.commands.confine import SandboxedCommands, inside_path, require_sandbox
from colleague.agent.commands.exec_rules import ExecRules, exec_settings
from colleague.agent.commands.place import CommandPlace
from colleague.agent.commands.process_tool import CommandProcessTool
from colleague.agent.commands.running_commands import RunningCommands
from colleague.agent.restrictions import Restrictions
from colleague.agent.session_skills import SkillFinder, skill_conditions
from colleague.agent.tool import Tool
from colleague.config import Settings
from colleague.home import Home
from colleague.protected import programs, protected_paths
from colleague.sandbox.backend import SandboxBackend
from colleague.sandbox.backends import backend_of
from colleague.sandbox.session_sandbox import SessionSandbox, sandbox_of
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry


@dataclass(frozen=True)
class CommandTools:
    """Gives `exec` and `process` to agents (`agent/main_agent.py::MoreTools`)."""

    home: Home
    environ: Mapping[str, str]
    commands: RunningCommands
    restrictions: Restrictions
    plugin_skills: Sequence[Path] = ()
    """Folders with skills of plugins."""

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:
        own = exec_settings(settings, entry.agent_id)
        if own.security == "deny":
            return ()
        skills = await asyncio.to_thread(self._skills, run, settings)
        place = CommandPlace(
            settings.workspace, self.environ, own.path_prepend, own.max_processes, skills=skills
        )
        sandbox = sandbox_of(self.home, settings, run.session_key)
        outside = place
        if sandbox is not None:
            backend = backend_of(self.home, settings, entry.agent_id, self.environ, owner=self.commands.owner)
            await asyncio.to_thread(require_sandbox, sandbox, backend, run.session_key)
            place = self._inside(place, sandbox, backend, settings)
        rules = ExecRules(own, place.finder)
        where = CONFINED[sandbox.network] if sandbox else UNCONFINED
        return (
            CommandTool(run.session_key, self.commands, rules, place, outside, where),
            CommandProcessTool(run.session_key, self.commands, rules),
        )

    def _skills(self, run: Run, settings: Settings) -> CommandSkills:
        finder = SkillFinder(self.home, self.environ, self.plugin_skills)
        found = finder.of_session(settings, run.session_key)
        return CommandSkills.of(found, skill_conditions(settings, self.environ, run.session_key))

    def _inside(
        self, place: CommandPlace, sandbox: SessionSandbox, backend: SandboxBackend, settings: Settings
    ) -> CommandPlace:
        """Other people's files are not there; packages, programs and skills are only read."""
        hidden = [*protected_paths(self.home, settings), *self.restrictions.closed_paths()]
        skills = settings.workspace / "skills"
        read_only = [*programs(settings), *self.restrictions.read_only_folders(), skills]
        confine = SandboxedCommands(sandbox, backend, hidden, read_only, place.skills)
        environ = inside_path(self.environ)
        return replace(place, workspace=sandbox.folder, environ=environ, path_prepend=(), confine=confine)
