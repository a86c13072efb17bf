"""What the settings of a channel say about the tools of a group."""

from __future__ import annotations

from collections.abc import Sequence

from colleague.agent.policy.layer import LayerRules
from colleague.config import Settings
from colleague.config.channel_groups import group_tools


def group_rules(settings: Settings, channel: str, ids: Sequence[str]) -> tuple[LayerRules, ...]:
    """`ids` names the chat, the narrowest first; empty for a chat with one person."""
    found = group_tools(settings.channels, channel, ids) if ids else None
    return (LayerRules.of(*found),) if found else ()
