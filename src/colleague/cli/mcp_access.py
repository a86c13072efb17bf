"""What the main agent may call of each MCP server, as one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from colleague.agent.main_gate import MainAgentGate
from colleague.agent.tool import ToolSpec
from colleague.cli.output import say, say_hint, say_table
from colleague.experts.manual_operations import manual_operations

if TYPE_CHECKING:
    from colleague.agent.restrictions import DraftOnly
    from colleague.config import Settings
    from colleague.home import Home
    from colleague.mcp.mcp_tool import McpTool
    from colleague.mcp.probe import Probed

TIERS = {"allow": "auto", "ask": "confirm", "draft": "draft"}
WHY = {"auto": "the server says that it only reads", "confirm": "it may change something"}
OTHERS = "(any other)"

Row = dict[str, str]


def access_rows(home: Home, settings: Settings, probed: Iterable[Probed] | None) -> dict[str, list[Row]]:
    """By server. Without `probed` only the tools that experts name are known."""
    rules = _rules(home, settings)
    if probed is not None:
        return {each.name: [_row(tool, rules) for tool in each.tools] for each in probed}
    known = manual_operations(home)
    return {name: _unasked(name, known.known_tools(name), rules) for name in settings.mcp.servers}


def _rules(home: Home, settings: Settings) -> DraftOnly:
    from colleague.experts.restrictions import ExpertRestrictions

    return ExpertRestrictions(home, settings).draft_only()


def _row(tool: McpTool, rules: DraftOnly) -> Row:
    spec = ToolSpec(tool.name, "", {}, tool.read_only, server=tool.server, server_tool=tool.name)
    verdict = MainAgentGate(rules).judge(spec, {})
    tier = TIERS[verdict.kind]
    return {"tool": tool.name, "tier": tier, "why": verdict.reason or WHY[tier]}


def _unasked(server: str, tools: Sequence[str], rules: DraftOnly) -> list[Row]:
    drafts = [(tool, rules.reason(server, tool)) for tool in tools]
    rows = [{"tool": tool, "tier": "draft", "why": reason} for tool, reason in drafts if reason]
    return [
        *rows,
        {"tool": OTHERS, "tier": "auto or confirm", "why": "auto where the server says it only reads"},
    ]


def say_access(rows: dict[str, list[Row]], *, asked: bool) -> None:
    lines = [
        (server, row["tool"], row["tier"], row["why"]) for server, found in rows.items() for row in found
    ]
    if not lines:
        return
    say()
    say("What the main agent may call (experts keep to their own policy):")
    say_table(("SERVER", "TOOL", "TIER", "WHY"), lines)
    if not asked:
        unknown = "No server was started, so their tools are not known here."
        say_hint(f"{unknown} See each: colleague mcp list --tools")


def document(server: str, rows: dict[str, list[Row]], *, asked: bool) -> dict[str, Any]:
    return {"tools_known": asked and server in rows, "main_agent": rows.get(server, [])}
