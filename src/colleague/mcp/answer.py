"""What a tool answered, in a form that can be stored and shown to a model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock


@dataclass(frozen=True)
class ToolAnswer:
    """An answer of the tool. `is_error` is no proof that nothing happened."""

    text: str
    structured: Any = None
    is_error: bool = False


def read_answer(result: CallToolResult) -> ToolAnswer:
    text = "\n".join(described_content(result.content))
    if not result.content and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return ToolAnswer(text, result.structured_content, result.is_error)


def described_content(content: Iterable[ContentBlock]) -> Iterable[str]:
    for block in content:
        if block.type == "text":
            yield block.text
        elif block.type == "image" or block.type == "audio":
            yield f"[{block.type} {block.mime_type}, {_size(len(block.data) * 3 // 4)}]"
        elif block.type == "resource_link":
            size = f", {_size(int(block.size))}" if block.size is not None else ""
            yield f"[resource link {block.uri} {block.mime_type or 'of unknown type'}{size}]"
        else:
            held = block.resource
            text = getattr(held, "text", None)
            size_ = len(text.encode()) if text is not None else len(getattr(held, "blob", "")) * 3 // 4
            yield f"[resource {held.uri} {held.mime_type or 'of unknown type'}, {_size(size_)}]"


def _size(size: int) -> str:
    if size < 1024:
        return f"{size} bytes"
    return f"{size / 1024:.0f} KB" if size < 1024**2 else f"{size / 1024**2:.1f} MB"
