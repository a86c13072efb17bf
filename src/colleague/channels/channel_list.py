"""The channels of this home."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.channels.channel import MessageChannel
from colleague.channels.session_channel import SessionChannel
from colleague.main_names import MAIN_CHANNEL
from colleague.store.approvals import LEARNINGS
from colleague.store.outbox import SESSIONS
from colleague.store.tx import Database

SESSION_CHANNELS = (MAIN_CHANNEL, "web")
OWN_CHANNELS = frozenset({*SESSION_CHANNELS, SESSIONS, LEARNINGS})
"""Names that no plugin can give to a channel."""


def channels_of(database: Database) -> dict[str, MessageChannel]:
    """Those that can be sent to. A channel that only brings messages here is not among them."""
    return {name: SessionChannel(database, name) for name in SESSION_CHANNELS}


def channel_capabilities(channels: Mapping[str, MessageChannel]) -> dict[str, frozenset[str]]:
    """What each of them can do."""
    return {name: frozenset[str](each.capabilities) for name, each in channels.items()}
