"""An MCP server that writes down the key of each call it is sent: keyed_ledger.py FILE [SECONDS [honour]].

It answers so many seconds later. It heeds no key, unless it is told to honour them."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

KEY = "colleague/idempotency-key"
SCHEMA = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}
INFO = {"name": "ledger", "version": "0.1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}


def result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return HELLO
    if method == "tools/list":
        return {"tools": [{"name": "append", "inputSchema": SCHEMA}]}
    if method != "tools/call":
        return None
    key = params["_meta"][KEY]
    if "honour" not in sys.argv[3:] or key not in written():
        with open(sys.argv[1], "a", encoding="utf-8") as file:  # noqa: PTH123 - appended in one write
            file.write(f"{key}\n")
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    return {"content": [{"type": "text", "text": "written"}]}


def written() -> list[str]:
    try:
        with open(sys.argv[1], encoding="utf-8") as file:  # noqa: PTH123 - nothing else is imported here
            return file.read().split("\n")
    except FileNotFoundError:
        return []


if __name__ == "__main__":
    for text in sys.stdin:
        message = json.loads(text)
        if "id" in message:
            found = result(message["method"], message.get("params") or {})
            body = {"result": found} if found else {"error": {"code": -32601, "message": "Method not found"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}) + "\n")
            sys.stdout.flush()
