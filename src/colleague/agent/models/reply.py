"""What a model answered."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from colleague.agent.models.resolved import Prices, ResolvedModel, Usage
from colleague.agent.models.thinking import Level

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ToolCallPart


@dataclass(frozen=True)
class Reply:
    """A whole answer, never half of one."""

    response: ModelResponse
    usage: Usage
    cost: Decimal | None
    """Dollars; None when nobody knows the prices, or how many tokens there were."""
    finish_reason: str
    """stop, tool_call, length (it ran out of tokens) or content_filter."""
    thinking: Level
    """The level that was sent: `off` for a model that cannot think."""
    seconds: float
    model: str = ""
    """Which model answered, as provider/model, and with which auth profile."""
    profile: str = ""

    @property
    def text(self) -> str:
        return self.response.text or ""

    @property
    def tool_calls(self) -> list[ToolCallPart]:
        return self.response.tool_calls


def usage_of(response: ModelResponse) -> Usage:
    counted = response.usage
    return Usage(
        counted.input_tokens,
        counted.output_tokens,
        counted.cache_read_tokens,
        counted.cache_write_tokens,
        measured=not counted.unmeasured_requests,
    )


def cost_of(model: ResolvedModel, response: ModelResponse) -> Decimal | None:
    """By the prices of the settings; else, at a provider's own address, by its public list prices."""
    usage = usage_of(response)
    if not usage.measured:
        return None
    if model.prices is not None or model.stand_in is not None:
        return (model.prices or Prices()).cost(usage)
    if model.base_url is not None:
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        return None
