"""sessions_list, sessions_history, session_status and agents_list: what an agent can look at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from colleague.agent.tool import ToolOutput, ToolRequest, ToolSpec
from colleague.agent.tools.arguments import parameters
from colleague.clock import iso
from colleague.config import Settings
from colleague.sessions.report import item_documents, session_document
from colleague.sessions.scope import SessionScope
from colleague.store.session_entry import SessionEntry, get_session
from colleague.store.session_items import latest_items
from colleague.store.tx import Database, Tx

_SHOWN = ("key", "label", "agent_id", "status", "parked", "waiting", "spawned_by", "updated_at")
MOST_ITEMS = 200
MOST_TEXT = 2_000


def _spec(name: str, text: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name, text, parameters(**properties), read_only=True)


def _answer(value: Any) -> ToolOutput:
    """What stands in sessions is the word of others."""
    return ToolOutput(json.dumps(value, ensure_ascii=False, indent=1), source="sessions")


@dataclass(frozen=True)
class SessionsListTool:
    """The sessions that this one may see."""

    database: Database
    settings: Settings
    entry: SessionEntry
    spec: ClassVar[ToolSpec] = _spec(
        "sessions_list",
        "List the sessions that you can see, with what each is doing.",
        activeMinutes={"type": "number", "minimum": 0},
        limit={"type": "integer", "minimum": 1, "maximum": 200},
    )

    async def call(self, request: ToolRequest) -> ToolOutput:
        given = request.arguments

        def work(tx: Tx) -> list[dict[str, Any]]:
            since = tx.now - given["activeMinutes"] * 60_000 if "activeMinutes" in given else 0
            found = SessionScope(self.entry, self.settings).sessions(tx)
            recent = [each for each in found if each.updated_at >= since][: given.get("limit", 50)]
            documents = [dict(session_document(tx, each)) for each in recent]
            return [{name: document[name] for name in _SHOWN} for document in documents]

        return _answer(await self.database.read(work))


@dataclass(frozen=True)
class SessionsHistoryTool:
    """What was said in one of them."""

    database: Database
    settings: Settings
    entry: SessionEntry
    spec: ClassVar[ToolSpec] = _spec(
        "sessions_history",
        "Read the last messages of a session that you can see.",
        sessionKey={"type": "string", "minLength": 1, "description": "A key or a label."},
        limit={"type": "integer", "minimum": 1, "maximum": MOST_ITEMS},
        includeTools={"type": "boolean"},
    )

    async def call(self, request: ToolRequest) -> ToolOutput:
        given = request.arguments

        def work(tx: Tx) -> list[dict[str, Any]]:
            scope = SessionScope(self.entry, self.settings)
            entry = get_session(tx, str(scope.find(tx, given.get("sessionKey", self.entry.key))))
            items = item_documents(tx, latest_items(tx, entry.key, entry.id, limit=given.get("limit", 20)))
            wanted = ("role", "source", "at", *(["calls"] if given.get("includeTools") else []))
            return [
                {name: dict(item)[name] for name in wanted} | {"text": item["text"][:MOST_TEXT]}
                for item in items
            ]

        return _answer(await self.database.read(work))


@dataclass(frozen=True)
class SessionStatusTool:
    """How this session, or one that it may see, stands."""

    database: Database
    settings: Settings
    entry: SessionEntry
    spec: ClassVar[ToolSpec] = _spec(
        "session_status",
        "How a session stands: what it is doing, its model, what it has used, and the time now.",
        sessionKey={"type": "string", "minLength": 1, "description": "Another session than this one."},
    )

    async def call(self, request: ToolRequest) -> ToolOutput:
        name = request.arguments.get("sessionKey", self.entry.key)

        def work(tx: Tx) -> dict[str, Any]:
            key = SessionScope(self.entry, self.settings).find(tx, name)
            return {**session_document(tx, get_session(tx, str(key))), "now": iso(tx.now)}

        return _answer(await self.database.read(work))


@dataclass(frozen=True)
class AgentsListTool:
    """The agents that may be spawned."""

    settings: Settings
    entry: SessionEntry
    spec: ClassVar[ToolSpec] = _spec("agents_list", "List the agents that sessions_spawn may start.")

    async def call(self, request: ToolRequest) -> ToolOutput:  # noqa: ARG002 - takes nothing
        allowed = self.settings.agents.defaults.subagents.allow_agents
        listed = [each.id for each in self.settings.agents.all]
        others = [each for each in listed if each != self.entry.agent_id and {each, "*"} & set(allowed)]
        shown = [self._document(each) for each in (self.entry.agent_id, *others)]
        return _answer({"own": self.entry.agent_id, "agents": shown})

    def _document(self, agent_id: str) -> dict[str, str]:
        """Name and description only where the settings have them."""
        found = self.settings.agents.find(agent_id)
        said = {"name": found.name, "description": found.description} if found else {}
        return {"id": agent_id} | {key: value for key, value in said.items() if value}
