"""An MCP server that appends lines to a file and ignores idempotency keys: each effect can be counted."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

LEDGER = Path(sys.argv[1])
server = MCPServer("ledger")


@server.tool(description="Append a line")
def append(line: str) -> str:
    with LEDGER.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    if os.environ.get("LEDGER_SLOW"):
        time.sleep(float(os.environ["LEDGER_SLOW"]))
    return f"appended {line}"


@server.tool(description="Read all lines", annotations=ToolAnnotations(read_only_hint=True))
def read_all() -> str:
    return LEDGER.read_text(encoding="utf-8") if LEDGER.exists() else ""


@server.tool(description="Fail after appending a line")
def append_and_fail(line: str) -> str:
    append(line)
    raise RuntimeError("no answer for you")


if __name__ == "__main__":
    server.run("stdio")
