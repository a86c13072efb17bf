"""How many tokens something has, estimated without the provider's tokenizer, rather too many than too few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

    from colleague.agent.tool import ToolSpec

CHARS_A_TOKEN = 4
"""Of plain text. Other scripts have about a token for each character."""
MARGIN = 1.2
PART = 8
"""Roles, names and ids around each part."""
PICTURE = 1600


def text_tokens(text: str) -> int:
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return round((plain / CHARS_A_TOKEN + len(text) - plain) * MARGIN)


def message_tokens(messages: Iterable[ModelMessage]) -> int:
    return sum(PART + _part_tokens(part) for message in messages for part in message.parts)


def tool_tokens(specs: Sequence[ToolSpec]) -> int:
    return sum(PART + text_tokens(spec.definition) for spec in specs)


def _part_tokens(part: Any) -> int:
    if part.part_kind == "tool-call":
        return text_tokens(part.tool_name) + text_tokens(part.args_as_json_str())
    if part.part_kind == "tool-return":
        return text_tokens(part.model_response_str())
    return _content_tokens(getattr(part, "content", ""))


def _content_tokens(content: Any) -> int:
    if isinstance(content, str):
        return text_tokens(content)
    if not isinstance(content, list | tuple):
        return PICTURE
    return sum(_content_tokens(each) if isinstance(each, str) else PICTURE for each in content)
