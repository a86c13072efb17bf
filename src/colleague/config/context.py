"""How much of a conversation a model is shown: pruning, limits and compaction."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from colleague import duration
from colleague.config.openclaw_duration import openclaw_duration
from colleague.config.section import (
    Duration,
    Flag,
    Int,
    Names,
    Positive,
    Ratio,
    Section,
    keys,
    part,
    works,
)


class HardClear(Section):
    enabled: Flag = works(
        default=True, description="Whether whole results are cleared when cutting is not enough."
    )
    placeholder: str = works(
        default="[Old result cleared; call the tool again if it is needed.]",
        description="What stands in the place of a cleared result.",
    )


class PrunableTools(Section):
    allow: Names = works(default=(), description="Their names, with * for any text; empty means all.")
    deny: Names = works(default=(), description="Tools whose results stay whole; wins over allow.")


class ContextPruning(Section):
    passed_over = keys("keepLastAssistants softTrimRatio softTrim")

    mode: Literal["off", "cache-ttl", "aggressive"] = works(
        default="off", description="When old tool results are cut."
    )
    ttl: Annotated[Duration, BeforeValidator(openclaw_duration)] = works(
        default=duration.parse_duration("300s"),
        description="With cache-ttl: how long the provider's cache counts as fresh.",
    )
    max_chars_per_tool_result: Positive = works(
        default=2000, description="Characters that stay of an old result."
    )
    tool_result_head_ratio: Ratio = works(
        default=0.6, description="The part of them taken from its beginning."
    )
    prune_after_turns: Int = works(default=10, description="Results of the last answers that stay whole.")
    hard_clear_ratio: Ratio = works(
        default=0.5,
        description="The part of the window over which old results are cleared, the oldest first.",
    )
    min_prunable_tool_chars: Int = works(
        default=50_000, description="Characters of old results below which none is cleared."
    )
    hard_clear: HardClear = part(HardClear, description="Clearing old results.")
    tools: PrunableTools = part(PrunableTools, description="Tools whose results may be cut.")


class ContextLimits(Section):
    passed_over = keys("memoryGetDefaultLines postCompactionMaxChars")

    tool_result_max_chars: Positive = works(
        default=100_000, description="Characters kept of one tool result; at most a third of the window."
    )
    memory_get_max_chars: Positive = works(default=12_000, description="Characters memory_get returns.")


class MemoryFlush(Section):
    passed_over = keys("forceFlushTranscriptBytes model")

    enabled: Flag = works(default=True, description="Whether the agent saves notes before a compaction.")
    soft_threshold_tokens: Int = works(default=4000, description="Tokens before the limit at which it does.")
    prompt: str | None = works(default=None, description="What the agent is asked then.")
    system_prompt: str | None = works(default=None, description="Added to the system prompt then.")


class CompactionSettings(Section):
    passed_over = keys(
        "mode provider thinkingLevel reserveTokensFloor maxHistoryShare customInstructions identifierPolicy"
        " identifierInstructions recentTurnsPreserve qualityGuard midTurnPrecheck postIndexSync notifyUser"
        " postCompactionSections maxActiveTranscriptBytes truncateAfterCompaction"
    )

    enabled: Flag = works(
        default=True, description="Whether old turns are summarised when the context fills."
    )
    reserve_tokens: Int = works(
        default=20_000, description="Tokens kept free for the answer; at most a quarter of the window."
    )
    keep_recent_tokens: Positive = works(
        default=20_000, description="Tokens of recent turns kept word for word; at most half of the window."
    )
    max_retries: Int = works(default=3, description="Tries to get a summary.")
    timeout_seconds: Positive = works(default=180, description="Seconds one summary may take.")
    model: str | None = works(
        default=None, description="The model that summarises; the session's when not set."
    )
    memory_flush: MemoryFlush = part(MemoryFlush, description="Notes before it happens.")
