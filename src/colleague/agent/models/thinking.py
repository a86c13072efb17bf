"""How long a model may think, in the terms of each provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from colleague.agent.models.resolved import Api

if TYPE_CHECKING:
    from colleague.config import Settings

Level = Literal["off", "low", "medium", "high"]

_LEAST_BUDGET = 1024
_ROOM_TO_ANSWER = 1024


_LOWER: Mapping[Level, tuple[Level, int]] = {
    "high": ("medium", 8192),
    "medium": ("low", 2048),
    "low": ("off", 0),
}
"""The next level down, and the most tokens that it takes when the settings are not at hand."""


@dataclass(frozen=True)
class Thinking:
    """A level, and the tokens it may cost where a provider counts them."""

    level: Level = "off"
    budget: int = 0

    def lower(self) -> Thinking | None:
        """The next level down; None below `off`."""
        if self.level not in _LOWER:
            return None
        level, most = _LOWER[self.level]
        return Thinking(level, min(self.budget, most))

    @classmethod
    def of(cls, settings: Settings, level: Level | None = None) -> Thinking:
        """`level`, or the one of the settings, with the budget of the settings."""
        defaults = settings.agents.defaults
        chosen: Level = level or defaults.thinking_level
        budgets = defaults.thinking.budget
        tokens = {"off": 0, "low": budgets.low, "medium": budgets.medium, "high": budgets.high}
        return cls(chosen, tokens[chosen])


def nearest_level(level: str) -> Level:
    """One of our levels for any that OpenClaw knows; medium for a word that is none."""
    from colleague.config.agents import NEAREST_LEVEL

    return NEAREST_LEVEL.get(level, "medium")


@dataclass(frozen=True)
class ThinkingChoice:
    """What is sent for a level, and the level that really counts: `off` when the model cannot think."""

    level: Level
    settings: Mapping[str, object] = field(default_factory=dict)


def choose_thinking(
    thinking: Thinking, api: Api, profile: Mapping[str, object], max_tokens: int | None
) -> ThinkingChoice:
    """`profile` is the library's description of the model."""
    if not (profile.get("supports_thinking") or profile.get("thinking_always_enabled")):
        return ThinkingChoice("off")
    if thinking.level == "off":
        return ThinkingChoice("off", {"thinking": False} if _can_be_told(api, profile) else {})
    if not _counts_tokens(api, profile):
        return ThinkingChoice(thinking.level, {"thinking": thinking.level})
    budget = _clamped(thinking.budget, max_tokens)
    if not budget:
        return ThinkingChoice("off", {"thinking": False})
    return ThinkingChoice(thinking.level, _budgeted(api, budget))


def _can_be_told(api: Api, profile: Mapping[str, object]) -> bool:
    """Servers that only imitate OpenAI often refuse the effort `none`."""
    return not api.startswith("openai") or bool(profile.get("openai_supports_reasoning"))


def _counts_tokens(api: Api, profile: Mapping[str, object]) -> bool:
    if api == "anthropic-messages":
        return not profile.get("anthropic_supports_adaptive_thinking")
    return api == "google" and not profile.get("google_supports_thinking_level", True)


def _budgeted(api: Api, budget: int) -> Mapping[str, object]:
    if api == "google":
        return {"google_thinking_config": {"include_thoughts": True, "thinking_budget": budget}}
    return {"anthropic_thinking": {"type": "enabled", "budget_tokens": budget}}


def _clamped(budget: int, max_tokens: int | None) -> int:
    """Thinking counts towards the answer's tokens; 0 when there is no room for both."""
    budget = max(budget, _LEAST_BUDGET)
    if max_tokens is not None:
        budget = min(budget, max_tokens - _ROOM_TO_ANSWER)
    return budget if budget >= _LEAST_BUDGET else 0
