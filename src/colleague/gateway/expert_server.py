"""Experts as an MCP server, over stdio and over HTTP. What it offers is in expert_tools.py."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any

from colleague import __version__
from colleague.errors import ColleagueError
from colleague.gateway.expert_tools import ExpertTool, ExpertTools

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel.server import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import CallToolRequestParams, CallToolResult, PaginatedRequestParams, Tool
    from starlette.types import Receive, Scope, Send

log = logging.getLogger(__name__)

IDLE_SECONDS = 1800.0
MOST_SESSIONS = 200
INSTRUCTIONS = (
    "Experts that work for a person. Starting one stores a run at once; it may wait for that person's yes, "
    "which cannot be given here."
)


def expert_server(tools: ExpertTools) -> Server[Any]:
    """The protocol around the tools."""
    from mcp.server.lowlevel.server import Server
    from mcp_types import CallToolResult, ListToolsResult, TextContent

    async def on_list(_: ServerRequestContext, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[_described(each) for each in await tools.offered()])

    async def on_call(context: ServerRequestContext, params: CallToolRequestParams) -> CallToolResult:
        made = 0

        async def tell(text: str) -> None:
            nonlocal made
            made += 1
            await context.session.report_progress(made, message=text)

        try:
            return _answered(await tools.call(params.name, params.arguments or {}, tell))
        except ColleagueError as error:
            return CallToolResult(content=[TextContent(text=error.sentence)], is_error=True)

    return Server(
        "colleague",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=on_list,
        on_call_tool=on_call,
    )


def _described(tool: ExpertTool) -> Tool:
    from mcp_types import Tool, ToolAnnotations

    hints = ToolAnnotations(read_only_hint=tool.read_only, open_world_hint=not tool.read_only)
    return Tool(name=tool.name, description=tool.description, input_schema=tool.parameters, annotations=hints)


def _answered(document: dict[str, Any]) -> CallToolResult:
    from mcp_types import CallToolResult, TextContent

    text = json.dumps(document, ensure_ascii=False, indent=1)
    failed = document.get("status") == "done" and document.get("outcome") != "completed"
    return CallToolResult(content=[TextContent(text=text)], structured_content=document, is_error=failed)


async def serve_stdio(tools: ExpertTools) -> None:
    """Until stdin ends. Stdout is the protocol's alone."""
    from mcp.server.stdio import stdio_server

    server = expert_server(tools)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


class ExpertEndpoint:
    """The address in the gateway. The library is imported with the first request: few gateways need it."""

    def __init__(self, tools: ExpertTools, stopping: asyncio.Event) -> None:
        self._tools, self._stopping = tools, stopping
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._owner: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._manager is None:
            self._manager = asyncio.get_running_loop().create_future()
            self._owner = asyncio.create_task(self._own(self._manager))
        manager = await asyncio.shield(self._manager)
        await manager.handle_request(scope, receive, send)

    async def _own(self, opened: asyncio.Future[StreamableHTTPSessionManager]) -> None:
        """A task of its own holds the sessions until the gateway stops."""
        try:
            manager = await asyncio.to_thread(_http_manager, self._tools)
            async with manager.run():
                opened.set_result(manager)
                await self._stopping.wait()
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            log.warning("experts cannot be served over MCP: %s", error)
            if not opened.done():
                opened.set_exception(error)


def _http_manager(tools: ExpertTools) -> StreamableHTTPSessionManager:
    """The gateway has checked who asks, and from where."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return StreamableHTTPSessionManager(
        expert_server(tools),
        security_settings=checked,
        session_idle_timeout=IDLE_SECONDS,
        max_sessions=MOST_SESSIONS,
    )
