"""Where the answers of a turn are sent: the chat on a channel that asked, or that the session is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from colleague.agent.turn_inputs import PEOPLE, TurnInputs
from colleague.config import Settings
from colleague.config.channel_access import chat_rules
from colleague.session_key import SessionKey
from colleague.store.chat_answers import ChatTarget
from colleague.store.delegations import get_delegation
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry, find_session
from colleague.store.sql import select
from colleague.store.tables import events
from colleague.store.tx import Database, Tx

Capabilities = Mapping[str, frozenset[str]]
"""What each connected channel can do, by its name."""
SEND = "send"
Denied = Callable[[Settings, SessionKey, SessionEntry, str | None], str | None]
"""Why the send policy denies a session to send; None when it does not."""


@dataclass(frozen=True)
class Chats:
    """The channels that answers can be sent to, what each can do, and what the send policy says."""

    channels: Capabilities = field(default_factory=dict)
    denied: Denied = lambda *_: None

    def can(self, channel: str | None) -> frozenset[str]:
        return self.channels.get(channel or "", frozenset())


async def chat_target(
    database: Database, settings: Settings, chats: Chats, run: Run, entry: SessionEntry
) -> ChatTarget | None:
    """None where no connected channel is meant, or the send policy denies it: who reads the session sees the
    answer there."""
    if not any(SEND in can for can in chats.channels.values()):
        return None
    place = TurnInputs.of(run).place
    if not place.get("channel"):
        place = await database.read(lambda tx: _unasked_place(tx, run, entry))
    target = ChatTarget.of_place(place)
    if target is None or SEND not in chats.can(target.channel):
        return None
    if chats.denied(settings, SessionKey.parse(entry.key), entry, target.channel) is not None:
        return None
    rules = chat_rules(settings.channels, target.channel)
    return replace(target, replies=rules.replies, most_chars=rules.most_chars, history=rules.history)


def _unasked_place(tx: Tx, run: Run, entry: SessionEntry) -> dict[str, str]:
    """Of a turn that began at no place on a channel. A person who began it reads the session; the result of a
    sub-agent goes to the thread that this has; all else to where the session was last spoken to."""
    row = tx.one(select(events.c.source).where(events.c.id == run.event_id))
    if row is not None and row.source in PEOPLE:
        return {}
    if run.kind == "subagent":
        origin = _origin(entry)
        return _place(origin.get("place")) if not origin.get("announces", True) else {}
    delegation = get_delegation(tx, str(json.loads(run.inputs).get("delegation", "")))
    child = find_session(tx, delegation.child_session) if delegation else None
    return _place(_origin(child).get("place")) or _place(_origin(entry))


def _origin(entry: SessionEntry | None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(entry.origin or "{}") if entry else {}
    return found


def _place(found: Any) -> dict[str, str]:
    given = found if isinstance(found, dict) else {}
    return {name: str(given[name]) for name in ("channel", "to", "thread") if given.get(name)}
