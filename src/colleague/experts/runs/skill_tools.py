"""The operations of a tool that is bound to a skill, each carried out by a tool that the skill allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from colleague.agent.tool import PreparedTool, Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.experts.bindings import ToolBinding
from colleague.mcp.mcp_tool import McpTool
from colleague.skills.skill import AllowedTool, Skill

Served = Mapping[str, Mapping[str, McpTool]]
"""Tools by name, by server."""


def tool_for(
    skill: Skill, binding: ToolBinding, operation: str, served: Served, files: Sequence[str]
) -> AllowedTool | None:
    """What carries an operation out: by the binding's `operations`, else by its own name."""
    wanted = binding.operations.get(operation, operation)
    name = wanted.rpartition("/")[2]
    for each in skill.candidates(wanted):
        if each.server and name in served.get(each.server, {}):
            return AllowedTool(each.server, name)
        if not each.server and name in files:
            return AllowedTool("", name)
    return None


def skill_server(skill: str) -> str:
    """What stands in the place of a server where a file tool carries an operation out."""
    return f"skill:{skill}"


def file_operation(tool: Tool, name: str, skill: str, description: str) -> Tool:
    """A file tool as an operation: under the tier of its policy, not free like the file tool itself."""
    spec = replace(
        tool.spec,
        name=name,
        description=f"{description} {tool.spec.description}".strip(),
        server=skill_server(skill),
        server_tool=tool.spec.name,
        repeatable=True,
    )
    return PreparedFileOperation(tool, spec) if hasattr(tool, "prepare") else FileOperation(tool, spec)


@dataclass(frozen=True)
class FileOperation:
    """Does what its file tool does."""

    tool: Tool
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        return await self.tool.call(request)


@dataclass(frozen=True)
class PreparedFileOperation(FileOperation):
    """One that changes a file, and so knows after a crash whether it had happened."""

    async def prepare(self, request: ToolRequest) -> str:
        return await cast(PreparedTool, self.tool).prepare(request)

    async def recover(self, request: ToolRequest, prepared: str) -> ToolOutput:
        return await cast(PreparedTool, self.tool).recover(request, prepared)
