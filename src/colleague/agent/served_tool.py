"""A tool of an MCP server, as the loop sees it."""

from __future__ import annotations

from dataclasses import dataclass

from colleague.agent.tool import NotSent, ToolOutput, ToolRequest, ToolSpec, UnknownEnd
from colleague.mcp import errors
from colleague.mcp.call import CallProgress
from colleague.mcp.mcp_tool import McpTool
from colleague.mcp.servers import Servers


@dataclass(frozen=True)
class ServedTool:
    """One tool of one server, under the name the model uses."""

    servers: Servers
    spec: ToolSpec

    async def call(self, request: ToolRequest) -> ToolOutput:
        spec = self.spec

        async def progress(made: CallProgress) -> None:
            request.on_progress(made.message or f"{made.progress:g}")

        try:
            answer = await self.servers.call(
                spec.server,
                spec.server_tool,
                request.arguments,
                key=request.key,
                launch_digest=spec.launch_digest,
                timeout=request.timeout,
                on_progress=progress,
            )
        except errors.Unknown as error:
            raise UnknownEnd(error.message) from None
        except errors.McpError as error:
            hint = f" ({error.hint})" if error.hint else ""
            raise NotSent(f"{error.message}{hint}") from None
        return ToolOutput(answer.text, answer.is_error, f"mcp:{spec.server}/{spec.server_tool}")


def served_tool(
    servers: Servers, tool: McpTool, name: str = "", *, repeatable: bool = False, reads: bool = False
) -> ServedTool:
    """`repeatable` and `reads` are what others say of the tool beside its server."""
    spec = ToolSpec(
        name=name or f"{tool.server}.{tool.name}",
        description=tool.description or tool.title,
        parameters=dict(tool.input_schema),
        read_only=reads or tool.read_only,
        repeatable=repeatable or reads or tool.read_only or tool.idempotent,
        server=tool.server,
        server_tool=tool.name,
        launch_digest=tool.launch_digest,
    )
    return ServedTool(servers, spec)
