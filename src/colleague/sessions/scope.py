"""Which sessions the tools of a session may see and write to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from colleague.agent.tool import NotSent
from colleague.config import Settings
from colleague.errors import ColleagueError
from colleague.sandbox.reach import visible_sessions
from colleague.session_key import SessionKey
from colleague.sessions.messages import find_key
from colleague.store.session_entry import SessionEntry, descendants, find_session, sessions_page
from colleague.store.tx import Tx

MOST_SESSIONS = 500


@dataclass(frozen=True)
class SessionScope:
    """What `tools.sessions.visibility`, `tools.agentToAgent` and its sandbox leave to one session."""

    entry: SessionEntry
    settings: Settings

    def sessions(self, tx: Tx) -> list[SessionEntry]:
        """Its own first, then those at work last."""
        others = [each for each in self._others(tx) if each.key != self.entry.key]
        return [self.entry, *others]

    def _others(self, tx: Tx) -> Sequence[SessionEntry]:
        visibility = visible_sessions(self.settings, self.entry.key)
        if visibility == "self":
            return []
        if visibility == "tree":
            return descendants(tx, self.entry.key)
        agent = self.entry.agent_id if visibility == "agent" else None
        found = sessions_page(tx, limit=MOST_SESSIONS, agent_id=agent).items
        return [each for each in found if self._agent_is_allowed(each.agent_id)]

    def _agent_is_allowed(self, agent_id: str) -> bool:
        rule = self.settings.tools.agent_to_agent
        if agent_id == self.entry.agent_id:
            return True
        return rule.enabled and (not rule.allow or {agent_id, "*"} & set(rule.allow) != set())

    def find(self, tx: Tx, name: str) -> SessionKey:
        """The session of a label or key that this one may use. Raises NotSent, in words for the model."""
        key = key_of(tx, name)
        if not self._agent_is_allowed(key.agent_id):
            raise NotSent(
                f"{key} belongs to the agent {key.agent_id}, and tools.agentToAgent does not allow to write "
                "to it; answer without it"
            )
        if str(key) not in {each.key for each in self.sessions(tx)}:
            there = find_session(tx, str(key))
            why = "is not visible from here" if there else "does not exist"
            raise NotSent(f"the session {key} {why}; sessions_list shows those that you can use")
        return key


def key_of(tx: Tx, name: str) -> SessionKey:
    try:
        return find_key(tx, name)
    except ColleagueError as error:
        raise NotSent(f"{error.message}; sessions_list shows those that you can use") from None
