"""The operations of an expert's tools, bound to what does them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from colleague.agent.served_tool import ServedTool, served_tool
from colleague.agent.tool import Tool, ToolOutput, ToolRequest, ToolSpec
from colleague.config import Settings
from colleague.experts.bindings import Bindings, ToolBinding
from colleague.experts.rehearsal.cases import RehearsalError, simulated_result
from colleague.experts.rehearsal.sample import sample
from colleague.experts.runs.required_tools import ToolUnavailable, required_binding
from colleague.experts.runs.schema_compare import offered_schema, server_tool_name
from colleague.experts.runs.skill_tools import Served, file_operation, tool_for
from colleague.mcp.errors import LoginNeeded, McpError
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers
from colleague.packages.package import Package
from colleague.packages.shape import Schema
from colleague.packages.tool_declaration import Operation
from colleague.packages.tool_declaration import ToolDeclaration as AbstractTool
from colleague.skills.lookup import SkillLookup, SkillUnavailable
from colleague.skills.skill import Skill

log = logging.getLogger(__name__)

SIMULATED = "rehearsal"


@dataclass(frozen=True)
class BoundTools:
    """Where the operations of one run come from. A rehearsal acts on demo servers only."""

    settings: Settings
    servers: Servers
    rehearsal: bool = False
    dry_run: bool = False
    skills: SkillLookup | None = None
    """Finds the skills that tools are bound to."""
    files: Sequence[Tool] = ()
    """The file tools of the run, which may carry out operations of a skill."""

    async def operations(
        self, expert: str, package: Package, bindings: Bindings, names: Sequence[str]
    ) -> list[Tool]:
        """Every operation of these tools, named `tool.operation`. Raises ToolUnavailable."""
        found = await asyncio.gather(*(self._of_tool(expert, package, bindings, name) for name in names))
        return [tool for tools in found for tool in tools]

    async def _of_tool(self, expert: str, package: Package, bindings: Bindings, name: str) -> list[Tool]:
        abstract = package.tool(name)
        binding = bindings.tools.get(name)
        if self.rehearsal and not is_demo(self.settings, binding):
            if not self.dry_run:
                require_demo(self.settings, expert, name, bindings)
            return _simulated(package, name, abstract)
        binding = required_binding(self.settings, expert, name, bindings)
        if binding.type == "skill":
            return await self._of_skill(name, abstract, binding)
        tools = _bound(self.servers, name, abstract, binding, await self._served(name, binding.server))
        return _with_fallback(package, name, abstract, tools) if self.rehearsal and self.dry_run else tools

    async def _of_skill(self, name: str, abstract: AbstractTool | None, binding: ToolBinding) -> list[Tool]:
        lookup = self.skills or SkillLookup.of(self.settings, {})
        try:
            skill = await asyncio.to_thread(lookup.require, binding.server)
        except SkillUnavailable as error:
            message = f"{name} is bound to the skill {binding.server!r}, which {error.message}"
            raise ToolUnavailable(message, hint=error.hint) from None
        listed = [(server, await self._served(name, server)) for server in skill.servers]
        served = {server: {tool.name: tool for tool in tools} for server, tools in listed}
        operations = abstract.operations if abstract else ()
        found = [self._skilled(name, skill, binding, each, served) for each in operations]
        return [tool for tool in found if tool is not None]

    def _skilled(
        self, name: str, skill: Skill, binding: ToolBinding, operation: Operation, served: Served
    ) -> Tool | None:
        files = {tool.spec.name: tool for tool in self.files}
        found = tool_for(skill, binding, operation.name, served, list(files))
        if found is None:
            log.warning("the skill %s has no tool for %s.%s", skill.name, name, operation.name)
            return None
        full = f"{name}.{operation.name}"
        if not found.server:
            return file_operation(files[found.tool], full, skill.name, operation.description)
        return _operation(self.servers, binding, served[found.server][found.tool], full, operation)

    async def _served(self, name: str, server: str) -> list[McpTool]:
        try:
            return await self.servers.tools(server)
        except McpError as error:
            message = f"{name} is bound to {server}, which cannot be used: {error.message}"
            entry = self.settings.mcp.servers.get(server)
            mends_itself = not isinstance(error, LoginNeeded)
            passing = mends_itself and entry is not None and entry.enabled
            raise ToolUnavailable(message, hint=error.hint, passing=passing) from None


def is_demo(settings: Settings, binding: ToolBinding | None) -> bool:
    entry = settings.mcp.servers.get(binding.server) if binding and binding.type == "mcp" else None
    return entry is not None and entry.demo


def require_demo(settings: Settings, expert: str, name: str, bindings: Bindings) -> None:
    """Raises ToolUnavailable for a tool on which a rehearsal may not act."""
    binding = bindings.tools.get(name)
    if not is_demo(settings, binding):
        raise ToolUnavailable(
            f"a rehearsal acts only on servers marked demo, and {name!r} of {expert} is not bound to one",
            hint="add --dry-run, or bind it to a demo server",
        )


def _simulated(package: Package, name: str, abstract: AbstractTool | None) -> list[Tool]:
    return [
        SimulatedTool.of(package, name, operation) for operation in (abstract.operations if abstract else ())
    ]


def _bound(
    servers: Servers, name: str, abstract: AbstractTool | None, binding: ToolBinding, served: list[McpTool]
) -> list[Tool]:
    """Without a tool file the server's own tools are the operations."""
    by_name = {tool.name: tool for tool in served}
    if abstract is None or not abstract.operations:
        return [_served(servers, binding, tool, f"{name}.{tool.name}", tool.name) for tool in served]
    tools: list[Tool] = []
    for operation in abstract.operations:
        found = by_name.get(server_tool_name(binding, operation.name))
        if found is None:
            log.warning("%s has no tool for %s.%s", binding.server, name, operation.name)
            continue
        tools.append(_operation(servers, binding, found, f"{name}.{operation.name}", operation))
    return tools


