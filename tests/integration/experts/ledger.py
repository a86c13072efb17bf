"""An MCP server that keeps a book and ignores idempotency keys: ledger.py FILE.

A line is slow to write only the first time, when it says how many seconds (`a line ~30`). At `die` the server
does, and writes nothing."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

BOOK = Path(sys.argv[1])
SCHEMA = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}
TOOLS = [
    {"name": "append", "inputSchema": SCHEMA},
    {"name": "put", "inputSchema": SCHEMA, "annotations": {"idempotentHint": True}},
    {"name": "fail", "inputSchema": SCHEMA},
    {"name": "strike", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": False}},
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
]
INFO = {"name": "ledger", "version": "0.1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}
lock = threading.Lock()


def call(name: str, line: str = "") -> tuple[str, bool]:
    if name == "look":
        return BOOK.read_text() if BOOK.exists() else "", False
    seconds = float(line.partition("~")[2] or 0)
    if line.startswith("die"):
        time.sleep(seconds)
        os._exit(3)
    with lock:
        known = BOOK.read_text().splitlines() if BOOK.exists() else []
        with BOOK.open("a") as file:
            file.write(f"{line}\n")
    if line not in known:
        time.sleep(seconds)
    return f"written: {line}", name in ("fail", "strike")


def handle(message: dict[str, Any]) -> None:
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        answer(message, result=HELLO)
    elif method == "tools/list":
        answer(message, result={"tools": TOOLS})
    elif method == "tools/call":
        said, failed = call(params["name"], **params.get("arguments") or {})
        answer(message, result={"content": [{"type": "text", "text": said}], "isError": failed})
    elif "id" in message:
        answer(message, error={"code": -32601, "message": "Method not found"})


def answer(message: dict[str, Any], **body: Any) -> None:
    with lock:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        threading.Thread(target=handle, args=(json.loads(line),), daemon=True).start()
