"""An MCP server with one tool, which writes a line into the ledger of the world, at KILL_URL."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

SCHEMA = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}
TOOL = {"name": "append", "description": "Write a line into the ledger.", "inputSchema": SCHEMA}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "ledger", "version": "1"},
}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return HELLO
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method != "tools/call":
        return None
    body = json.dumps({"text": params["arguments"]["line"]}).encode()
    with urllib.request.urlopen(f"{os.environ['KILL_URL']}/ledger", body, 60):  # noqa: S310 - the benchmark's own
        return {"content": [{"type": "text", "text": "written"}]}


for text in sys.stdin:
    message = json.loads(text)
    if "id" in message:
        found = result(message["method"], message.get("params") or {})
        answer = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
        sys.stdout.flush()
