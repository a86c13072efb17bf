"""An MCP server made with the library: stdio, streamable HTTP or SSE, protocol 2026-07-28 and before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult, ImageContent, TextContent, ToolAnnotations

desk = MCPServer("desk", version="1.0", log_level="ERROR")
READS = ToolAnnotations(read_only_hint=True)
TWICE_IS_ONCE = ToolAnnotations(idempotent_hint=True, destructive_hint=False)


@desk.tool(annotations=READS)
def echo(text: str) -> str:
    """Say it again."""
    return text


@desk.tool()
async def slow(seconds: float, ctx: Context, steps: int = 4) -> str:
    """Take a while, and say how far it is."""
    for step in range(steps):
        await ctx.report_progress(step + 1, steps, f"step {step + 1}")
        await anyio.sleep(seconds / steps)
    return f"slept {seconds}"


@desk.tool(annotations=TWICE_IS_ONCE)
def write_ledger(line: str) -> str:
    """Append a line to the ledger."""
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write(f"{line}\n")
    return "written"


@desk.tool()
def crash() -> str:
    """End in the middle of a call."""
    os._exit(7)


@desk.tool()
def fail() -> CallToolResult:
    """Answer with an error."""
    return CallToolResult(content=[TextContent(text="no such contact")], is_error=True)


@desk.tool()
def picture() -> CallToolResult:
    """Answer with more than text."""
    image = ImageContent(data="QUJD" * 1000, mime_type="image/png")
    return CallToolResult(content=[TextContent(text="a picture:"), image])


@desk.tool()
def spawn_child() -> int:
    """Start a process that would outlive the server."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid


@desk.tool()
def key(ctx: Context) -> str:
    """The idempotency key this call came with."""
    return str((ctx.request_context.meta or {}).get("colleague/idempotency-key"))


@desk.tool()
async def list_changed(ctx: Context) -> str:
    """Add a tool, and tell."""
    desk.add_tool(lambda: "new", name="extra", description="A new tool.")
    await ctx.notify_tools_changed()
    return "changed"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        desk.run(sys.argv[1], port=int(sys.argv[2]))  # type: ignore[call-overload]
    else:
        desk.run()
