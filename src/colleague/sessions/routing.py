"""Which session a message of a channel belongs to: `session.scope`, `dmScope` and `identityLinks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from colleague.main_names import MAIN_AGENT
from colleague.session_key import ChatType, SessionKey

if TYPE_CHECKING:
    from colleague.config.sessions import SessionSettings


@dataclass(frozen=True)
class ChatPlace:
    """Where somebody wrote, as the channel knows it. What a channel has not is empty."""

    channel: str
    sender_id: str
    chat_type: ChatType = "dm"
    conversation_id: str = ""
    thread_id: str = ""
    account_id: str = ""


def session_for(session: SessionSettings, place: ChatPlace, *, agent: str = MAIN_AGENT) -> SessionKey:
    """The session of a chat. Groups, channels and threads have their own; for direct messages `dmScope`
    decides. With `scope: "global"` everything is one session."""
    if session.scope == "global":
        return SessionKey.for_main(agent)
    if place.chat_type == "dm":
        return _direct(session, place, agent)
    return SessionKey.for_chat(
        place.channel,
        place.chat_type,
        place.conversation_id or place.sender_id,
        place.thread_id or None,
        agent=agent,
    )


def _direct(session: SessionSettings, place: ChatPlace, agent: str) -> SessionKey:
    if session.dm_scope == "main":
        return SessionKey.for_main(agent)
    account = place.account_id if session.dm_scope == "per-account-channel-peer" else ""
    channel = None if session.dm_scope == "per-peer" else place.channel
    peer = linked_name(session, place.channel, place.sender_id)
    return SessionKey.for_chat(
        channel, "dm", peer, place.thread_id or None, agent=agent, account=account or None
    )


def linked_name(session: SessionSettings, channel: str, sender_id: str) -> str:
    """One name for a person on all channels, where `identityLinks` has one; else the channel's own id."""
    ids = {f"{channel}:{sender_id}".casefold(), sender_id.casefold()}
    for name, links in session.identity_links.items():
        if any(link.strip().casefold() in ids for link in links):
            return name
    return sender_id
