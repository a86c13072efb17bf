"""What a server says about its tools has an end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.tool_limits import (
    CUT,
    LARGEST_LISTING,
    LARGEST_SCHEMA,
    LONGEST_DESCRIPTION,
    MOST_TOOLS,
    limit_tools,
)

TOOL = McpTool("s", "note", "Note", "Writes a note.", {"type": "object"}, None, False, False, True)


def with_schema(characters: int) -> dict[str, Any]:
    return {"type": "object", "description": "x" * characters}


def test_what_is_small_is_left_as_it_is() -> None:
    assert limit_tools([TOOL]).tools == (TOOL,)
    assert limit_tools([TOOL]).findings == ()


def test_a_long_description_is_cut() -> None:
    limited = limit_tools([replace(TOOL, description="x" * 5_000_000)])
    [tool] = limited.tools
    assert len(tool.description) == LONGEST_DESCRIPTION
    assert tool.description.endswith(CUT)
    assert limited.findings == (
        "the description of 'note' is cut: it has 5,000,000 characters, and 8,000 are shown to a model",
    )


def test_a_tool_with_a_large_schema_is_not_offered() -> None:
    limited = limit_tools([TOOL, replace(TOOL, name="big", input_schema=with_schema(LARGEST_SCHEMA))])
    assert [tool.name for tool in limited.tools] == ["note"]
    assert limited.findings[0].startswith("'big' is not offered: its schema has")


def test_a_tool_with_a_long_name_is_not_offered() -> None:
    limited = limit_tools([replace(TOOL, name="\x1b[2J" * 1_000_000)])
    assert limited.tools == ()
    assert len(limited.findings[0]) < 1_000
    assert "\x1b" not in limited.findings[0]


def test_a_schema_without_a_bottom_is_not_offered() -> None:
    schema: dict[str, Any] = {}
    for _ in range(100_000):
        schema = {"not": schema}
    assert limit_tools([replace(TOOL, input_schema=schema)]).tools == ()


def test_a_thousand_tools_are_too_many() -> None:
    limited = limit_tools(replace(TOOL, name=f"t{number}") for number in range(10_000))
    assert len(limited.tools) == MOST_TOOLS
    assert limited.findings == (f"{10_000 - MOST_TOOLS:,} more tools are not offered: a server may have 500",)


def test_all_together_have_an_end() -> None:
    many = [replace(TOOL, name=f"t{number}", input_schema=with_schema(50_000)) for number in range(400)]
    limited = limit_tools(many)
    assert len(limited.tools) == LARGEST_LISTING // 50_100
    assert limited.findings[-1] == f"{400 - len(limited.tools) - 20:,} more findings like these"
