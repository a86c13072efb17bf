"""How much of what a server says about its tools reaches a model. A server may send megabytes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from colleague.mcp.mcp_tool import McpTool

MOST_TOOLS = 500
LONGEST_NAME = 128
LONGEST_DESCRIPTION = 8_000
LARGEST_SCHEMA = 64_000
LARGEST_LISTING = 1_000_000
_MOST_FINDINGS = 20
_SHOWN = 60
CUT = "\n[... the rest of this description is left out ...]"


@dataclass(frozen=True)
class LimitedTools:
    """The tools that are offered, and one sentence for each limit that a tool met."""

    tools: tuple[McpTool, ...]
    findings: tuple[str, ...] = ()


def limit_tools(listed: Iterable[McpTool]) -> LimitedTools:
    """Long descriptions are cut. A tool that is too large is left out, since a cut schema would be wrong."""
    offered: list[McpTool] = []
    findings: list[str] = []
    total = skipped = 0
    for tool in listed:
        if len(offered) >= MOST_TOOLS:
            skipped += 1
            continue
        size, problem = _measured(tool)
        if not problem and total + size > LARGEST_LISTING:
            problem = f"all its tools together have more than {LARGEST_LISTING:,} characters"
        if problem:
            findings.append(f"{_quoted_name(tool.name)} is not offered: {problem}")
            continue
        total += size
        offered.append(_with_short_texts(tool, findings))
    if skipped:
        findings.append(f"{skipped:,} more tools are not offered: a server may have {MOST_TOOLS}")
    return LimitedTools(tuple(offered), _first(findings))


def _measured(tool: McpTool) -> tuple[int, str]:
    """The characters that a model would be sent, and why it is not sent them."""
    if not tool.name or len(tool.name) > LONGEST_NAME:
        return 0, f"its name has {len(tool.name):,} characters, and 1 to {LONGEST_NAME} are possible"
    try:
        schema = len(json.dumps(tool.input_schema, ensure_ascii=False))
    except RecursionError:
        return 0, "its schema is nested too deeply"
    if schema > LARGEST_SCHEMA:
        return 0, f"its schema has {schema:,} characters, and {LARGEST_SCHEMA:,} are possible"
    return schema + min(len(tool.description), LONGEST_DESCRIPTION), ""


def _with_short_texts(tool: McpTool, findings: list[str]) -> McpTool:
    tool = replace(tool, title=tool.title[:LONGEST_NAME])
    if len(tool.description) <= LONGEST_DESCRIPTION:
        return tool
    length = len(tool.description)
    findings.append(
        f"the description of {_quoted_name(tool.name)} is cut: it has {length:,} characters, "
        f"and {LONGEST_DESCRIPTION:,} are shown to a model"
    )
    return replace(tool, description=tool.description[: LONGEST_DESCRIPTION - len(CUT)] + CUT)


def _first(findings: list[str]) -> tuple[str, ...]:
    more = len(findings) - _MOST_FINDINGS
    return (*findings[:_MOST_FINDINGS], *([f"{more:,} more findings like these"] if more > 0 else []))


def _quoted_name(name: str) -> str:
    """As code, so that nothing in it reaches a terminal raw."""
    return repr(name if len(name) <= _SHOWN else f"{name[:_SHOWN]}...")
