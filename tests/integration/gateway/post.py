"""An MCP server with a mailbox: post.py FILE. The file says which tools it has and what each answers.

{"tools": {"list_messages": {"answer": {...}, "required": [...]}}}; every call is appended to FILE.calls."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FILE = Path(sys.argv[1])
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "post", "version": "0.1"},
}
NAMES = ("start_history_id", "email_address", "max_results", "message_id", "secret_word")


def tools() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text())["tools"]
    return found


def listed() -> list[dict[str, Any]]:
    properties = {name: {"type": "string"} for name in NAMES}
    return [
        {
            "name": name,
            "inputSchema": {"type": "object", "properties": properties, "required": tool.get("required", [])},
            "annotations": {"readOnlyHint": True},
        }
        for name, tool in tools().items()
    ]


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    with FILE.with_suffix(".calls").open("a") as file:
        file.write(json.dumps([name, arguments]) + "\n")
    answer = tools()[name]["answer"]
    if isinstance(answer, dict) and "by_id" in answer:
        answer = answer["by_id"][arguments["message_id"]]
    failed = answer == "fail"
    return {"content": [{"type": "text", "text": json.dumps(answer)}], "isError": failed}


def reply(message: dict[str, Any]) -> dict[str, Any] | None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        return {"result": HELLO}
    if method == "tools/list":
        return {"result": {"tools": listed()}}
    if method == "tools/call":
        return {"result": called(params["name"], params.get("arguments") or {})}
    return {"error": {"code": -32601, "message": "Method not found"}} if "id" in message else None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if (said := reply(message)) is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)
