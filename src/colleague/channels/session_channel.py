"""The channel of the page and the terminal: a message is an item of a session, which whoever watches sees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from colleague.channels.channel import Capability, ChannelError, Outgoing, ReadMessage, Target
from colleague.clock import iso
from colleague.errors import ColleagueError
from colleague.main_names import MAIN_CHANNEL
from colleague.session_key import SessionKey
from colleague.sessions.messages import find_key
from colleague.store.accept import Arrival, skip_once
from colleague.store.dedupe import is_repeat
from colleague.store.lanes import lock_lane
from colleague.store.session_entry import find_session, open_session
from colleague.store.session_items import NewItem, SessionItem, add_item, latest_items
from colleague.store.tx import Database, Tx

SHOWN = "shown in the session as news; it starts no turn"
SOURCE = "message:"


@dataclass(frozen=True)
class SessionChannel:
    """`main` and `web`: the main session of the agent, or another of its sessions that is named."""

    database: Database
    name: str = MAIN_CHANNEL
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"send", "read"})

    async def act(self, action: Capability, what: Outgoing) -> str:  # noqa: ARG002 - it can only send
        return await self.database.write(lambda tx: self._send(tx, what))

    def _send(self, tx: Tx, what: Outgoing) -> str:
        """The event that tells a repeat and the item are one commit."""
        key = _session(tx, what.target)
        lock_lane(tx, str(key))
        arrival = _arrival(key, what)
        repeat = is_repeat(tx, arrival)
        event_id = skip_once(tx, arrival, SHOWN)
        if not repeat:
            open_session(tx, str(key), key.agent_id)
            source = f"{SOURCE}{what.target.session_key}"
            add_item(tx, str(key), NewItem("event", what.text, source=source))
        return event_id

    async def read(self, target: Target, limit: int) -> list[ReadMessage]:
        def work(tx: Tx) -> list[ReadMessage]:
            entry = find_session(tx, str(_session(tx, target)))
            found = latest_items(tx, entry.key, entry.id, limit=limit) if entry else []
            return [
                ReadMessage(str(each.position), _author(each), each.text, iso(each.created_at) or "")
                for each in found
            ]

        return await self.database.read(work)


def _author(item: SessionItem) -> str:
    return f"{item.role} ({item.source})" if item.is_stopped else item.source or item.role


def _session(tx: Tx, target: Target) -> SessionKey:
    """Raises ChannelError for a session of another agent, and for what is no session."""
    if not target.to:
        return SessionKey.for_main(target.agent_id)
    try:
        key = find_key(tx, target.to)
    except ColleagueError as error:
        raise ChannelError(error.message, hint=error.hint) from None
    if key.agent_id != target.agent_id:
        raise ChannelError(f"{key} is a session of another agent", hint="send to a session of yours")
    return key


def _arrival(key: SessionKey, what: Outgoing) -> Arrival:
    body = json.dumps({"text": what.text, "from": what.target.session_key}, ensure_ascii=False)
    return Arrival(
        kind="agent",
        expert=f"agent:{key.agent_id}",
        trigger="message",
        source="message",
        payload=body,
        session_key=str(key),
        lane=None,
        dedupe_keys=(what.key,),
    )
