"""Sub-agents that have a thread of a channel to themselves: what is written there is said to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Protocol

from colleague.session_key import SessionKey
from colleague.sessions.routing import ChatPlace
from colleague.store.session_entry import SessionEntry
from colleague.store.sql import select
from colleague.store.tables import sessions
from colleague.store.tx import Tx

Place = Mapping[str, str]
"""channel, to and thread, as messages name where they come from."""


class ThreadOpener(Protocol):
    """Opens threads on the channels that can."""

    async def open_thread(self, entry: SessionEntry, place: Place, name: str, key: str) -> dict[str, str]:
        """The place of a thread in the chat `place`; the same `key` again opens no second one. Raises
        NotSent."""
        ...


def thread_columns(place: Place) -> dict[str, str]:
    """How the session of a sub-agent is stored, so that messages in its thread find it."""
    return {"channel": place["channel"], "group_id": _thread_id(place["to"], place["thread"])}


def session_of_thread(tx: Tx, place: ChatPlace) -> SessionKey | None:
    """The sub-agent that has this thread; None when there is none, or none any more."""
    if not place.thread_id:
        return None
    wanted = _thread_id(place.conversation_id or place.sender_id, place.thread_id)
    these = sessions.c.channel == place.channel, sessions.c.group_id == wanted
    keys = [SessionKey.parse(str(row.key)) for row in tx.all(select(sessions.c.key).where(*these))]
    return next((key for key in keys if key.is_subagent), None)


def _thread_id(to: str, thread: str) -> str:
    return json.dumps([to, thread], ensure_ascii=False)
