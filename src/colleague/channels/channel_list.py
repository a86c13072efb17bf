"""The channels of this home."""

from __future__ import annotations

from collections.abc import Mapping

from colleague.channels.channel import MessageChannel
from colleague.channels.session_channel import SessionChannel
from colleague.main_names import MAIN_CHANNEL
from colleague.store.tx import Database


def channels_of(database: Database) -> Mapping[str, MessageChannel]:
    """Those that can be sent to. A channel that only brings messages here is not among them."""
    return {name: SessionChannel(database, name) for name in (MAIN_CHANNEL, "web")}
