"""What a person is shown of a tool that is not as they accepted it."""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass

from colleague.mcp.mcp_tool import McpTool

LONGEST = 8_000
"""Characters of one tool that are kept to be shown."""


@dataclass(frozen=True)
class ToolDifference:
    """A sentence, and the lines that differ: those of before with a minus, those of now with a plus."""

    change: str
    lines: tuple[str, ...] = ()


def tool_text(tool: McpTool) -> str:
    parameters = json.dumps(tool.input_schema, indent=2, ensure_ascii=False, default=str)
    hints = f"only reads: {_yes(tool.read_only)}, twice is once: {_yes(tool.idempotent)}"
    text = f"{tool.title}\n{tool.description}\n{hints}\nparameters: {parameters}"
    more = len(text) - LONGEST
    return text if more <= 0 else f"{text[:LONGEST]}\n... and {more:,} characters more"


def difference_lines(before: str, now: str) -> tuple[str, ...]:
    """As a unified diff, without its head."""
    found = difflib.unified_diff(before.splitlines(), now.splitlines(), lineterm="", n=2)
    return tuple(found)[2:]


def _yes(value: bool) -> str:
    return "yes" if value else "no"
