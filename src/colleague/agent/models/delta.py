"""The pieces of a model's answer, as they are streamed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text. `part` counts the parts of the answer."""

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of what the model thinks before it answers."""

    part: int
    text: str


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call: the next piece of its arguments as JSON text, which may be empty."""

    part: int
    call_id: str
    name: str
    arguments: str


Delta = TextDelta | ThinkingDelta | ToolCallDelta
OnDelta = Callable[[Delta], Awaitable[None] | None]
