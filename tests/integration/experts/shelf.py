"""An MCP server that lists the tools of a JSON file and does nothing else: shelf.py FILE [MODE].

Modes: --dies ends after it listed them, --silent never lists them, --deaf answers nothing at all.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

INFO = {"name": "shelf", "version": "0.1"}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": INFO}


def handle(message: dict[str, Any], listing: dict[str, Any], mode: str) -> None:
    method = message.get("method")
    if method == "initialize":
        answer(message, result=HELLO)
    elif method == "tools/list" and mode != "--silent":
        print("asked for its tools", file=sys.stderr, flush=True)
        answer(message, result=listing)
        if mode == "--dies":
            os._exit(3)
    elif "id" in message and method != "tools/list":
        answer(message, error={"code": -32601, "message": "Method not found"})


def answer(message: dict[str, Any], **body: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}), flush=True)


if __name__ == "__main__":
    file, *modes = sys.argv[1:]
    for line in sys.stdin:
        if modes != ["--deaf"]:
            handle(json.loads(line), json.loads(Path(file).read_text()), *modes or [""])
