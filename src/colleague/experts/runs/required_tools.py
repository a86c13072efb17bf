"""Which tools a run needs, and what the files say already of one that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from colleague.errors import ColleagueError
from colleague.suggest import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection

    from colleague.config import Settings
    from colleague.experts.bindings import Bindings, ToolBinding
    from colleague.packages.package import Package
    from colleague.packages.process import Process


class ToolUnavailable(ColleagueError):
    """A tool of the expert cannot be used. `passing` says whether that may mend itself."""

    def __init__(self, message: str, *, hint: str = "", passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


def needed_tools(package: Package, process: Process | None) -> list[str]:
    """The tools of a process, or of the whole package for a free task, with those of its functions."""
    scope = process.tools if process else package.manifest.requires_tools
    functions = [
        each
        for each in package.functions
        if process is None or not process.functions or each.name in process.functions
    ]
    return list(dict.fromkeys([*scope, *(tool for each in functions for tool in each.tools)]))


def required_binding(settings: Settings, expert: str, tool: str, bindings: Bindings) -> ToolBinding:
    """Raises ToolUnavailable when the tool is bound to nothing, or to a server that is not configured."""
    binding = bindings.tools.get(tool)
    if binding is None:
        hint = f"colleague expert bind {expert} {tool} SERVER"
        raise ToolUnavailable(f"the tool {tool!r} of {expert} is bound to nothing", hint=hint)
    if binding.type == "mcp" and binding.server not in settings.mcp.servers:
        hint = server_hint(binding.server, settings.mcp.servers)
        raise ToolUnavailable(not_configured(tool, binding.server), hint=hint)
    return binding


def not_configured(tool: str, server: str) -> str:
    return f"{tool} is bound to MCP server {server!r}, which is not configured"


def server_hint(server: str, known: Collection[str]) -> str:
    """What to do about a server that is not configured."""
    return did_you_mean(server, known) or f"colleague mcp add {server} -- COMMAND, or --url URL"
