"""Which session tools an agent has: the one that people talk to, one that can spawn, one that cannot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.tool import Tool
from colleague.config import Settings
from colleague.sessions.expert_sessions import ExpertSessions
from colleague.sessions.threads import ThreadOpener
from colleague.sessions.tools.looking import (
    AgentsListTool,
    SessionsHistoryTool,
    SessionsListTool,
    SessionStatusTool,
)
from colleague.sessions.tools.send import SessionsSendTool
from colleague.sessions.tools.spawn import SessionsSpawnTool
from colleague.sessions.tools.subagents import SubagentsTool
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry
from colleague.store.tx import Database


@dataclass(frozen=True)
class SessionTools:
    """Given to agents beside their own tools (`agent/main_agent.py::MoreTools`)."""

    database: Database
    experts: ExpertSessions
    threads: ThreadOpener | None = None

    async def tools(self, run: Run, entry: SessionEntry, settings: Settings) -> Sequence[Tool]:
        """A sub-agent that may spawn manages its own; one that may not only lists."""
        database = self.database
        if run.kind != "subagent":
            return [
                SessionsSendTool(database, settings, run, entry, self.experts),
                *self._managing(run, entry, settings),
                SessionStatusTool(database, settings, entry),
                AgentsListTool(settings, entry),
            ]
        if entry.spawn_depth < settings.agents.defaults.subagents.max_spawn_depth:
            return self._managing(run, entry, settings)
        return [SubagentsTool(database, settings, run, entry, only_lists=True)]

    def _managing(self, run: Run, entry: SessionEntry, settings: Settings) -> list[Tool]:
        database = self.database
        return [
            SessionsSpawnTool(database, settings, run, entry, self.threads),
            SubagentsTool(database, settings, run, entry),
            SessionsListTool(database, settings, entry),
            SessionsHistoryTool(database, settings, entry),
        ]
