"""How the window of a model is divided."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.agent.context.rules import ContextRules
from colleague.agent.context.tokens import CHARS_A_TOKEN, MARGIN
from colleague.agent.exits import Failed
from colleague.agent.models.context_size import context_window
from colleague.agent.models.resolved import ResolvedModel

SMALLEST_WINDOW = 4_000
UNKNOWN_WINDOW = 128_000
"""What a summary is measured by where nobody knows how much the model can read."""
SHORTEST_RESULT = 500


@dataclass(frozen=True)
class ContextBudget:
    """Tokens. `limit` is the most that is sent, `trigger` that from which the conversation is shortened; both
    are None while nobody knows the window."""

    window: int | None
    room: int
    """For the answer."""
    limit: int | None
    trigger: int | None
    keep_recent: int
    summary: int
    """The most that a summary may have."""
    literals: int
    """The most that values kept word for word may have."""
    result_chars: int

    @classmethod
    def of(cls, model: ResolvedModel, rules: ContextRules, *, learned: int | None = None) -> ContextBudget:
        """`learned`: a window that the provider has shown to be smaller than the one we know. Raises Failed
        for a model that can read too little."""
        window = context_window(model)
        if window is not None and window < SMALLEST_WINDOW:
            raise Failed(too_small(model, window), retry=False)
        window = min(filter(None, (window, learned)), default=None)
        size = window or UNKNOWN_WINDOW
        wanted = rules.compaction
        room = min(max(wanted.reserve_tokens, model.max_tokens or 0), size // 4)
        limit = window - room if window else None
        early = min(wanted.memory_flush.soft_threshold_tokens, size // 8) if rules.flushes else 0
        return cls(
            window,
            room,
            limit,
            limit - early if limit is not None else None,
            keep_recent=min(wanted.keep_recent_tokens, size // 2),
            summary=max(300, min(size // 8, 8_000)),
            literals=max(200, min(size // 16, 4_000)),
            result_chars=result_chars(window, rules),
        )


def result_chars(window: int | None, rules: ContextRules) -> int:
    """The most of one result: a third of the window at the utmost."""
    longest = rules.tool_result_max_chars
    return min(longest, round(window / 3 * CHARS_A_TOKEN / MARGIN)) if window else longest


def too_small(model: ResolvedModel, window: int) -> str:
    return (
        f"{model.name} can read {window:,} tokens, and an agent needs at least {SMALLEST_WINDOW:,} "
        "(name a model with a larger context window, or correct contextWindow in models.providers)"
    )
