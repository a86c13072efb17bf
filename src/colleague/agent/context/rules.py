"""What the settings say about the context of an agent."""

from __future__ import annotations

from dataclasses import dataclass, field

from colleague.config import Settings
from colleague.config.context import CompactionSettings, ContextPruning


@dataclass(frozen=True)
class ContextRules:
    """`has_memory`: whether the agent keeps notes in its workspace, and so saves them before a compaction."""

    pruning: ContextPruning = field(default_factory=ContextPruning)
    compaction: CompactionSettings = field(default_factory=CompactionSettings)
    tool_result_max_chars: int = 100_000
    has_memory: bool = False

    @classmethod
    def of(cls, settings: Settings, *, has_memory: bool = False) -> ContextRules:
        defaults = settings.agents.defaults
        return cls(
            defaults.context_pruning,
            defaults.compaction,
            defaults.context_limits.tool_result_max_chars,
            has_memory,
        )

    @property
    def flushes(self) -> bool:
        return self.has_memory and self.compaction.enabled and self.compaction.memory_flush.enabled
