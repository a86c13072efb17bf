"""Where the answers of a turn are sent: the chat on a channel that asked, or that the session is about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import select

from colleague.agent.turn_inputs import PEOPLE, TurnInputs
from colleague.config import Settings
from colleague.config.channel_access import chat_rules
from colleague.store.chat_answers import ChatTarget
from colleague.store.run import Run
from colleague.store.session_entry import SessionEntry
from colleague.store.tables import events
from colleague.store.tx import Database, Tx

Capabilities = Mapping[str, frozenset[str]]
"""What each connected channel can do, by its name."""
SEND = "send"


async def chat_target(
    database: Database, settings: Settings, channels: Capabilities, run: Run, entry: SessionEntry
) -> ChatTarget | None:
    """None where no connected channel is meant: who reads the session sees the answer there."""
    if not any(SEND in can for can in channels.values()):
        return None
    place = TurnInputs.of(run).place
    if not place.get("channel") and not await database.read(lambda tx: _is_of_people(tx, run)):
        place = _last_place(entry)
    target = ChatTarget.of_place(place)
    if target is None or SEND not in channels.get(target.channel, ()):
        return None
    rules = chat_rules(settings.channels, target.channel)
    return replace(target, replies=rules.replies, most_chars=rules.most_chars)


def _is_of_people(tx: Tx, run: Run) -> bool:
    """Whether a person began the turn: one who wrote on no channel reads the session."""
    row = tx.one(select(events.c.source).where(events.c.id == run.event_id))
    return row is not None and row.source in PEOPLE


def _last_place(entry: SessionEntry) -> dict[str, str]:
    """Where the session was last spoken to."""
    found: dict[str, Any] = json.loads(entry.origin or "{}")
    return {name: str(found[name]) for name in ("channel", "to", "thread") if found.get(name)}
