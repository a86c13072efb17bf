"""How often an agent may make the same call in a row: `tools.loopDetection`."""

from __future__ import annotations

from colleague.config import Settings
from colleague.config.agent_tools import LoopDetection


def repeat_limit(settings: Settings, agent_id: str) -> int | None:
    """None is no limit. What an agent has of its own counts before what holds for all."""
    entry = settings.agents.of(agent_id)
    own, common = entry.tools.loop_detection if entry else LoopDetection(), settings.tools.loop_detection
    enabled = own.enabled if "enabled" in own.model_fields_set else common.enabled
    limit = own if "critical_threshold" in own.model_fields_set else common
    return limit.critical_threshold if enabled else None