def _operation(
    servers: Servers, binding: ToolBinding, tool: McpTool, name: str, operation: Operation
) -> ServedTool:
    made = _served(servers, binding, tool, name, operation.name, operation.reads)
    spec = replace(
        made.spec,
        parameters=offered_schema(operation, tool),
        description=tool.description or operation.description,
    )
    return replace(made, spec=spec)


def _served(
    servers: Servers, binding: ToolBinding, tool: McpTool, name: str, operation: str, claimed: bool = False
) -> ServedTool:
    """The user's word counts over the server's; the package's claim that it only reads counts under it, and
    only for sending a call again."""
    repeatable = operation in binding.repeatable or (claimed and not tool.says_changes)
    return served_tool(servers, tool, name, repeatable=repeatable, reads=operation in binding.reads)


def _with_fallback(
    package: Package, name: str, abstract: AbstractTool | None, tools: list[Tool]
) -> list[Tool]:
    """A rehearsal with made-up inputs goes on where the demo server knows nothing of them."""
    shapes = {f"{name}.{each.name}": each for each in (abstract.operations if abstract else ())}
    return [
        RehearsedTool(tool, SimulatedTool.of(package, name, shapes[tool.spec.name]))
        if tool.spec.name in shapes
        else tool
        for tool in tools
    ]


@dataclass(frozen=True)
class RehearsedTool:
    """A tool of a demo server; when it has no answer, one of the declared shape stands in for it."""

    real: Tool
    simulated: SimulatedTool

    @property
    def spec(self) -> ToolSpec:
        return self.real.spec

    async def call(self, request: ToolRequest) -> ToolOutput:
        output = await self.real.call(request)
        return await self.simulated.call(request) if output.is_error else output


@dataclass(frozen=True)
class SimulatedTool:
    """An operation that a rehearsal only pretends to call; its answer is what the author wrote for it, else
    one of the declared shape."""

    spec: ToolSpec
    output: Schema
    written: str | None = None

    @classmethod
    def of(cls, package: Package, tool: str, operation: Operation) -> SimulatedTool:
        name = f"{tool}.{operation.name}"
        spec = ToolSpec(
            name, operation.description, operation.input, repeatable=True, server=SIMULATED, server_tool=name
        )
        return cls(spec, operation.output, _written_result(package, name))

    async def call(self, request: ToolRequest) -> ToolOutput:  # noqa: ARG002 - nothing is sent anywhere
        made = self.written or json.dumps(sample(self.output), ensure_ascii=False)
        return ToolOutput(made, source=SIMULATED)


def _written_result(package: Package, operation: str) -> str | None:
    """A file that cannot be used is told by the rehearsal itself, when it thinks."""
    try:
        return simulated_result(package, operation)
    except RehearsalError:
        return None
