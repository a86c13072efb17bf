"""How much a run, or an expert in a day, may use."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """Limits, checked before each model call. None is no limit."""

    tokens: int | None = None
    cost: float | None = None
    tool_calls: int | None = None
