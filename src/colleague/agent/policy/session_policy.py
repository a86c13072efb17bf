"""The tool policy of one session, composed each time its run is advanced."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from colleague.agent.policy.layer import PolicyLayer
from colleague.agent.policy.pattern import PolicyTool
from colleague.agent.policy.pipeline import PolicyScope, ToolDecision, decide_tools, layers_of
from colleague.agent.tool import Tool
from colleague.agent.toolbox import Toolbox
from colleague.config import Settings
from colleague.sandbox.session_sandbox import is_sandboxed
from colleague.session_key import SessionKey
from colleague.store.session_entry import SessionEntry, find_session
from colleague.store.tx import Tx


@dataclass(frozen=True)
class SessionToolPolicy:
    """There is a scope for each model that may answer: a tool is offered when all of them may have it."""

    settings: Settings
    scopes: tuple[PolicyScope, ...]

    @classmethod
    def of(
        cls, settings: Settings, entry: SessionEntry, origin: SessionKey, models: Iterable[str]
    ) -> SessionToolPolicy:
        """`origin` is the session that a person talks to; it differs from `entry` for sub-agents."""
        is_group = origin.chat_type in ("group", "channel")
        chats = (origin.room_id, origin.peer_id) if is_group else ()
        is_subagent = SessionKey.parse(entry.key).is_subagent
        scopes = tuple(
            PolicyScope(
                entry.agent_id,
                model,
                channel=origin.channel or "",
                group_ids=tuple(chat for chat in chats if chat),
                sandboxed=is_sandboxed(settings, entry.key),
                depth=entry.spawn_depth if is_subagent else None,
            )
            for model in models
        )
        return cls(settings, scopes)

    @cached_property
    def _layers(self) -> list[tuple[PolicyLayer, ...]]:
        return [layers_of(self.settings, scope) for scope in self.scopes]

    def decide(self, tool: PolicyTool) -> ToolDecision:
        [decision] = self._decide_all((tool,))
        return decision

    def _decide_all(self, tools: tuple[PolicyTool, ...]) -> list[ToolDecision]:
        by_scope = [decide_tools(layers, tools) for layers in self._layers]
        return [
            next((each for each in of_tool if not each.offered), of_tool[0])
            for of_tool in zip(*by_scope, strict=True)
        ]

    def toolbox(self, tools: Sequence[Tool]) -> Toolbox:
        """What is offered; a call of anything else is told which layer decided."""
        named = tuple(PolicyTool.of(tool.spec) for tool in tools)
        decided = list(zip(tools, self._decide_all(named), strict=True))
        withheld = {tool.spec.name: each.reason for tool, each in decided if not each.offered}
        return Toolbox((tool for tool, each in decided if each.offered), withheld)


def origin_of(tx: Tx, entry: SessionEntry) -> SessionKey:
    """The session at the beginning of a chain of sub-agents: what holds in its chat holds for all of them."""
    seen = {entry.key}
    while entry.spawned_by and entry.spawned_by not in seen:
        parent = find_session(tx, entry.spawned_by)
        if parent is None:
            return SessionKey.parse(entry.spawned_by)
        seen.add(parent.key)
        entry = parent
    return SessionKey.parse(entry.key)
