"""The same in protocol 2026-07-28: the question is the answer, and the call comes again with replies."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListToolsResult,
    TextContent,
    Tool,
)

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"seat": {"type": "string"}},
    "required": ["seat"],
}


async def listed(_: Any, __: Any) -> ListToolsResult:
    return ListToolsResult(tools=[Tool(name="book", description="Book.", input_schema={"type": "object"})])


async def called(_: Any, params: CallToolRequestParams) -> Any:
    given = params.input_responses or {}
    if params.request_state != "asked":
        asked = {
            key: ElicitRequest(
                params=ElicitRequestFormParams(message=f"Seat of {key}?", requested_schema=FORM)
            )
            for key in ("anna", "ben")
        }
        return InputRequiredResult(input_requests=asked, request_state="asked")
    said = {key: each.model_dump(exclude_none=True) for key, each in sorted(given.items())}  # type: ignore[union-attr]
    with Path(os.environ["LEDGER"]).open("a") as ledger:
        ledger.write("booked\n")
    return CallToolResult(content=[TextContent(text=json.dumps(said))])


async def main() -> None:
    server = Server("anew", on_list_tools=listed, on_call_tool=called)
    async with stdio_server() as (reads, writes):
        await server.run(reads, writes, server.create_initialization_options())


anyio.run(main)
